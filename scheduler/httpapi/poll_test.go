package httpapi

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// poll is the path of a long poll.
func poll(name tf.TaskName, generation, wait int) string {
	return fmt.Sprintf("%s?%s=%d&%s=%d", path(callback.PathClusterDef, name), callback.QueryGeneration, generation, callback.QueryWait, wait)
}

// heard waits until n polls have come, each with its heartbeat.
func (l *loop) heard(n int) {
	for n > 0 {
		if _, ok := (<-l.arrived).(cluster.Heard); ok {
			n--
		}
	}
}

func TestOnePublishWakesEveryPoll(t *testing.T) {
	l := newLoop(50)
	a := serve(t, l)
	type result struct {
		name tf.TaskName
		got  answer
		err  error
	}
	results := make(chan result)
	for _, task := range l.current.Tasks {
		go func() {
			got, err := a.try(asTask(task.Name), "GET", poll(task.Name, 0, 1000), "")
			results <- result{task.Name, got, err}
		}()
	}
	l.heard(len(l.current.Tasks))
	l.change(func(c *cluster.Cluster) { c.Why = "worker:1 waits" }) // wakes them too, and is no answer
	l.change(complete)
	for range l.current.Tasks {
		r := <-results
		if r.err != nil || r.got.status != 200 {
			t.Errorf("poll of %s: %d %s, %v", r.name, r.got.status, r.got.body, r.err)
			continue
		}
		want := callback.Assignment{Generation: 1, ClusterDef: l.current.ClusterDef, Callbacks: []string{"http://10.0.0.1:11000"}, Why: "worker:1 waits"}
		if diff := cmp.Diff(want, parse[callback.Assignment](t, r.got.body)); diff != "" {
			t.Errorf("poll of %s (-want +got):\n%s", r.name, diff)
		}
	}
}

func TestAPollIsAnsweredAtOnceWhenThereIsNews(t *testing.T) {
	l := newLoop(2)
	l.change(complete)
	a := serve(t, l)
	for _, generation := range []int{0, 7} {
		got := a.call(asTask(ps0), "GET", poll(ps0, generation, 1000), "")
		if assignment := parse[callback.Assignment](t, got.body); assignment.Generation != 1 || assignment.ClusterDef == nil {
			t.Errorf("poll with generation %d: %s, want generation 1 and its cluster_def", generation, got.body)
		}
	}
	got := a.call(asTask(ps0), "GET", poll(ps0, 1, 0), "")
	if assignment := parse[callback.Assignment](t, got.body); assignment.ClusterDef == nil {
		t.Errorf("poll that does not wait: %s, want what there is", got.body)
	}
	l.change(func(c *cluster.Cluster) { c.ClusterDef = nil })
	got = a.call(asTask(ps0), "GET", poll(ps0, 1, 1), "")
	if assignment := parse[callback.Assignment](t, got.body); assignment.Generation != 0 || assignment.ClusterDef != nil {
		t.Errorf("poll while there is no cluster_def: %s, want generation 0 after a second", got.body)
	}
}

func TestAPollLearnsThatItsLaunchIsOver(t *testing.T) {
	for name, end := range map[string]func(*cluster.Cluster){
		"another launch":    func(c *cluster.Cluster) { launchTask(c.Task(worker0), 3) },
		"the task is done":  func(c *cluster.Cluster) { c.Task(worker0).Phase = cluster.TaskDone },
		"the run has ended": func(c *cluster.Cluster) { c.Phase = cluster.PhaseEnded },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoop(2)
			a := serve(t, l)
			got := make(chan answer)
			go func() {
				g, err := a.try(asTask(worker0), "GET", poll(worker0, 0, 1000), "")
				if err != nil {
					t.Error(err)
				}
				got <- g
			}()
			l.heard(1)
			l.change(end)
			a.want(<-got, 410, "poll")
			a.want(a.call(asTask(worker0), "GET", poll(worker0, 0, 1000), ""), 410, "next poll")
		})
	}
}

func TestAPollOutlivesTheLimitsOfRequests(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l, func(c *Config) {
		c.Limits.Read, c.Limits.Write, c.Limits.Idle = 200*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond
	})
	a.want(a.call(asTask(worker0), "GET", poll(worker0, 0, 1), ""), 200, "poll of a second")
}

func TestShutdownAnswersPollsAtOnce(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l, func(c *Config) { c.Limits.Close = time.Hour })
	got := make(chan answer)
	go func() {
		g, err := a.try(asTask(worker0), "GET", poll(worker0, 0, 1000), "")
		if err != nil {
			t.Error(err)
		}
		got <- g
	}()
	l.heard(1)
	go a.stop()
	a.want(<-got, 200, "poll")
	a.stop()
}

// A heartbeat that cannot be stored holds up neither the poll nor the next heartbeats.
func TestPollsAreAnsweredWhileTheStoreIsStuck(t *testing.T) {
	l := newLoop(2)
	l.change(complete)
	l.stuck = make(chan struct{})
	a := serve(t, l)
	for range 20 {
		a.want(a.call(asTask(worker0), "GET", poll(worker0, 0, 1000), ""), 200, "poll of worker:0")
		a.want(a.call(asTask(worker1), "GET", poll(worker1, 0, 1000), ""), 200, "poll of worker:1")
	}
	close(l.stuck)
	seen := map[string]bool{}
	for len(seen) < 2 {
		seen[(<-l.arrived).(cluster.Heard).TaskID] = true
	}
}

func TestTheOperatorMayLookAtATasksPollWithoutBeingItsHeartbeat(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l)
	a.want(a.call(asOperator, "GET", poll(worker0, 0, 0), ""), 200, "poll")
	a.want(a.call(asOperator, "GET", callback.For(callback.PathClusterDef, "x"), ""), 404, "poll of an unknown task")
	a.stop()
	if len(l.events) > 0 {
		t.Errorf("an operator's look made events: %v", l.events)
	}
}

func TestOddQueriesOfAPollAreRefused(t *testing.T) {
	a := serve(t, newLoop(2))
	for _, query := range []string{"wait=-1", "wait=+1", "wait=1.5", "wait=", "wait=01", "wait=1&wait=1", "generation=x", "generation=99999999999999999999",
		"generation=1%0d%0aX-Evil:%201"} {
		got := a.call(asTask(worker0), "GET", path(callback.PathClusterDef, worker0)+"?"+query, "")
		a.want(got, http.StatusBadRequest, query)
	}
	a.want(a.call(asTask(worker0), "GET", path(callback.PathClusterDef, worker0)+"?of_a_newer_sidecar=1", ""), 200, "an unknown key")
}
