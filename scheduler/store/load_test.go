package store

import (
	"errors"
	"strings"
	"testing"

	"tfmesos/shared/tf"
)

func TestKnownFault097FirstStartOnAnEmptyStore(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		if _, err := r.store.Load(t.Context(), "ctr"); !errors.Is(err, ErrNotFound) {
			t.Errorf("an empty Redis: %v, want ErrNotFound", err)
		}
		lease := r.acquire(t, "ctr", 1)
		if err := lease.SaveOwner(t.Context(), Owner{User: "u"}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Load(t.Context(), "ctr"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a scheduler that died before its first Save: %v, want ErrNotFound", err)
		}
		save(t, lease, nil, training("ctr"))
		if id := load(t, r.store, "ctr").Cluster.Framework.ID; id != "" {
			t.Errorf("before the registration the framework id is %q", id)
		}
	})
}

func TestKnownFault097OnlyPartOfARunIsNoRun(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		worker := tf.TaskName{JobName: "worker", TaskIndex: 1}
		for _, gone := range []string{StatusKey("ctr"), FrameworkKey("ctr"), SpecKey("ctr"), TaskKey("ctr", worker)} {
			r.redis.Del(t.Context(), LeaderKey("ctr"))
			save(t, r.acquire(t, "ctr", 1), nil, training("ctr"))
			r.redis.Del(t.Context(), gone)
			r.corrupt(t, gone, "")
		}
		r.redis.Del(t.Context(), StatusKey("ctr"), TasksKey("ctr"), SpecKey("ctr"))
		r.corrupt(t, StatusKey("ctr"), "")
	})
}

func (r *rig) corrupt(t *testing.T, key, field string) {
	t.Helper()
	record, err := r.store.Load(t.Context(), "ctr")
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || record != nil {
		t.Errorf("%s %s is damaged, and Load says %v", key, field, err)
		return
	}
	if corrupt.Key != key || corrupt.Field != field {
		t.Errorf("%s %s is damaged, and Load blames another: %v", key, field, err)
	}
	if !strings.Contains(err.Error(), key) || len(err.Error()) > 500 {
		t.Errorf("the error does not name %s, or is too long (%d bytes): %.600s", key, len(err.Error()), err)
	}
}

func TestKnownFault098DamagedOrForeignRecord(t *testing.T) {
	ps := TaskKey("ctr", tf.TaskName{JobName: "ps"})
	fields := []struct{ key, field, value string }{
		{StatusKey("ctr"), "schema", "2"},
		{StatusKey("ctr"), "schema", ""},
		{StatusKey("ctr"), "run", ""},
		{StatusKey("ctr"), "run", "seven"},
		{StatusKey("ctr"), "phase", "dreaming"},
		{StatusKey("ctr"), "phase", ""},
		{StatusKey("ctr"), "started_at", "yesterday"},
		{StatusKey("ctr"), "exit_code", "-1"},
		{FrameworkKey("ctr"), "failover_timeout", "long"},
		{FrameworkKey("ctr"), "registered_at", "1769825649"},
		{ps, "task_id", ""},
		{ps, "launch", "1.5"},
		{ps, "port", "99999999999999999999"},
		{ps, "port", "65536"},
		{ps, "phase", "TASK_RUNNING"},
		{ps, "failed", "maybe"},
		{ps, "ended_exit_code", "x"},
		{ps, "heartbeat_at", strings.Repeat("9", 5<<20)},
		{OwnerKey("ctr"), "argv", "python"},
		{OwnerKey("ctr"), "labels", "[]"},
		{LeaderKey("ctr"), "pid", "x"},
	}
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		lease.SaveOwner(t.Context(), Owner{User: "u"})
		save(t, lease, nil, training("ctr"))
		for _, f := range fields {
			good := r.redis.HGet(t.Context(), f.key, f.field).Val()
			r.redis.HSet(t.Context(), f.key, f.field, f.value)
			r.corrupt(t, f.key, f.field)
			r.redis.HDel(t.Context(), f.key, f.field)
			r.corrupt(t, f.key, f.field)
			r.redis.HSet(t.Context(), f.key, f.field, good)
		}
		load(t, r.store, "ctr")
	})
}

func TestKnownFault098DamagedKey(t *testing.T) {
	hashes := []string{StatusKey("ctr"), FrameworkKey("ctr"), OwnerKey("ctr"), TasksKey("ctr"), TaskKey("ctr", tf.TaskName{JobName: "ps"}), LeaderKey("ctr")}
	texts := []struct{ key, text, field string }{
		{SpecKey("ctr"), "", ""},
		{SpecKey("ctr"), "{", ""},
		{SpecKey("ctr"), "[]", ""},
		{SpecKey("ctr"), `{"name":"ctr"} {}`, ""},
		{SpecKey("ctr"), `{"name":"ctr","job":[]}`, ""},
		{SpecKey("ctr"), `{}`, "name"},
		{SpecKey("ctr"), `{"name":"rct"}`, "name"},
		{SpecKey("ctr"), `{"name":"ctr","jobs":[{"num":1}]}`, "jobs"},
		{SpecKey("ctr"), `{"name":"ctr","jobs":[{"name":"ps","num":2000000000}]}`, "jobs"},
		{SpecKey("ctr"), strings.Repeat("x", 5<<20), ""},
		{ClusterDefKey("ctr"), "", ""},
		{ClusterDefKey("ctr"), "{}", ""},
		{ClusterDefKey("ctr"), `{"ps":["10.0.0.1:1",""]}`, ""},
		{ClusterDefKey("ctr"), `{"ps":"10.0.0.1:1"}`, ""},
	}
	onEach(t, func(t *testing.T, r *rig) {
		reset := func() {
			r.redis.Del(t.Context(), hashes...)
			r.redis.Del(t.Context(), SpecKey("ctr"), ClusterDefKey("ctr"))
			lease := r.acquire(t, "ctr", 1)
			lease.SaveOwner(t.Context(), Owner{User: "u"})
			save(t, lease, nil, training("ctr"))
		}
		for _, key := range hashes {
			reset()
			r.redis.Del(t.Context(), key)
			r.redis.RPush(t.Context(), key, "a list")
			r.corrupt(t, key, "")
		}
		for _, damage := range texts {
			reset()
			r.redis.Set(t.Context(), damage.key, damage.text, 0)
			r.corrupt(t, damage.key, damage.field)
		}
		for _, key := range []string{SpecKey("ctr"), ClusterDefKey("ctr")} {
			reset()
			r.redis.Del(t.Context(), key)
			r.redis.HSet(t.Context(), key, "a", "hash")
			r.corrupt(t, key, "")
		}
	})
}

func TestADamagedLeaderIsNotTakenOver(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var corrupt *CorruptError
		r.redis.HSet(t.Context(), LeaderKey("ctr"), "fence", "many", "expires_at", "")
		if _, err := r.store.Acquire(t.Context(), "ctr", anyLeader(1)); !errors.As(err, &corrupt) || corrupt.Field != "fence" {
			t.Errorf("a fence that is no number: %v", err)
		}
		r.redis.Del(t.Context(), LeaderKey("ctr"))
		r.redis.Set(t.Context(), LeaderKey("ctr"), "me", 0)
		if _, err := r.store.Acquire(t.Context(), "ctr", anyLeader(1)); !errors.As(err, &corrupt) || corrupt.Key != LeaderKey("ctr") {
			t.Errorf("a leader that is no hash: %v", err)
		}
	})
}

func TestANameThatCouldLeaveItsSlotIsRefused(t *testing.T) {
	s := open(t, startEmbedded(t))
	for _, name := range []string{"", "a}b", "{", "a:b", "A", strings.Repeat("a", 41)} {
		if _, err := s.Load(t.Context(), name); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("Load(%q): %v", name, err)
		}
		if _, err := s.Acquire(t.Context(), name, anyLeader(1)); err == nil {
			t.Errorf("Acquire(%q) succeeded", name)
		}
	}
}
