package store

import (
	"slices"
	"testing"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

func TestATaskIsToldInASentence(t *testing.T) {
	c := &cluster.Cluster{StartedAt: start}
	base := cluster.Task{Name: tf.TaskName{JobName: "worker"}, PhaseAt: start.Add(time.Hour), Launch: 2, Hostname: "a7.lab", Address: "10.0.3.14", Port: 41873, ExitCode: -1}
	for _, s := range []struct {
		phase cluster.TaskPhase
		why   string
		exit  int
		want  string
	}{
		{cluster.TaskWaiting, "no agent has 2 gpus", -1, "waiting since 03:14:09Z: no agent has 2 gpus"},
		{cluster.TaskStaging, "", -1, "staging on a7.lab since 03:14:09Z, launch 2"},
		{cluster.TaskStarting, "", -1, "starting on a7.lab since 03:14:09Z, launch 2"},
		{cluster.TaskRegistered, "", -1, "registered 10.0.3.14:41873 on a7.lab, launch 2"},
		{cluster.TaskServing, "", -1, "serving 10.0.3.14:41873 on a7.lab, launch 2"},
		{cluster.TaskTraining, "", -1, "training 10.0.3.14:41873 on a7.lab, launch 2"},
		{cluster.TaskEnding, "", -1, "ending on a7.lab since 03:14:09Z, launch 2"},
		{cluster.TaskDone, "", 0, "done at 03:14:09Z, launch 2"},
		{cluster.TaskFailed, "out of memory", 137, "failed at 03:14:09Z, launch 2, exit code 137: out of memory"},
	} {
		task := base
		task.Phase, task.Why, task.ExitCode = s.phase, s.why, s.exit
		if got := sayTask(c, &task); got != s.want {
			t.Errorf("got  %s\nwant %s", got, s.want)
		}
	}
	base.Phase, base.PhaseAt = cluster.TaskWaiting, start.AddDate(0, 0, 1)
	if got, want := sayTask(c, &base), "waiting since 2026-02-01T02:14:09Z"; got != want {
		t.Errorf("on the day after the start: %q, want %q", got, want)
	}
}

func TestAReasonNeverTakesTheNameOfAnotherField(t *testing.T) {
	w := &cluster.Wait{Since: start, LastOfferAt: start, Refusals: offer.Refusals{Offers: 3, Reasons: []offer.Reason{
		{Field: "since", Count: 2, Short: "not 2020"}, {Field: "mem", Count: 1, Short: "too small, largest 1 of 2"}, {Field: "mem", Count: 1, Short: "missing"}}}}
	want := []string{"offers", "3", "since", "2026-01-31T02:14:09Z", "last_offer_at", "2026-01-31T02:14:09Z",
		"since_attribute", "2 not 2020", "mem", "1 too small, largest 1 of 2; 1 missing"}
	if got := sayWait(w); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAWaitIsShownUntilItIsOver(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		waits := training("ctr")
		key := WaitingKey("ctr", waits.Tasks[2].Name)
		save(t, lease, nil, waits)
		other := waits.Clone()
		other.Tasks[2].Wait = &cluster.Wait{Since: start, LastOfferAt: start, Refusals: offer.Refusals{Offers: 1, Reasons: []offer.Reason{{Field: "cpus", Count: 1, Short: "too small"}}}}
		save(t, lease, waits, other)
		if got := r.redis.HGetAll(t.Context(), key).Val(); got["cpus"] != "1 too small" || got["mem"] != "" || got["offers"] != "1" {
			t.Errorf("%s is %v, want what is short now and nothing of before", key, got)
		}
		launched := other.Clone()
		launched.Tasks[2].Wait = nil
		save(t, lease, other, launched)
		if n := r.redis.Exists(t.Context(), key).Val(); n != 0 {
			t.Errorf("%s is there although the task is launched", key)
		}
	})
}

func TestAClusterIsToldInALine(t *testing.T) {
	owner := Owner{User: "user", Host: "login3"}
	c := training("ctr")
	if got, want := sayCluster(c, owner, start), "training 2/3 ready, run 7, user@login3, since 02:14:09Z"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := sayCluster(c, owner, start.AddDate(0, 0, 1)), "training 2/3 ready, run 7, user@login3, since 2026-01-31T02:14:09Z"; got != want {
		t.Errorf("the day after:\ngot  %s\nwant %s", got, want)
	}
}
