package sidecar

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/sidecar/boot"
)

func TestBatchesFitIntoARequestAtTheirWorst(t *testing.T) {
	o := NewOutput()
	worst := strings.Repeat("\x01", callback.MaxLogLine) // six bytes each in JSON
	for range 20 {
		o.Add("stdout", worst)
	}
	for range 2 * batchLines {
		o.Add("stderr", "\x01\x01\x01\x01")
	}
	taken := 0
	for batch, ok := o.batch(); ok; batch, ok = o.batch() {
		body, err := json.Marshal(batch)
		if err != nil || len(body) > callback.MaxBody {
			t.Fatalf("a request of %d bytes, %v", len(body), err)
		}
		taken += len(batch.Lines)
	}
	if taken != 20+2*batchLines {
		t.Errorf("%d lines were handed over", taken)
	}
}

func TestOldestLinesAreDroppedAndCounted(t *testing.T) {
	o := NewOutput()
	for i := range keptLines + 5 {
		o.Add("stdout", strconv.Itoa(i))
	}
	if batch, _ := o.batch(); batch.Dropped != 5 || batch.Lines[0].Text != "5" {
		t.Errorf("dropped %d, the first is %+v", batch.Dropped, batch.Lines[0])
	}
	if batch, _ := o.batch(); batch.Dropped != 0 {
		t.Errorf("the same lines were counted again: %d", batch.Dropped)
	}
}

// stubScheduler answers what its functions say.
type stubScheduler struct {
	register func() (callback.Registered, error)
	poll     func(ctx context.Context, generation int) (callback.Assignment, error)
	report   func(r callback.PhaseReport) error
	log      func(l callback.Log) error
}

func (s *stubScheduler) Register(context.Context, callback.Registration) (callback.Registered, error) {
	return s.register()
}
func (s *stubScheduler) Poll(ctx context.Context, generation int) (callback.Assignment, error) {
	return s.poll(ctx, generation)
}
func (s *stubScheduler) Report(_ context.Context, r callback.PhaseReport) error { return s.report(r) }
func (s *stubScheduler) Log(_ context.Context, l callback.Log) error            { return s.log(l) }

// stubLauncher runs a child that prints its lines and exits with 0.
type stubLauncher struct {
	output *Output
	lines  []string
}

func (l *stubLauncher) Run(_ boot.Launch, post func(boot.Event)) {
	post(boot.ChildStarted{})
	for _, line := range l.lines {
		l.output.Add("stdout", line)
	}
	post(boot.ChildExited{})
	post(boot.TreeEmpty{})
}
func (*stubLauncher) Configure(boot.Server) error { return nil }
func (*stubLauncher) Forward(boot.Signal)         {}
func (*stubLauncher) EndTree()                    {}
func (*stubLauncher) KillTree()                   {}

// TestKnownFault094SchedulerThatIsAwayForHalfAMinute plays it in the time of a synctest bubble.
func TestKnownFault094SchedulerThatIsAwayForHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(30 * time.Second)
		away := func() error {
			if time.Now().Before(back) {
				return fmt.Errorf("connection refused")
			}
			return nil
		}
		tries := 0
		var story []string
		output := NewOutput()
		parts := Parts{
			Scheduler: &stubScheduler{
				register: func() (callback.Registered, error) {
					tries++
					return callback.Registered{JobName: "tensorboard"}, away()
				},
				poll: func(ctx context.Context, _ int) (callback.Assignment, error) {
					<-ctx.Done()
					return callback.Assignment{}, ctx.Err()
				},
				report: func(r callback.PhaseReport) error {
					if r.Phase == callback.PhaseEnded { // the others come beside the output
						story = append(story, string(r.Phase))
					}
					return nil
				},
				log: func(l callback.Log) error {
					if err := away(); err != nil {
						return err
					}
					for _, line := range l.Lines {
						story = append(story, line.Text)
					}
					return nil
				},
			},
			Launcher: &stubLauncher{output: output, lines: []string{"a", "b"}},
			Output:   output,
			HoldPort: func() (int, error) { return 4001, nil },
			Probe:    func(ctx context.Context, _ []string, _ bool) bool { <-ctx.Done(); return false },
			Log:      slog.New(slog.DiscardHandler),
			Now:      time.Now,
			Fraction: func() float64 { return 0.5 },
		}
		parts.Setup = boot.Setup{Side: true, Command: []string{"tensorboard"}, Grace: time.Second, OrphanTimeout: time.Hour}
		parts.Setup.Task.JobName = "tensorboard"
		if code := Run(t.Context(), parts); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if got := strings.Join(story, " "); got != "a b ended" {
			t.Errorf("the scheduler heard %q", got)
		}
		if tries < 5 || tries > 30 {
			t.Errorf("it was called %d times in 30 s", tries)
		}
	})
}
