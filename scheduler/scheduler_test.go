package scheduler

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
)

func TestEachStepIsSavedBeforeTheMasterHearsOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		r.start()
		r.post(subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"), registered(), serving(), interrupted(), updated(cluster.TaskStateKilled, "u2"))
		<-r.ended
		r.wantDiary(
			"saved whole, worker:0 waiting",
			"saved, worker:0 waiting",
			"saved, worker:0 staging", "ACCEPT", "SUPPRESS",
			"saved, worker:0 starting", "ACKNOWLEDGE u1",
			"saved, worker:0 registered",
			"saved, worker:0 serving",
			"saved, worker:0 ending", "KILL",
			"saved, worker:0 done", "ACKNOWLEDGE u2", "TEARDOWN")
		if r.err != nil || !r.last.Ended() || r.last.ExitCode != cluster.ExitInterrupted {
			t.Errorf("Run returns a cluster that is %s with exit code %d, and %v", r.last.Phase, r.last.ExitCode, r.err)
		}
	})
}

func TestADeadlineStrikesAlthoughTheInboxWasEmptiedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1)
		c.Spec.Deadlines.Resources = time.Second
		r := newRig(t, c)
		r.start()
		r.post(subscribed())
		synctest.Wait()
		r.inbox.ready <- struct{}{} // two letters were put, and the first look took both
		<-r.ended
		if r.last.ExitCode != cluster.ExitNoResources {
			t.Errorf("the run ends with exit code %d, want %d: no resources within 1s", r.last.ExitCode, cluster.ExitNoResources)
		}
	})
}

// gated makes Saves of a cluster for which hold is true wait until the returned channel is closed.
func (r *rig) gated(hold func(*cluster.Cluster) bool) chan struct{} {
	gate := make(chan struct{})
	r.store.save = func(ctx context.Context, after *cluster.Cluster) error {
		if !hold(after) {
			return nil
		}
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return gate
}

func TestNoTaskIsLaunchedWhileItsIntentIsBeingSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		gate := r.gated(func(c *cluster.Cluster) bool { return c.Tasks[0].Phase == cluster.TaskStaging })
		r.start()
		r.post(subscribed(), offered(1))
		time.Sleep(time.Minute) // of the bubble: nothing else can happen
		if n := r.diary.count("ACCEPT"); n > 0 || r.phase() != cluster.TaskWaiting {
			t.Errorf("before the Save is done there are %d ACCEPTs and readers see worker:0 %s", n, r.phase())
		}
		close(gate)
		synctest.Wait()
		if n := r.diary.count("ACCEPT"); n != 1 || r.phase() != cluster.TaskStaging {
			t.Errorf("after the Save there are %d ACCEPTs, want 1, and readers see worker:0 %s", n, r.phase())
		}
	})
}

func TestWhatComesDuringASaveIsSavedAtOnceAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		gate := r.gated(func(*cluster.Cluster) bool { return true })
		r.start()
		for _, ev := range []cluster.Event{subscribed(), offered(1), updated(cluster.TaskStateStarting, "u1"), updated(cluster.TaskStateRunning, "u2")} {
			r.Post(ev)
		}
		close(gate)
		synctest.Wait()
		r.wantDiary("saved whole, worker:0 waiting", "saved, worker:0 starting", "ACCEPT", "SUPPRESS", "ACKNOWLEDGE u1", "ACKNOWLEDGE u2")
	})
}

func TestAWaitThatLastsTooLongEndsTheRunWithoutAnyEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		r.start()
		r.post(subscribed())
		begin := time.Now()
		<-r.ended
		if took := time.Since(begin); took != cluster.DefaultDeadlines.Resources || r.err != nil || r.last.ExitCode != cluster.ExitNoResources {
			t.Errorf("the run ends after %v with exit code %d and %v", took, r.last.ExitCode, r.err)
		}
	})
}

func TestOffersThatDoNotHelpAreDeclinedInTimeWithoutAnyEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(2))
		r.start()
		r.post(subscribed(), offered(1))
		time.Sleep(7 * time.Second)
		if r.diary.count("DECLINE") != 0 {
			t.Error("the offer is declined before others had time to come")
		}
		time.Sleep(9 * time.Second)
		if r.diary.count("DECLINE o1") != 1 {
			t.Errorf("the offer is not given back: %v", r.diary.all())
		}
	})
}

func TestARunWhoseDeadlineIsOverWhenItResumesEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1)
		c.Spec.Deadlines.Run, c.StartedAt = time.Minute, time.Now().Add(-time.Hour)
		r := newRig(t, c)
		begin := time.Now()
		r.start()
		<-r.ended
		if took := time.Since(begin); took > 0 || r.err != nil || r.last.ExitCode != cluster.ExitDeadline {
			t.Errorf("it ends after %v with exit code %d and %v", took, r.last.ExitCode, r.err)
		}
	})
}

func TestReadersAreWokenByEachNewSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		r.start()
		c, changed := r.Snapshot()
		time.Sleep(5 * time.Second)
		if !isOpen(changed) {
			t.Error("a reader is woken although nothing has changed")
		}
		if c.Connected {
			t.Fatal("connected before SUBSCRIBED")
		}
		r.post(subscribed())
		if isOpen(changed) {
			t.Error("a reader sleeps on although there is a newer cluster")
		}
		if c, changed = r.Snapshot(); !c.Connected || !isOpen(changed) {
			t.Errorf("the newer cluster is connected: %v, its channel open: %v", c.Connected, isOpen(changed))
		}
	})
}

func TestAPublishedClusterIsNeverChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(2))
		type page struct{ published, asItWas *cluster.Cluster }
		var pages []page
		r.cfg.Observe = func(c *cluster.Cluster, _ []cluster.Note) { pages = append(pages, page{c, c.Clone()}) }
		r.start()
		r.post(subscribed(), offered(1), offered(2), updated(cluster.TaskStateRunning, "u1"), registered(), serving(), stoppedNow())
		<-r.ended
		for i, p := range pages {
			if !reflect.DeepEqual(p.published, p.asItWas) {
				t.Errorf("the cluster of round %d was changed after it was published", i)
			}
		}
		if len(pages) < 8 {
			t.Errorf("only %d clusters were published", len(pages))
		}
	})
}

func TestObserveSeesEachSavedNoteOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		failures := 0
		r.store.save = func(context.Context, *cluster.Cluster) error {
			if failures++; failures%3 != 0 {
				return errAway
			}
			return nil
		}
		var observed []cluster.Note
		r.cfg.Observe = func(c *cluster.Cluster, notes []cluster.Note) {
			if now, _ := r.Snapshot(); now != c {
				t.Error("Observe is told of another cluster than readers see")
			}
			observed = append(observed, notes...)
		}
		r.start()
		for _, ev := range []cluster.Event{subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"), registered(), serving(), interrupted(), updated(cluster.TaskStateKilled, "u2")} {
			r.Post(ev)
			time.Sleep(10 * time.Millisecond)
		}
		<-r.ended
		if diff := cmp.Diff(r.diary.notes, observed); diff != "" {
			t.Errorf("saved and observed notes differ (-saved +observed):\n%s", diff)
		}
		var kinds []string
		for _, n := range observed {
			kinds = append(kinds, strings.TrimSpace(n.Kind+" "+n.To))
		}
		want := []string{"subscribed", "task_phase staging", "task_phase starting", "task_phase registered", "cluster_def", "task_phase serving", "ready", "ending", "task_phase ending", "task_phase done", "ended"}
		if !slices.Equal(kinds, want) {
			t.Errorf("the notes are %q\n        want %q", kinds, want)
		}
	})
}

func TestAResumedFrameworkSubscribesWithItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1)
		c.Framework.ID = "F7"
		r := newRig(t, c)
		var id string
		r.mesos.run = func(ctx context.Context, frameworkID string, deliver func(cluster.Event)) error {
			id = frameworkID
			deliver(cluster.Subscribed{FrameworkID: frameworkID})
			<-ctx.Done()
			return nil
		}
		r.start()
		if now, _ := r.Snapshot(); id != "F7" || !now.Connected {
			t.Errorf("it subscribes as %q, want F7, and is connected: %v", id, now.Connected)
		}
	})
}

func TestARefusedFrameworkEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		r.mesos.run = func(_ context.Context, _ string, deliver func(cluster.Event)) error {
			deliver(cluster.Refused{Message: "Framework has been removed"})
			return errors.New("refused")
		}
		r.start()
		<-r.ended
		if r.err != nil || r.last.ExitCode != cluster.ExitAway || !strings.Contains(r.last.Reason, "Framework has been removed") {
			t.Errorf("the run ends with exit code %d (%s) and %v", r.last.ExitCode, r.last.Reason, r.err)
		}
	})
}

func TestACancelledRunLeavesEverythingToTheNextScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(r.ended)
			r.last, r.err = r.Run(ctx)
		}()
		r.post(subscribed(), offered(1))
		cancel()
		<-r.ended
		if !errors.Is(r.err, context.Canceled) || r.last.Tasks[0].Phase != cluster.TaskStaging {
			t.Errorf("Run returns worker:0 %s and %v", r.last.Tasks[0].Phase, r.err)
		}
		if r.diary.count("TEARDOWN")+r.diary.count("KILL") > 0 {
			t.Errorf("something is ended at the master: %v", r.diary.all())
		}
	})
}
