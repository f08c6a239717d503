package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/tf"
)

func TestOnlyOneLeads(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		first := r.acquire(t, "ctr", 1)
		if f := first.Leader(); f.Fence != 1 || f.Since.IsZero() || f.ExpiresAt.Sub(f.Since) != 15*time.Second {
			t.Errorf("the first leader got fence %d since %s until %s", f.Fence, f.Since, f.ExpiresAt)
		}
		if off := time.Since(first.Leader().Since); off < -time.Minute || off > time.Minute {
			t.Errorf("leads since %s, which is not now", first.Leader().Since)
		}
		_, err := r.store.Acquire(t.Context(), "ctr", anyLeader(2))
		var held *HeldError
		if !errors.As(err, &held) {
			t.Fatalf("a second leader while the first lives: %v", err)
		}
		if diff := cmp.Diff(first.Leader(), held.Leader); diff != "" {
			t.Errorf("the refusal names another leader:\n%s", diff)
		}
		if !strings.Contains(err.Error(), "process 1 on login3") {
			t.Errorf("the refusal does not say who leads: %v", err)
		}
		r.acquire(t, "other", 2)
	})
}

func TestAReleasedOrExpiredLeaseIsTakenWithTheNextFence(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		first := r.acquire(t, "ctr", 1)
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if second := r.acquire(t, "ctr", 2); second.Leader().Fence != 2 {
			t.Errorf("after a release the fence is %d, want 2", second.Leader().Fence)
		}
		r.expire(t, "ctr")
		if third := r.acquire(t, "ctr", 3); third.Leader().Fence != 3 {
			t.Errorf("after the lease has ended the fence is %d, want 3", third.Leader().Fence)
		}
	})
}

func TestAWriteRenewsTheLease(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		c := training("ctr")
		writes := map[string]func() error{
			"Save":      func() error { return lease.Save(t.Context(), nil, c, nil) },
			"Renew":     func() error { return lease.Renew(t.Context()) },
			"SaveOwner": func() error { return lease.SaveOwner(t.Context(), Owner{User: "u"}) },
		}
		for name, write := range writes {
			r.expire(t, "ctr")
			if err := write(); err != nil {
				t.Fatal(err)
			}
			var held *HeldError
			if _, err := r.store.Acquire(t.Context(), "ctr", anyLeader(2)); !errors.As(err, &held) {
				t.Errorf("%s did not renew the lease: %v", name, err)
			}
		}
	})
}

func TestAnOldLeadersWritesHaveNoEffect(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		old := r.acquire(t, "ctr", 1)
		c := training("ctr")
		save(t, old, nil, c)
		r.expire(t, "ctr")
		r.acquire(t, "ctr", 2)
		before := r.dump(t, "ctr")

		changed := c.Clone()
		changed.Phase, changed.Why = cluster.PhaseEnding, "the old leader says so"
		writes := map[string]error{
			"Save":           old.Save(t.Context(), c, changed, []cluster.Note{{Kind: "x"}}),
			"Save the whole": old.Save(t.Context(), nil, changed, nil),
			"Renew":          old.Renew(t.Context()),
			"SaveOwner":      old.SaveOwner(t.Context(), Owner{User: "u"}),
			"Release":        old.Release(t.Context()),
			"Finish":         old.Finish(t.Context(), changed, time.Hour),
		}
		for name, err := range writes {
			if !errors.Is(err, ErrFenced) {
				t.Errorf("%s by the old leader: %v, want ErrFenced", name, err)
			}
		}
		if diff := cmp.Diff(before, r.dump(t, "ctr")); diff != "" {
			t.Errorf("the old leader changed something:\n%s", diff)
		}
	})
}

// The fence begins at 1 again when everything of an ended run has expired.
func TestAnEqualFenceOfAnotherTimeIsFenced(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		old := r.acquire(t, "ctr", 1)
		r.redis.Del(t.Context(), LeaderKey("ctr"))
		if err := old.Renew(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("a write after Redis has lost everything: %v, want ErrLost", err)
		}
		if err := r.redis.HSet(t.Context(), LeaderKey("ctr"), "fence", "1", "since", "2020-01-01T00:00:00.000Z", "writes", "0", "events", "0").Err(); err != nil {
			t.Fatal(err)
		}
		if err := old.Renew(t.Context()); !errors.Is(err, ErrFenced) {
			t.Errorf("a write with the fence of another leader: %v, want ErrFenced", err)
		}
	})
}

func TestASaveWhoseAnswerGotLostIsMadeGoodByTheNext(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		a := training("ctr")
		save(t, lease, nil, a)
		b := a.Clone()
		b.Why, b.Tasks[0].Why = "only in the lost one", "lost"
		save(t, lease, a, b, cluster.Note{Kind: "first", Text: "1"})
		lease.events, lease.unsure = 0, true // as if the answer had not come

		c := a.Clone()
		c.Phase = cluster.PhaseEnding
		save(t, lease, a, c, cluster.Note{Kind: "first", Text: "1"}, cluster.Note{Kind: "second", Text: "2"})
		if diff := difference(c, load(t, r.store, "ctr").Cluster); diff != "" {
			t.Errorf("what the lost Save wrote is still there:\n%s", diff)
		}
		if got := r.kinds(t, "ctr"); !cmp.Equal(got, []string{"first", "second"}) {
			t.Errorf("events are %q: each must be there once", got)
		}
	})
}

func TestAWriteThatArrivesLateDoesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		a := training("ctr")
		save(t, lease, nil, a)
		b := a.Clone()
		b.Why = "newer"
		save(t, lease, a, b)
		c := a.Clone()
		c.Why = "older, and late"
		for _, number := range []int{0, 1} { // the one before, and the same again
			lease.writes = number
			lease.Save(t.Context(), a, c, nil)
			if why := load(t, r.store, "ctr").Cluster.Why; why != "newer" {
				t.Errorf("write %d after write 2 took effect: why is %q", number+1, why)
			}
		}
	})
}

func TestANewRunLeavesNothingOfTheOneBefore(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		old := training("ctr")
		complete(old)
		save(t, lease, nil, old, cluster.Note{Kind: "old"})
		if err := lease.Finish(t.Context(), old, time.Hour); err != nil {
			t.Fatal(err)
		}
		spec := cluster.Spec{Name: "ctr", Jobs: []cluster.Job{{Name: "chief", Num: 1}}}
		next := cluster.New(spec, 8, "ffffff", cluster.Settings{}, start)
		lease = r.acquire(t, "ctr", 2)
		save(t, lease, nil, next, cluster.Note{Kind: "new"})

		want := []string{EventsKey("ctr"), FrameworkKey("ctr"), HistoryKey("ctr"), LeaderKey("ctr"), SpecKey("ctr"), StatusKey("ctr"),
			TaskKey("ctr", tf.TaskName{JobName: "chief"}), TasksKey("ctr"), ClustersKey}
		ttls := r.ttls(t, "ctr")
		for _, key := range want {
			if ttl, there := ttls[key]; !there || ttl != -1 {
				t.Errorf("%s: there %v, TTL %v: want it without one", key, there, ttl)
			}
			delete(ttls, key)
		}
		// The owner is the caller's to write before the first Save.
		delete(ttls, OwnerKey("ctr"))
		if len(ttls) > 0 {
			t.Errorf("left of the run before: %v", ttls)
		}
		if got := load(t, r.store, "ctr").Cluster; got.Run != 8 || len(got.Tasks) != 1 {
			t.Errorf("loaded run %d with %d tasks", got.Run, len(got.Tasks))
		}
		if got := r.kinds(t, "ctr"); !cmp.Equal(got, []string{"old", "new"}) {
			t.Errorf("events are %q: those of the run before stay", got)
		}
	})
}

func TestFinishLetsTheRunExpireTogetherAndKeepsItsHistory(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		if err := lease.SaveOwner(t.Context(), Owner{User: "ann", Host: "login3"}); err != nil {
			t.Fatal(err)
		}
		c := training("ctr")
		complete(c)
		save(t, lease, nil, c, cluster.Note{Kind: "x"})
		ended := c.Clone()
		ended.Phase, ended.ExitCode, ended.Reason = cluster.PhaseEnded, 1, "worker:1 failed:\nout of memory"
		ended.EndedAt = start.Add(90 * time.Second)
		save(t, lease, c, ended)
		if err := lease.Finish(t.Context(), ended, time.Hour); err != nil {
			t.Fatal(err)
		}
		for key, ttl := range r.ttls(t, "ctr") {
			kept := key == HistoryKey("ctr") || key == ClustersKey
			if kept && ttl != -1 || !kept && (ttl <= 59*time.Minute || ttl > time.Hour) {
				t.Errorf("%s expires in %s", key, ttl)
			}
		}
		history := r.redis.LRange(t.Context(), HistoryKey("ctr"), 0, -1).Val()
		want := "run 7 of ann@login3 ended at 2026-01-31T02:15:39Z after 1m30s with exit code 1: worker:1 failed: out of memory"
		if len(history) != 1 || history[0] != want {
			t.Errorf("history is %q, want %q", history, want)
		}
		line := r.redis.HGet(t.Context(), ClustersKey, "ctr").Val()
		if !strings.HasPrefix(line, "ended with exit code 1, run 7, ann@login3, at ") {
			t.Errorf("the line of the cluster is %q", line)
		}
		r.acquire(t, "ctr", 2)
	})
}

func TestKnownFault107NothingOfALiveRunExpires(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		c := training("ctr")
		complete(c)
		lease.SaveOwner(t.Context(), Owner{User: "u"})
		save(t, lease, nil, c, cluster.Note{Kind: "x"})
		ttls := r.ttls(t, "ctr")
		for key, ttl := range ttls {
			if ttl != -1 {
				t.Errorf("%s of a live run expires in %s", key, ttl)
			}
		}
		if want := len(keysOf(c)) + 1 - 2; len(ttls) != want {
			t.Errorf("%d keys are there, want %d, which is all but those of two tasks that do not wait: %v", len(ttls), want, ttls)
		}
	})
}

func TestKnownFault109TwoClustersShareNoKey(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		for pid, name := range []string{"one", "two"} {
			lease := r.acquire(t, name, pid+1)
			c := training(name)
			complete(c)
			lease.SaveOwner(t.Context(), Owner{User: name})
			save(t, lease, nil, c, cluster.Note{Kind: "x"})
		}
		before := r.dump(t, "two")
		for key := range r.ttls(t, "*") {
			if key != ClustersKey && !strings.HasPrefix(key, slot("one")) && !strings.HasPrefix(key, slot("two")) {
				t.Errorf("%s belongs to neither cluster", key)
			}
		}
		r.expire(t, "one")
		lease := r.acquire(t, "one", 3)
		save(t, lease, nil, cluster.New(cluster.Spec{Name: "one"}, 8, "abcdef", cluster.Settings{}, start))
		if err := lease.Finish(t.Context(), training("one"), time.Second); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, r.dump(t, "two")); diff != "" {
			t.Errorf("the end of one changed two:\n%s", diff)
		}
		if lines := r.redis.HGetAll(t.Context(), ClustersKey).Val(); len(lines) != 2 {
			t.Errorf("lines of clusters: %v", lines)
		}
	})
}

func TestEventsAreBounded(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		c := training("ctr")
		notes := make([]cluster.Note, 500)
		for range 25 {
			save(t, lease, c, c, notes...)
		}
		if n := r.redis.XLen(t.Context(), EventsKey("ctr")).Val(); n < maxEvents || n > maxEvents+200 {
			t.Errorf("%d events are kept of 12500, want about %d", n, maxEvents)
		}
	})
}

func TestAnEventSaysWhatTheNoteSays(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		save(t, lease, nil, training("ctr"),
			cluster.Note{Kind: "task_failed", Task: tf.TaskName{JobName: "worker", TaskIndex: 1}, Launch: 2, AgentID: "S1", Text: "worker:1 failed"},
			cluster.Note{Kind: "started", Text: "run 7"})
		want := []map[string]any{
			{"run": "7", "kind": "task_failed", "task": "worker:1", "launch": "2", "agent": "S1", "text": "worker:1 failed"},
			{"run": "7", "kind": "started", "task": "", "launch": "", "agent": "", "text": "run 7"},
		}
		for i, entry := range r.redis.XRange(t.Context(), EventsKey("ctr"), "-", "+").Val() {
			if at, err := parseTime(entry.Values["at"].(string)); err != nil || at.IsZero() {
				t.Errorf("at is %q", entry.Values["at"])
			}
			delete(entry.Values, "at")
			if diff := cmp.Diff(want[i], entry.Values); diff != "" {
				t.Errorf("event %d:\n%s", i, diff)
			}
		}
	})
}

func TestALargeClusterIsSavedInOneScript(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		c := cluster.New(cluster.Spec{Name: "ctr", Jobs: []cluster.Job{{Name: "worker", Num: 700}}}, 1, "000000", cluster.Settings{}, start)
		save(t, lease, nil, c)
		if got := load(t, r.store, "ctr").Cluster; len(got.Tasks) != 700 || difference(c, got) != "" {
			t.Errorf("loaded %d of 700 tasks, or not as they were", len(got.Tasks))
		}
	})
}

func TestASaveGivesUpInTimeAndCanBeMadeAgain(t *testing.T) {
	r := newRig(t, startServer(t))
	lease := r.acquire(t, "ctr", 1)
	a := training("ctr")
	save(t, lease, nil, a)
	if err := r.redis.Do(t.Context(), "CLIENT", "PAUSE", 60000, "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	b := a.Clone()
	b.Why = "saved after the pause"
	notes := []cluster.Note{{Kind: "once"}}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := lease.Save(ctx, a, b, notes); err == nil || !strings.Contains(err.Error(), "gives no answer") {
			t.Fatalf("a Save while Redis is silent: %v", err)
		}
	}
	if err := r.redis.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	save(t, lease, a, b, notes...)
	if diff := difference(b, load(t, r.store, "ctr").Cluster); diff != "" {
		t.Errorf("not as it was saved:\n%s", diff)
	}
	if got := r.kinds(t, "ctr"); len(got) != 1 {
		t.Errorf("the event is there %d times", len(got))
	}
}
