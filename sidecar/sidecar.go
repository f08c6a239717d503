package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/logkey"
	"tfmesos/sidecar/boot"
)

// Scheduler is the callback API. An error with a method Failure() boot.Failure says what it means; any other is
// boot.Away.
type Scheduler interface {
	Register(ctx context.Context, r callback.Registration) (callback.Registered, error)
	Poll(ctx context.Context, generation int) (callback.Assignment, error)
	Report(ctx context.Context, r callback.PhaseReport) error
	Log(ctx context.Context, l callback.Log) error
}

// Launcher runs the child.
type Launcher interface {
	// Run starts it, posts what becomes of it, and returns when nothing of it is left.
	Run(launch boot.Launch, post func(boot.Event))
	// Configure gives it the cluster, in server mode.
	Configure(server boot.Server) error
	// Forward signals its process group, EndTree asks all that came of it to end, KillTree kills that.
	Forward(s boot.Signal)
	EndTree()
	KillTree()
}

// Parts are what Run works with.
type Parts struct {
	Setup     boot.Setup
	Scheduler Scheduler
	Launcher  Launcher
	Output    *Output // what the Launcher fills
	// HoldPort binds the task's port for the life of the process; Probe waits until one of the addresses accepts.
	HoldPort func() (port int, err error)
	Probe    func(ctx context.Context, addresses []string, lazily bool) bool
	// Signals are those the process gets.
	Signals <-chan boot.Signal
	Log     *slog.Logger
	// Now is the clock, Fraction a random number from [0, 1).
	Now      func() time.Time
	Fraction func() float64
}

// lastMoments is how long Run waits at its end for goroutines that were told to end. One that is stuck in the kernel (a
// full pipe that nobody reads) must not keep the container.
const lastMoments = 100 * time.Millisecond

// Run does all of a sidecar's work and returns its exit code.
func Run(ctx context.Context, parts Parts) int {
	ctx, cancel := context.WithCancel(ctx)
	l := &loop{Parts: parts, boot: boot.New(parts.Setup), events: make(chan boot.Event, 16), exit: -1}
	l.begin(func() { l.ship(ctx) })
	l.step(ctx, boot.Started{})
	for l.exit < 0 {
		l.step(ctx, l.next())
	}
	cancel()
	ended := make(chan struct{})
	go func() { l.working.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(lastMoments):
	}
	return l.exit
}

type loop struct {
	Parts
	boot    boot.Boot
	events  chan boot.Event
	working sync.WaitGroup
	exit    int // -1: not yet
}

// next waits for the next event.
func (l *loop) next() boot.Event {
	due, ok := l.boot.Due()
	if !ok {
		due = l.Now().Add(time.Hour)
	}
	timer := time.NewTimer(due.Sub(l.Now()))
	defer timer.Stop()
	select {
	case ev := <-l.events:
		return ev
	case s := <-l.Signals:
		l.Log.Info("got a signal", logkey.Signal, s)
		return boot.Signalled{Signal: s}
	case <-timer.C:
		return boot.Woken{}
	}
}

func (l *loop) step(ctx context.Context, ev boot.Event) {
	from := l.boot.Phase
	next, actions := boot.Step(l.boot, ev, l.Now())
	l.boot = next
	if next.Phase != from {
		l.logPhase(from, next)
	}
	for _, action := range actions {
		l.do(ctx, action)
	}
}

func (l *loop) logPhase(from boot.Phase, b boot.Boot) {
	attributes := []any{logkey.From, from.String(), logkey.To, b.Phase.String()}
	if b.Port != 0 && b.Phase == boot.Registering {
		attributes = append(attributes, logkey.Port, b.Port)
	}
	if b.Phase >= boot.Ending {
		attributes = append(attributes, logkey.Reason, b.String())
	}
	l.Log.Info("phase", attributes...)
}

// begin runs a part of the work in its own goroutine. It ends with ctx, except for the Launcher's Run, which ends with the
// child's last descendant.
func (l *loop) begin(work func()) { l.working.Go(work) }

// post brings an event to the loop, unless that has ended.
func (l *loop) post(ctx context.Context, ev boot.Event) {
	select {
	case l.events <- ev:
	case <-ctx.Done():
	}
}

// do does one action; the state switch over them.
func (l *loop) do(ctx context.Context, action boot.Action) {
	post := func(ev boot.Event) { l.post(ctx, ev) }
	switch a := action.(type) {
	case boot.HoldPort:
		l.begin(func() { post(l.holdPort()) })
	case boot.Start:
		l.begin(func() { l.Launcher.Run(a.Launch, post) })
	case boot.Configure:
		l.begin(func() { l.configure(a.Server) })
	case boot.Probe:
		l.begin(func() { l.probe(ctx, a) })
	case boot.Register:
		l.begin(func() { post(l.register(ctx, a)) })
	case boot.Poll:
		l.begin(func() { post(l.poll(ctx, a)) })
	case boot.Report:
		l.begin(func() { post(l.report(ctx, a)) })
	case boot.Flush:
		l.begin(func() {
			l.Output.flush(ctx, a.Until.Sub(l.Now()))
			post(boot.Flushed{})
		})
	case boot.Forward:
		l.Launcher.Forward(a.Signal)
	case boot.EndTree:
		l.Launcher.EndTree()
	case boot.KillTree:
		l.Launcher.KillTree()
	case boot.Note:
		level := slog.LevelInfo
		if a.Warn {
			level = slog.LevelWarn
		}
		l.Log.Log(ctx, level, a.Text)
	case boot.Exit:
		l.exit = a.Code
	default:
		panic(fmt.Sprintf("sidecar: unknown action %T", action))
	}
}

func (l *loop) holdPort() boot.Event {
	port, err := l.HoldPort()
	if err != nil {
		return boot.PortFailed{Reason: err.Error()}
	}
	return boot.PortHeld{Port: port}
}

func (l *loop) configure(server boot.Server) {
	if err := l.Launcher.Configure(server); err != nil {
		l.Log.Warn("Python did not take its configuration", logkey.Error, err)
	}
}

func (l *loop) probe(ctx context.Context, a boot.Probe) {
	if l.Probe(ctx, a.Addresses, a.Lazily) {
		l.post(ctx, boot.Answered{})
	}
}

func (l *loop) register(ctx context.Context, a boot.Register) boot.Event {
	answer, err := l.Scheduler.Register(ctx, a.Registration)
	if err != nil {
		return boot.CallFailed{Failure: failureOf(err), Reason: err.Error(), Fraction: l.Fraction()}
	}
	return boot.Registered{Answer: answer}
}

func (l *loop) poll(ctx context.Context, a boot.Poll) boot.Event {
	assignment, err := l.Scheduler.Poll(ctx, a.Generation)
	if err != nil {
		return boot.CallFailed{Failure: failureOf(err), Reason: err.Error(), Fraction: l.Fraction()}
	}
	return boot.Assigned{Assignment: assignment}
}

func (l *loop) report(ctx context.Context, a boot.Report) boot.Event {
	if err := l.Scheduler.Report(ctx, a.Report); err != nil {
		return boot.ReportFailed{Failure: failureOf(err), Reason: err.Error(), Fraction: l.Fraction()}
	}
	return boot.Reported{}
}

// failureOf reads what an error of a Scheduler means.
func failureOf(err error) boot.Failure {
	var known interface{ Failure() boot.Failure }
	if errors.As(err, &known) {
		return known.Failure()
	}
	return boot.Away
}
