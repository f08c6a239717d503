package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// Tests of the loop run in a bubble of testing/synctest, which fails them when a goroutine is left; this finds the rest.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore and fakeMesos are what their funcs are; a nil one does nothing, well.
type fakeStore struct {
	save  func(ctx context.Context, after *cluster.Cluster) error
	renew func(ctx context.Context) error
	diary *diary
}

func (f *fakeStore) Save(ctx context.Context, before, after *cluster.Cluster, notes []cluster.Note) error {
	if f.save != nil {
		if err := f.save(ctx, after); err != nil {
			f.diary.write("not saved")
			return err
		}
	}
	whole := ""
	if before == nil {
		whole = " whole"
	}
	f.diary.write("saved%s, worker:0 %s", whole, after.Tasks[0].Phase)
	f.diary.noteAll(notes)
	return nil
}

func (f *fakeStore) Renew(ctx context.Context) error {
	if f.renew == nil {
		return nil
	}
	return f.renew(ctx)
}

type fakeMesos struct {
	run   func(ctx context.Context, frameworkID string, deliver func(cluster.Event)) error
	call  func(ctx context.Context, call cluster.Call) error
	diary *diary
}

func (f *fakeMesos) Run(ctx context.Context, frameworkID string, deliver func(cluster.Event)) error {
	if f.run != nil {
		return f.run(ctx, frameworkID, deliver)
	}
	<-ctx.Done()
	return nil
}

func (f *fakeMesos) Call(ctx context.Context, call cluster.Call) error {
	f.diary.write("%s", nameCall(call))
	if f.call == nil {
		return nil
	}
	return f.call(ctx, call)
}

func nameCall(call cluster.Call) string {
	name := strings.ToUpper(strings.TrimPrefix(fmt.Sprintf("%T", call), "cluster."))
	switch c := call.(type) {
	case cluster.Acknowledge:
		return name + " " + string(c.UUID)
	case cluster.Reconcile:
		for _, task := range c.Tasks {
			name += " " + task.TaskID
		}
	case cluster.Decline:
		return name + " " + strings.Join(c.OfferIDs, " ")
	}
	return name
}

// diary is what was done to the store and the master, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
	notes []cluster.Note // as saved
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) noteAll(notes []cluster.Note) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, notes...)
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// count returns how many lines begin with the prefix.
func (d *diary) count(prefix string) int {
	n := 0
	for _, line := range d.all() {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// rig is a scheduler of plain servers between the fakes. Set them up, then start it.
type rig struct {
	*Scheduler
	t     *testing.T
	store *fakeStore
	mesos *fakeMesos
	diary *diary

	ended chan struct{} // closed when Run has returned
	last  *cluster.Cluster
	err   error
}

var (
	errAway   = errors.New("connection refused")
	errFenced = errors.New("the lease is another's")
)

const (
	grace         = 20 * time.Second
	orphanTimeout = 15 * time.Minute
	taskID        = "ctr.abc123.worker-0.1" // of the first launch of worker:0
)

// newCluster returns a cluster of that many workers.
func newCluster(workers int) *cluster.Cluster {
	spec := cluster.Spec{Name: "ctr", Deadlines: cluster.DefaultDeadlines, Jobs: []cluster.Job{
		{Name: tf.Worker, Num: workers, Resources: offer.Resources{CPUs: 1000, Mem: 1024000}}}}
	settings := cluster.Settings{Secret: []byte("secret"), Grace: grace, OrphanTimeout: orphanTimeout}
	return cluster.New(spec, 1, "abc123", settings, time.Now())
}

func newRig(t *testing.T, c *cluster.Cluster) *rig {
	r := &rig{t: t, diary: &diary{}, ended: make(chan struct{})}
	r.store, r.mesos = &fakeStore{diary: r.diary}, &fakeMesos{diary: r.diary}
	r.Scheduler = New(Config{Store: r.store, Mesos: r.mesos, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), RenewEvery: 10 * time.Second,
		Final: func(err error) bool { return errors.Is(err, errFenced) }}, c)
	return r
}

// start lets Run go on until the test ends, or the run before.
func (r *rig) start() {
	ctx := r.t.Context()
	go func() {
		defer close(r.ended)
		r.last, r.err = r.Run(ctx)
	}()
	r.t.Cleanup(func() { <-r.ended })
	synctest.Wait()
}

// post hands in events one by one, each when all that the one before led to is done.
func (r *rig) post(events ...cluster.Event) {
	for _, ev := range events {
		r.Post(ev)
		synctest.Wait()
	}
}

// phase is that of worker:0 as readers see it.
func (r *rig) phase() cluster.TaskPhase {
	c, _ := r.Snapshot()
	return c.Tasks[0].Phase
}

// wantDiary compares the diary from its start.
func (r *rig) wantDiary(want ...string) {
	r.t.Helper()
	if got := r.diary.all(); !slices.Equal(got, want) {
		r.t.Errorf("what was done is\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func subscribed() cluster.Event {
	return cluster.Subscribed{FrameworkID: "F1", Master: "10.0.0.9:5050"}
}

// offered is room for n workers.
func offered(n int) cluster.Event {
	return cluster.Offered{Offers: []offer.Offer{{ID: "o1", AgentID: "a1", Hostname: "a1.lab", Address: "10.1.0.1", Role: "*",
		Parts: []offer.Part{{Resources: offer.Resources{CPUs: offer.Milli(n) * 1000, Mem: offer.Milli(n) * 1024000}}}}}}
}

// updated is an update of worker:0 with the uuid.
func updated(state cluster.State, uuid string) cluster.Event {
	return cluster.Updated{TaskID: taskID, AgentID: "a1", State: state, UUID: []byte(uuid)}
}

func registered() cluster.Event {
	return cluster.Registered{TaskID: taskID, Registration: callback.Registration{Port: 4001}}
}

func serving() cluster.Event {
	return cluster.PhaseReported{TaskID: taskID, Report: callback.PhaseReport{Phase: callback.PhaseServing, At: time.Now()}}
}

func interrupted() cluster.Event {
	return cluster.Stopped{ExitCode: cluster.ExitInterrupted, Reason: "interrupted"}
}

func stoppedNow() cluster.Event {
	return cluster.Stopped{ExitCode: cluster.ExitStopped, Reason: "stopped", Now: true}
}

func isOpen(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return false
	default:
		return true
	}
}
