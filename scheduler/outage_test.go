package scheduler

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tfmesos/scheduler/cluster"
)

// outage makes Saves fail while the returned switch is on.
func (r *rig) outage() *atomic.Bool {
	var away atomic.Bool
	r.store.save = func(context.Context, *cluster.Cluster) error {
		if away.Load() {
			return errAway
		}
		return nil
	}
	return &away
}

// submit calls Submit and returns where its result comes.
func (r *rig) submit(limit time.Duration, ev cluster.Event) <-chan error {
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(r.t.Context(), limit)
		defer cancel()
		result <- r.Submit(ctx, ev)
	}()
	synctest.Wait()
	return result
}

func TestNoUpdateIsAcknowledgedWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		away := r.outage()
		r.start()
		r.post(subscribed(), offered(1))
		away.Store(true)
		r.post(updated(cluster.TaskStateRunning, "u1"))
		time.Sleep(time.Minute)
		if r.diary.count("ACKNOWLEDGE") > 0 || r.phase() != cluster.TaskStaging {
			t.Errorf("without a Save readers see worker:0 %s, and the master heard %v", r.phase(), r.diary.all())
		}
		if n := r.diary.count("not saved"); n < 10 || n > 100 {
			t.Errorf("the Save was tried %d times in a minute, want a few tens", n)
		}
		away.Store(false)
		time.Sleep(saveDelay.Max)
		if r.diary.count("ACKNOWLEDGE u1") != 1 || r.phase() != cluster.TaskStarting {
			t.Errorf("after the outage readers see worker:0 %s, and the master heard %v", r.phase(), r.diary.all())
		}
	})
}

func TestSubmitReturnsOnlyWhenTheEventIsStoredAndPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		away := r.outage()
		r.start()
		r.post(subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"))
		away.Store(true)
		result := r.submit(time.Hour, registered())
		time.Sleep(10 * time.Second)
		select {
		case err := <-result:
			t.Fatalf("Submit returns %v while the store is away", err)
		default:
		}
		away.Store(false)
		if err := <-result; err != nil || r.phase() != cluster.TaskRegistered {
			t.Errorf("Submit returns %v, and readers see worker:0 %s", err, r.phase())
		}
	})
}

func TestSubmitGivesUpWithItsCallerButTheEventStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		away := r.outage()
		r.start()
		r.post(subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"))
		away.Store(true)
		begin := time.Now()
		err := <-r.submit(5*time.Second, registered())
		if took := time.Since(begin); took != 5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Submit returns %v after %v", err, took)
		}
		away.Store(false)
		time.Sleep(saveDelay.Max)
		if r.phase() != cluster.TaskRegistered {
			t.Errorf("after the outage readers see worker:0 %s; its report is lost", r.phase())
		}
	})
}

func TestASaveThatCannotBeCuredEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		var fenced atomic.Bool
		r.store.save = func(context.Context, *cluster.Cluster) error {
			if fenced.Load() {
				return errFenced
			}
			return nil
		}
		r.start()
		r.post(subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"))
		fenced.Store(true)
		if err := <-r.submit(time.Hour, registered()); !errors.Is(err, errFenced) {
			t.Errorf("Submit returns %v, want that the lease is lost", err)
		}
		<-r.ended
		if !errors.Is(r.err, errFenced) || r.last.Tasks[0].Phase != cluster.TaskStarting {
			t.Errorf("Run returns worker:0 %s and %v", r.last.Tasks[0].Phase, r.err)
		}
		if r.diary.count("not saved") != 1 || r.diary.count("TEARDOWN") != 0 {
			t.Errorf("who has lost the lease saves once and tears nothing down: %v", r.diary.all())
		}
	})
}

func TestALeaseThatIsLostEndsTheRunAndOneThatIsShakyDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		begin, renewals := time.Now(), 0
		r.store.renew = func(context.Context) error {
			switch renewals++; renewals {
			case 2:
				return errAway
			case 4:
				return errFenced
			}
			return nil
		}
		r.start()
		<-r.ended
		if took := time.Since(begin); took != 4*r.cfg.RenewEvery || !errors.Is(r.err, errFenced) {
			t.Errorf("Run returns %v after %v and %d renewals", r.err, took, renewals)
		}
	})
}

func TestAStoreThatStaysAwayEndsTheRunWhenItsSidecarsGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		away := r.outage()
		r.start()
		r.post(subscribed())
		away.Store(true)
		begin := time.Now()
		r.post(offered(1))
		<-r.ended
		if took := time.Since(begin); took != orphanTimeout || !errors.Is(r.err, ErrStoreAway) || !errors.Is(r.err, errAway) {
			t.Errorf("Run returns %v after %v, want ErrStoreAway with its cause after %v", r.err, took, orphanTimeout)
		}
		if r.diary.count("ACCEPT")+r.diary.count("TEARDOWN") != 0 {
			t.Errorf("what is not stored reached the master: %v", r.diary.all())
		}
	})
}

func TestAStopWhileTheStoreIsAwayEndsWithinTheGrace(t *testing.T) {
	for name, pending := range map[string]cluster.Event{"idle": nil, "in a Save": updated(cluster.TaskStateRunning, "u1")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newCluster(1))
				away := r.outage()
				r.start()
				r.post(subscribed(), offered(1))
				away.Store(true)
				if pending != nil {
					r.post(pending)
					time.Sleep(time.Minute)
				}
				begin := time.Now()
				r.post(interrupted())
				<-r.ended
				if took := time.Since(begin); took != grace || !errors.Is(r.err, ErrStoreAway) {
					t.Errorf("Run returns %v after %v, want ErrStoreAway after %v", r.err, took, grace)
				}
				if r.diary.count("TEARDOWN") != 1 || r.diary.count("KILL") != 0 {
					t.Errorf("what somebody wanted to end goes on in Mesos: %v", r.diary.all())
				}
			})
		})
	}
}

func TestASecondStopWhileTheStoreHangsEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		r.gated(func(c *cluster.Cluster) bool { return c.Phase == cluster.PhaseEnding })
		r.start()
		r.post(subscribed(), offered(1), interrupted())
		begin := time.Now()
		r.post(stoppedNow())
		<-r.ended
		if took := time.Since(begin); took > lastTry || !errors.Is(r.err, ErrStoreAway) || r.diary.count("TEARDOWN") != 1 {
			t.Errorf("after %v Run returns %v; done was %v; want ErrStoreAway within %v, and a TEARDOWN", took, r.err, r.diary.all(), lastTry)
		}
	})
}

func TestAStopEndsWellWhenTheStoreComesBackInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		away := r.outage()
		r.start()
		r.post(subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"))
		away.Store(true)
		r.post(registered(), interrupted())
		time.Sleep(grace / 2)
		away.Store(false)
		time.Sleep(saveDelay.Max)
		r.post(updated(cluster.TaskStateKilled, "u2"))
		<-r.ended
		if r.err != nil || r.last.ExitCode != cluster.ExitInterrupted || r.diary.count("TEARDOWN") != 1 {
			t.Errorf("Run returns exit code %d and %v; done was %v", r.last.ExitCode, r.err, r.diary.all())
		}
	})
}
