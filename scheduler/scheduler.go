package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/backoff"
	"tfmesos/shared/logkey"
)

// ErrStoreAway is why a run ends when its state could not be stored for longer than allowed.
var ErrStoreAway = errors.New("scheduler: the store is out of reach")

// Store keeps a cluster durable.
type Store interface {
	// Save stores the change from before to after with the notes, or nothing. A nil before stores the whole.
	Save(ctx context.Context, before, after *cluster.Cluster, notes []cluster.Note) error
	// Renew keeps the lease of this scheduler while nothing is saved.
	Renew(ctx context.Context) error
}

// Mesos is the connection to the master.
type Mesos interface {
	// Run subscribes, again and again, and delivers events in order until ctx ends or the master refuses us for good. An
	// empty frameworkID registers a new framework.
	Run(ctx context.Context, frameworkID string, deliver func(cluster.Event)) error
	// Call sends one call and waits for its answer.
	Call(ctx context.Context, call cluster.Call) error
}

// Config is what a Scheduler needs.
type Config struct {
	Store  Store
	Mesos  Mesos
	Logger *slog.Logger
	// Observe is told of each published change, in order; it must be quick. May be nil.
	Observe func(c *cluster.Cluster, notes []cluster.Note)
	// Drive runs a driver to its end; it must end soon after its context has. Only for specs with a driver.
	Drive func(ctx context.Context, drive cluster.Drive) cluster.DriverEnded
	// Probe connects to host:port until something answers, then nil, or ctx ends. Only for specs with an entrypoint.
	Probe func(ctx context.Context, address string) error
	// Final reports whether a Save error cannot be cured by trying again, as when the lease is another's now.
	Final func(error) bool
	// RenewEvery is the time between two renewals of the lease.
	RenewEvery time.Duration
}

// published is a cluster as readers see it, with a channel that is closed when a newer one is there.
type published struct {
	cluster *cluster.Cluster
	changed chan struct{}
}

// Scheduler is the loop. Only its goroutine changes the cluster; everybody else reads snapshots.
type Scheduler struct {
	cfg      Config
	inbox    *inbox
	calls    *callQueue
	current  atomic.Pointer[published]
	stopping sync.Once
	drive    func(cluster.Drive) // set by the loop, as is probe
	probe    func(cluster.Probe)
	hurrying sync.Once
	giveUp   chan struct{} // closed when a stop's grace is over: a store that is away is waited for no longer
}

// New returns a scheduler for the cluster, which it owns from now on. Nothing happens before Run.
func New(cfg Config, c *cluster.Cluster) *Scheduler {
	s := &Scheduler{cfg: cfg, inbox: newInbox(), calls: newCallQueue(), giveUp: make(chan struct{})}
	s.current.Store(&published{cluster: c, changed: make(chan struct{})})
	return s
}

// Snapshot returns the published cluster, which is never changed, and a channel that is closed when there is a newer one.
func (s *Scheduler) Snapshot() (*cluster.Cluster, <-chan struct{}) {
	p := s.current.Load()
	return p.cluster, p.changed
}

// Post hands an event to the loop and returns at once.
func (s *Scheduler) Post(ev cluster.Event) {
	s.heedStop(ev)
	s.inbox.put(letter{event: ev})
}

// heedStop bounds the wait for a store that is away, which keeps the loop from seeing the stop itself.
func (s *Scheduler) heedStop(ev cluster.Event) {
	stop, ok := ev.(cluster.Stopped)
	if !ok {
		return
	}
	hurry := func() { s.hurrying.Do(func() { close(s.giveUp) }) }
	s.stopping.Do(func() {
		c, _ := s.Snapshot()
		time.AfterFunc(c.Settings.Grace, hurry)
	})
	if stop.Now {
		hurry()
	}
}

// Submit hands an event to the loop and returns when it is stored and published, or with ctx's error.
func (s *Scheduler) Submit(ctx context.Context, ev cluster.Event) error {
	s.heedStop(ev)
	done := make(chan error, 1)
	s.inbox.put(letter{event: ev, done: done})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the store: %w", ctx.Err())
	}
}

// Run drives the cluster to its end and returns it. The error is not nil if the run could not be brought to an orderly
// end: ErrStoreAway, or what Config.Final recognised. Nothing is torn down then, so that another scheduler can go on, unless
// somebody had stopped the run.
func (s *Scheduler) Run(ctx context.Context) (*cluster.Cluster, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	first, _ := s.Snapshot()
	group.Go(func() error {
		err := s.cfg.Mesos.Run(ctx, first.Framework.ID, s.Post)
		if err != nil && ctx.Err() == nil { // Refused has been posted, and leads to the end
			s.cfg.Logger.Info("subscription ended for good", logkey.Error, err)
		}
		return nil
	})
	group.Go(func() error { return s.calls.run(ctx, s.send) })
	group.Go(func() error {
		defer cancel()
		err := s.loop(ctx, group)
		if errors.Is(err, ErrStoreAway) {
			s.removeUnstored(ctx)
		}
		return err
	})
	err := group.Wait()
	last, _ := s.Snapshot()
	return last, err
}

// removeUnstored ends what Mesos has of a cluster that somebody wanted to end and that cannot be stored any more.
func (s *Scheduler) removeUnstored(ctx context.Context) {
	select {
	case <-s.giveUp:
		s.calls.put(cluster.Teardown{})
		s.calls.flush(ctx)
	default: // another scheduler may go on
	}
}

// loop handles batches until the cluster has ended and its last calls are out.
func (s *Scheduler) loop(ctx context.Context, group *errgroup.Group) error {
	driving, endHelpers := context.WithCancel(ctx)
	defer endHelpers()
	s.drive = func(drive cluster.Drive) {
		group.Go(func() error {
			s.Post(s.cfg.Drive(driving, drive))
			return nil
		})
	}
	s.probe = func(p cluster.Probe) {
		group.Go(func() error {
			if s.cfg.Probe(driving, p.Address) == nil {
				s.Post(cluster.Answered{TaskID: p.TaskID})
			}
			return nil
		})
	}
	at, err := s.decide(ctx, []letter{{event: cluster.Woken{}}}, true)
	if err != nil {
		return err
	}
	wake := time.NewTimer(untilWake(at))
	renew := time.NewTicker(s.cfg.RenewEvery)
	defer wake.Stop()
	defer renew.Stop()
	for !s.ended() {
		var letters []letter
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-renew.C:
			if err := s.cfg.Store.Renew(ctx); err != nil {
				if s.cfg.Final(err) {
					return err
				}
				s.cfg.Logger.Warn("the lease cannot be renewed, trying again", logkey.Error, err)
			}
			continue
		case <-s.inbox.ready:
			if letters = s.inbox.take(); len(letters) == 0 {
				continue // they were taken together with earlier ones, and the wake is still right
			}
		case <-wake.C:
			letters = []letter{{event: cluster.Woken{}}}
		}
		at, err := s.decide(ctx, letters, false)
		if err != nil {
			return err
		}
		if c, _ := s.Snapshot(); c.Phase == cluster.PhaseEnding {
			endHelpers()
		}
		wake.Reset(untilWake(at))
	}
	s.calls.flush(ctx)
	return nil
}

func (s *Scheduler) ended() bool {
	c, _ := s.Snapshot()
	return c.Ended()
}

func untilWake(at time.Time) time.Duration {
	if at.IsZero() {
		return time.Hour
	}
	return max(0, time.Until(at))
}

// decide is one round of Decide → Save → Apply → Call. It returns when to wake up next.
func (s *Scheduler) decide(ctx context.Context, letters []letter, whole bool) (time.Time, error) {
	before, _ := s.Snapshot()
	after := before.Clone()
	var all cluster.Work
	for _, l := range letters {
		work := cluster.Decide(after, l.event, time.Now())
		all.Calls = append(all.Calls, work.Calls...)
		all.Notes = append(all.Notes, work.Notes...)
		all.Probes = append(all.Probes, work.Probes...)
		if work.Drive != nil {
			all.Drive = work.Drive
		}
		all.Wake = work.Wake // each settles the whole, so the last one is right
	}
	if whole {
		before = nil
	}
	err := s.save(ctx, before, after, all.Notes)
	if err == nil {
		s.publish(after, all.Notes)
		s.calls.put(all.Calls...)
		for _, p := range all.Probes {
			s.probe(p)
		}
		if all.Drive != nil {
			s.drive(*all.Drive)
		}
	}
	for _, l := range letters {
		if l.done != nil {
			l.done <- err
		}
	}
	return all.Wake, err
}

// saveDelay spaces the attempts of a Save.
var saveDelay = backoff.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second, Factor: 2}

// save tries until it is done, for as long as sidecars go on without us; after a stop only for the grace.
func (s *Scheduler) save(ctx context.Context, before, after *cluster.Cluster, notes []cluster.Note) error {
	ctx, cancel := context.WithTimeout(ctx, after.Settings.OrphanTimeout)
	defer cancel()
	go func() { // ends with this Save
		select {
		case <-s.giveUp:
			s.hurryUp(ctx, cancel)
		case <-ctx.Done():
		}
	}()
	for attempt := 0; ; attempt++ {
		err := s.cfg.Store.Save(ctx, before, after, notes)
		if err == nil || s.cfg.Final(err) {
			return err
		}
		s.cfg.Logger.Warn("the state cannot be stored, trying again", logkey.Error, err)
		select {
		case <-time.After(saveDelay.Delay(attempt, 0)):
		case <-s.giveUp:
			return fmt.Errorf("%w: %w", ErrStoreAway, err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrStoreAway, err)
		}
	}
}

// lastTry is what a Save has when there is no time left: a store that is there needs a few milliseconds.
const lastTry = 500 * time.Millisecond

func (s *Scheduler) hurryUp(ctx context.Context, cancel context.CancelFunc) {
	select {
	case <-time.After(lastTry):
		cancel()
	case <-ctx.Done():
	}
}

func (s *Scheduler) publish(c *cluster.Cluster, notes []cluster.Note) {
	old := s.current.Swap(&published{cluster: c, changed: make(chan struct{})})
	close(old.changed)
	if s.cfg.Observe != nil {
		s.cfg.Observe(c, notes)
	}
}

// send makes one call and tells the loop if it may not have reached the master.
func (s *Scheduler) send(ctx context.Context, call cluster.Call) error {
	s.cfg.Logger.Debug("call", "call", fmt.Sprintf("%T", call))
	err := s.cfg.Mesos.Call(ctx, call)
	if err != nil && ctx.Err() == nil {
		s.Post(cluster.CallFailed{Call: call, Why: fmt.Sprintf("%T: %v", call, err)})
	}
	return err
}
