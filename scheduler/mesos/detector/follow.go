package detector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"

	"tfmesos/shared/backoff"
)

// timing is fixed; only tests have another.
type timing struct {
	answer     time.Duration // an operation without an answer, connecting included, ends the session
	relist     time.Duration // nodes are listed that often, also if no watch says that they have changed
	leaderless time.Duration // the same while there is no leader
	backoff    backoff.Policy
}

// defaultTiming: watches can get lost (MESOS-9426), and an election takes seconds.
var defaultTiming = timing{
	answer:     10 * time.Second,
	relist:     15 * time.Second,
	leaderless: time.Second,
	backoff:    backoff.Policy{First: 250 * time.Millisecond, Max: 5 * time.Second, Factor: 2},
}

// Finding is what is known of the leading master now.
type Finding struct {
	// Master is the leader, zero if there is none, or if nobody knows.
	Master Master
	// Err says why there is no Master. ErrRefused ends Follow. With ErrAway the masters may go on as they did before.
	Err error
}

// What Err of a Finding may be; compare with errors.Is.
var (
	// ErrNoLeader: ZooKeeper answers, and no master leads.
	ErrNoLeader = errors.New("no master leads")
	// ErrAway: no server of the ensemble can be asked.
	ErrAway = errors.New("zookeeper is out of reach")
	// ErrRefused: ZooKeeper will not let us look, with these credentials or without any.
	ErrRefused = errors.New("zookeeper refuses")
)

// Follow tells who leads, at first and after each change, from this goroutine, until ctx ends or ZooKeeper refuses.
func (e *Ensemble) Follow(ctx context.Context, log *slog.Logger, report func(Finding)) {
	e.follow(ctx, log, defaultTiming, report)
}

func (e *Ensemble) follow(ctx context.Context, log *slog.Logger, t timing, report func(Finding)) {
	f := &follower{Ensemble: e, timing: t, report: report}
	for attempt := 0; ; attempt++ {
		f.answered = false
		err := f.session(ctx, log)
		if ctx.Err() != nil {
			return
		}
		if f.answered {
			attempt = 0
		}
		f.tell(Finding{Err: err})
		if errors.Is(err, ErrRefused) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.backoff.Delay(attempt, rand.Float64())):
		}
	}
}

// follower is the state of one Follow.
type follower struct {
	*Ensemble
	timing   timing
	report   func(Finding)
	answered bool   // the present session has worked
	told     string // the last report, to tell changes only
}

func (f *follower) tell(found Finding) {
	text := fmt.Sprint(found.Master, found.Err)
	if text != f.told {
		f.told = text
		f.report(found)
	}
}

// session follows the election with one session of ZooKeeper, and says what ended it.
func (f *follower) session(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := open(ctx, f.Ensemble, log)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	defer s.close()
	if f.digest != "" {
		if err := f.within(ctx, s, func() error { return s.AddAuth("digest", []byte(f.digest)) }); err != nil {
			return f.failed(s, err)
		}
	}
	known, changed := "", (<-chan zk.Event)(nil)
	for {
		nodes, err := f.list(ctx, s, &changed)
		wait := f.timing.leaderless
		switch node := leader(nodes); {
		case errors.Is(err, zk.ErrNoNode):
			known = ""
			f.tell(Finding{Err: fmt.Errorf("%w: %s has no such node: is the path right, and does a master run?", ErrNoLeader, f)})
		case err != nil:
			return f.failed(s, err)
		case node == "":
			known = ""
			f.tell(Finding{Err: fmt.Errorf("%w: %s has no node of a master", ErrNoLeader, f)})
		case node == known:
			wait = f.timing.relist
		default:
			if known, err = f.read(ctx, s, node); err != nil {
				return f.failed(s, err)
			}
			if known != "" {
				wait = f.timing.relist
			}
		}
		f.answered = true
		if err := f.pause(ctx, s, wait, &changed); err != nil {
			return f.failed(s, err)
		}
	}
}

// list returns the nodes of the masters. It sets a watch if there is none: each watch stays in the library until it strikes.
func (f *follower) list(ctx context.Context, s *session, changed *<-chan zk.Event) (nodes []string, err error) {
	err = f.within(ctx, s, func() (err error) {
		if *changed != nil {
			nodes, _, err = s.Children(f.Path)
			return err
		}
		nodes, _, *changed, err = s.ChildrenW(f.Path)
		return err
	})
	return nodes, err
}

// read tells who the node's master is. The node may have vanished since it was listed; then it returns "", as for one that cannot be
// read, which a later listing may mend.
func (f *follower) read(ctx context.Context, s *session, node string) (known string, err error) {
	var data []byte
	err = f.within(ctx, s, func() (err error) {
		data, _, err = s.Get(f.Path + "/" + node)
		return err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return "", nil
	case err != nil:
		return "", err
	}
	master, err := parse(node, data)
	if err != nil {
		f.tell(Finding{Err: fmt.Errorf("%w: %s: %w", ErrNoLeader, f, err)})
		return "", nil
	}
	f.tell(Finding{Master: master})
	return node, nil
}

// pause waits until the nodes change, or for a while. Its error is that of a session that is no more.
func (f *follower) pause(ctx context.Context, s *session, wait time.Duration, changed *<-chan zk.Event) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.lost:
		return zk.ErrConnectionClosed
	case event := <-*changed: // never, if it is nil
		*changed = nil
		return event.Err
	case <-timer.C:
	}
	return nil
}

// within calls an operation of the library, which knows no context, and ends the session if it takes too long.
func (f *follower) within(ctx context.Context, s *session, operation func() error) error {
	done := make(chan error, 1)
	go func() { done <- operation() }() // ends with the session at the latest
	timer := time.NewTimer(f.timing.answer)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		s.close()
		<-done
		return ctx.Err()
	case <-timer.C:
		s.close()
		<-done
		return fmt.Errorf("no answer within %s", f.timing.answer)
	}
}

// failed says what an error of the library means.
func (f *follower) failed(s *session, err error) error {
	switch {
	case errors.Is(err, zk.ErrNoAuth) && f.digest == "":
		return fmt.Errorf("%w: %s can be read with credentials only: want zk://USER:PASSWORD@…", ErrRefused, f)
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed):
		return fmt.Errorf("%w: %s cannot be read with these credentials (the password is not shown)", ErrRefused, f)
	}
	return fmt.Errorf("%w: %s: %w", ErrAway, f, s.why(err))
}
