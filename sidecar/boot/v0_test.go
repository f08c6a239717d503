package boot

import (
	"strings"
	"testing"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// v0Job is what a scheduler with /v0 answers to worker:1, which holds port 4001.
func v0Job(workers ...string) callback.V0Job {
	return callback.V0Job{JobName: "worker", TaskIndex: 1, ClusterDef: tf.ClusterDef{"ps": {"10.0.0.7:4000"}, "worker": workers}}
}

// look asks at times after the start and returns what was said last.
func look(v V0, job callback.V0Job, at ...time.Duration) (next V0, why string, done bool, err error) {
	for _, d := range at {
		v, why, done, err = v.OK(job, 4001, start.Add(d))
	}
	return v, why, done, err
}

func TestAClusterDefOfV0IsTakenOnceItStaysAsItIs(t *testing.T) {
	v, why, done, err := look(V0{}, v0Job("10.0.0.8:4000", "10.0.0.8:4001"), 0)
	if done || err != nil || !strings.Contains(why, "fresh") {
		t.Errorf("at first sight: %q, %t, %v", why, done, err)
	}
	if v, _, done, _ = look(v, v0Job("10.0.0.8:4000", "10.0.0.8:4001", "10.0.0.9:4000"), 900*time.Millisecond, 1800*time.Millisecond); done {
		t.Error("one that has grown is taken before it has stayed")
	}
	if _, _, done, err = look(v, v0Job("10.0.0.8:4000", "10.0.0.8:4001", "10.0.0.9:4000"), 1900*time.Millisecond); !done || err != nil {
		t.Errorf("one that has stayed for a second is not taken: %v", err)
	}
}

func TestAClusterDefOfV0ThatCannotBeRightIsNotTakenAndEndsTheWait(t *testing.T) {
	for _, c := range []struct {
		name, want string
		job        callback.V0Job
	}{
		{"nothing is known", "cluster_def is empty", callback.V0Job{JobName: "worker", TaskIndex: 1}},
		{"our port is not known", "the cluster_def has no worker:1: it has 1 of that job", v0Job("10.0.0.8:4000")},
		{"another's is not, and we have moved up", "the cluster_def has no worker:1", v0Job("10.0.0.8:4001")},
		{"another's is not, and one has moved to our place", "the cluster_def has worker:1 at 10.0.0.9:4000, and its port is 4001", v0Job("10.0.0.8:4001", "10.0.0.9:4000")},
		{"a longer port that ends like ours", "its port is 4001", v0Job("10.0.0.8:4000", "10.0.0.8:14001")},
		{"an address that is none", "want host:port", v0Job("10.0.0.8:4000", ":4001")},
		{"an index below 0", "has no worker:-1", callback.V0Job{JobName: "worker", TaskIndex: -1, ClusterDef: v0Job("h:4001").ClusterDef}},
	} {
		v, why, done, err := look(V0{}, c.job, 0, 2*time.Second, 59*time.Second)
		if done || err != nil || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, %t, %v, want to wait because %q", c.name, why, done, err, c.want)
		}
		_, _, done, err = look(v, c.job, time.Minute)
		if done || err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "says ok, and 1m0s after that") {
			t.Errorf("%s: after a minute %t, %v, want an error with %q", c.name, done, err, c.want)
		}
		if v, _, _, err = look(v.NotOK(), c.job, time.Minute); err != nil || v.okSince != start.Add(time.Minute) {
			t.Errorf("%s: the minute does not begin again with the next ok: %v", c.name, err)
		}
	}
}
