//go:build integration

package blackbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/local/faulttest"
)

// behindFaults starts a run whose master is a real one, behind a proxy with faults. A file at done lets its programs end.
func behindFaults(t *testing.T, p place, fate func(faulttest.Call) faulttest.Fate, args ...string) (r *run, proxy *faulttest.Proxy, done string) {
	t.Helper()
	proxy = faulttest.New(t, p.rig.Master())
	if fate != nil {
		proxy.Do(fate)
	}
	done = filepath.Join(t.TempDir(), "done")
	name := freshName()
	args = append([]string{"run", "--master", proxy.Addr(), "--name", name, "--grace", grace.String()}, args...)
	args = append(args, "--", "sh", "-c", "while [ ! -e "+done+" ]; do sleep 0.05; done")
	return p.launch(t, name, t.TempDir(), args), proxy, done
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// launches are the task ids of all ACCEPTs that have come to the proxy.
func launches(p *faulttest.Proxy) (ids []string) {
	for _, c := range p.Calls(scheduler.Call_ACCEPT) {
		for _, op := range c.Message.Accept.Operations {
			for _, task := range op.Launch.GetTaskInfos() {
				ids = append(ids, task.TaskID.Value)
			}
		}
	}
	return ids
}

// nextStream waits for a subscription.
func nextStream(t *testing.T, p *faulttest.Proxy) *faulttest.Stream {
	t.Helper()
	select {
	case s := <-p.Streams:
		return s
	case <-time.After(patience):
		t.Fatal("the scheduler does not subscribe again")
		return nil
	}
}

// first is a fate for the first n calls of a type, and for no other.
func first(n int, kind scheduler.Call_Type, fate faulttest.Fate) func(faulttest.Call) faulttest.Fate {
	var mu sync.Mutex
	return func(c faulttest.Call) faulttest.Fate {
		mu.Lock()
		defer mu.Unlock()
		if c.Message.Type != kind || n == 0 {
			return faulttest.Fate{}
		}
		n--
		return fate
	}
}

func TestRunsBehindFaults(t *testing.T) {
	t.Parallel()
	p := onMesos(t, os.Getenv("PATH"))
	for name, story := range map[string]func(*testing.T, place){
		"known fault 054": testKnownFault054EachSubscriptionIsFollowedByReconciliation,
		"known fault 063": testKnownFault063SubscriptionsInARowLaunchNothingTwice,
		"known fault 043": testKnownFault043AKillThatIsLostIsRepeated,
		"C09":             testC09AnAcceptWhoseAnswerIsLostIsNotRepeated,
		"known fault 037": testKnownFault037EachUpdateThatAsksForItIsAcknowledged,
	} {
		t.Run(name, func(t *testing.T) { story(t, p) })
	}
}

func testKnownFault063SubscriptionsInARowLaunchNothingTwice(t *testing.T, p place) {
	r, proxy, done := behindFaults(t, p, nil, "--worker", "3")
	proxy.Withhold(scheduler.Event_OFFERS)
	s := nextStream(t, proxy)
	r.awaits("registered with master") // who has not heard its id has to ask for another
	for range 4 {
		s.Break()
		s = nextStream(t, proxy)
	}
	proxy.Withhold()
	s.Break()
	r.awaits("all 3 tasks ready")
	touch(t, done)
	r.ends(0)
	ids := map[string]bool{}
	for _, c := range proxy.Calls(scheduler.Call_SUBSCRIBE)[1:] {
		ids[c.Message.FrameworkID.GetValue()] = true
	}
	if n := len(launches(proxy)); n != 3 || len(ids) != 1 {
		t.Errorf("%d launches under the framework ids %v, want 3: %v", n, ids, launches(proxy))
	}
}

func testKnownFault054EachSubscriptionIsFollowedByReconciliation(t *testing.T, p place) {
	asked := make(chan string, 100)
	var lost sync.Once
	r, proxy, done := behindFaults(t, p, func(c faulttest.Call) (fate faulttest.Fate) {
		if c.Message.Type == scheduler.Call_RECONCILE && len(c.Message.Reconcile.Tasks) > 0 {
			asked <- c.StreamID
			lost.Do(func() { fate.Lost = true })
		}
		return fate
	}, "--worker", "2")
	s := nextStream(t, proxy)
	r.awaits("all 2 tasks ready")
	seen := map[string]bool{}
	for i := range 3 {
		s.Break()
		s = nextStream(t, proxy)
		id := ""
		for id == "" || seen[id] { // one round may ask several times
			select {
			case id = <-asked:
			case <-time.After(patience):
				t.Fatalf("nothing is asked about the tasks after subscription %d", i+2)
			}
		}
		seen[id] = true
	}
	touch(t, done)
	r.ends(0)
	if n := len(launches(proxy)); n != 2 {
		t.Errorf("%d launches, want 2: %v", n, launches(proxy))
	}
}

func testKnownFault043AKillThatIsLostIsRepeated(t *testing.T, p place) {
	r, proxy, _ := behindFaults(t, p, first(2, scheduler.Call_KILL, faulttest.Fate{Lost: true}), "--worker", "2")
	nextStream(t, proxy)
	r.awaits("all 2 tasks ready")
	since := time.Now()
	r.signal(syscall.SIGTERM)
	r.endsInTime(since, 143)
	kills := map[string]int{}
	for _, c := range proxy.Calls(scheduler.Call_KILL) {
		kills[c.Message.Kill.TaskID.Value]++
	}
	for _, task := range launches(proxy) {
		if kills[task] < 2 {
			t.Errorf("%s got %d KILLs, and the first of it was lost: %v", task, kills[task], kills)
		}
	}
}

func testC09AnAcceptWhoseAnswerIsLostIsNotRepeated(t *testing.T, p place) {
	r, proxy, done := behindFaults(t, p, first(1, scheduler.Call_ACCEPT, faulttest.Fate{AnswerLost: true}), "--worker", "2")
	nextStream(t, proxy)
	r.awaits("all 2 tasks ready")
	touch(t, done)
	r.ends(0)
	if n := len(launches(proxy)); n != 2 {
		t.Errorf("%d launches, want 2: %v", n, launches(proxy))
	}
}

func testKnownFault037EachUpdateThatAsksForItIsAcknowledged(t *testing.T, p place) {
	lost := make(chan []byte, 1)
	r, proxy, done := behindFaults(t, p, func(c faulttest.Call) (fate faulttest.Fate) {
		if c.Message.Type == scheduler.Call_ACKNOWLEDGE && len(lost) < cap(lost) {
			lost <- c.Message.Acknowledge.UUID
			fate.Lost = true
		}
		return fate
	}, "--worker", "2")
	s := nextStream(t, proxy)
	for len(proxy.Calls(scheduler.Call_ACKNOWLEDGE)) == 0 {
		time.Sleep(time.Millisecond) // the proxy tells nobody
	}
	s.Break() // the agent sends the update again to the next subscription
	r.awaits("all 2 tasks ready")
	touch(t, done)
	r.ends(0)
	uuid, again := <-lost, 0
	for _, c := range proxy.Calls(scheduler.Call_ACKNOWLEDGE) {
		ack := c.Message.Acknowledge
		if len(ack.UUID) != 16 || ack.AgentID.Value == "" || !slices.Contains(launches(proxy), ack.TaskID.Value) {
			t.Errorf("ACKNOWLEDGE is %+v, want agent, task and uuid of an update", ack)
		}
		if string(ack.UUID) == string(uuid) {
			again++
		}
	}
	if again < 2 {
		t.Errorf("the update whose acknowledgement was lost is acknowledged %d times, want again", again)
	}
}
