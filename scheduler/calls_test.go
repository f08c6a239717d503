package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tfmesos/scheduler/cluster"
)

func TestCallsGoOutInOrderAndOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		out, most := 0, 0
		r.mesos.call = func(context.Context, cluster.Call) error {
			out++
			most = max(most, out)
			time.Sleep(time.Second) // of the bubble: a slow master
			out--
			return nil
		}
		r.start()
		r.post(subscribed(), offered(1))
		want := []string{"ACCEPT", "SUPPRESS"}
		for i := range 20 {
			uuid := fmt.Sprintf("u%d", i)
			want = append(want, "ACKNOWLEDGE "+uuid)
			r.post(updated(cluster.TaskStateRunning, uuid))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		calls := slices.DeleteFunc(r.diary.all(), func(line string) bool { return strings.HasPrefix(line, "saved") })
		if !slices.Equal(calls, want) || most != 1 {
			t.Errorf("up to %d at a time, the master hears\n  %v, want\n  %v", most, calls, want)
		}
	})
}

func TestASlowMasterDoesNotHoldUpTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		r.mesos.call = func(ctx context.Context, _ cluster.Call) error {
			<-ctx.Done()
			return ctx.Err()
		}
		r.start()
		r.post(subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"))
		if err := r.Submit(t.Context(), registered()); err != nil || r.phase() != cluster.TaskRegistered {
			t.Errorf("with the ACCEPT unanswered Submit returns %v and readers see worker:0 %s", err, r.phase())
		}
	})
}

func TestALaunchWhoseCallFailedIsAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		r.mesos.call = func(_ context.Context, call cluster.Call) error {
			if _, accept := call.(cluster.Accept); accept {
				return errors.New("timeout")
			}
			return nil
		}
		r.start()
		r.post(subscribed(), offered(1))
		got := slices.DeleteFunc(r.diary.all(), func(line string) bool { return line == "SUPPRESS" }) // goes out while the failure is saved
		want := []string{"saved whole, worker:0 waiting", "saved, worker:0 waiting", "saved, worker:0 staging", "ACCEPT", "saved, worker:0 staging", "RECONCILE " + taskID}
		if !slices.Equal(got, want) {
			t.Errorf("what was done is\n  %q\nwant\n  %q", got, want)
		}
		if n := r.diary.notes[len(r.diary.notes)-1]; n.Kind != "call_failed" || n.Text != "cluster.Accept: timeout" || !n.Bad {
			t.Errorf("the last note is %+v, want that the ACCEPT failed", n)
		}
	})
}

func TestTeardownIsTriedUntilTheMasterTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newCluster(1))
		r.mesos.call = func(_ context.Context, call cluster.Call) error {
			if _, last := call.(cluster.Teardown); last && r.diary.count("TEARDOWN") < 4 {
				return errors.New("no leader")
			}
			return nil
		}
		r.start()
		r.post(subscribed())
		begin := time.Now()
		r.post(stoppedNow())
		<-r.ended
		if took := time.Since(begin); r.diary.count("TEARDOWN") != 4 || took != 3*teardownRetry || r.err != nil {
			t.Errorf("after %d TEARDOWNs in %v Run returns %v, want 4 and no error", r.diary.count("TEARDOWN"), took, r.err)
		}
	})
}

func TestTeardownIsGivenUpInTime(t *testing.T) {
	for name, answer := range map[string]func(context.Context) error{
		"a master that refuses": func(context.Context) error { return errors.New("no leader") },
		"a master that is mute": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newCluster(1))
				r.mesos.call = func(ctx context.Context, _ cluster.Call) error { return answer(ctx) }
				r.start()
				r.post(subscribed())
				begin := time.Now()
				r.post(stoppedNow())
				<-r.ended
				if took := time.Since(begin); took != flushLimit || r.err != nil || r.last.ExitCode != cluster.ExitStopped {
					t.Errorf("Run returns exit code %d and %v after %v, want it after %v", r.last.ExitCode, r.err, took, flushLimit)
				}
			})
		})
	}
}

func TestFlushWaitsForTheCallsThatAreOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q, stopped := newCallQueue(), make(chan struct{})
		go func() {
			defer close(stopped)
			_ = q.run(ctx, func(ctx context.Context, _ cluster.Call) error {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
				return nil
			})
		}()
		for _, calls := range []int{0, 1, 2, 9} {
			begin := time.Now()
			q.put(slices.Repeat([]cluster.Call{cluster.Revive{}}, calls)...)
			q.flush(ctx)
			if took, want := time.Since(begin), min(time.Duration(calls)*time.Second, flushLimit); took != want {
				t.Errorf("with %d calls of a second each flush returns after %v, want %v", calls, took, want)
			}
		}
		begin := time.Now()
		cancel()
		q.flush(ctx)
		<-stopped
		if took := time.Since(begin); took > 0 {
			t.Errorf("after the context's end flush and run return after %v", took)
		}
	})
}
