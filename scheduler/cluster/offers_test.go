package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// run is a cluster whose calls are gathered.
type run struct {
	*testing.T
	c     *Cluster
	now   time.Time
	calls []Call
}

func newRun(t *testing.T, jobs ...Job) *run {
	r := &run{T: t, now: time.Unix(1_000_000, 0)}
	for i := range jobs {
		jobs[i].Resources = offer.Resources{CPUs: 1000, Mem: 1024000}
	}
	r.c = New(Spec{Name: "ctr", Deadlines: DefaultDeadlines, Jobs: jobs}, 1, "abc123", Settings{Secret: []byte("s"), Grace: 20 * time.Second, OrphanTimeout: 15 * time.Minute}, r.now)
	r.tell(Subscribed{FrameworkID: "F", Master: "m:5050"})
	return r
}

// tell decides on events, one after the other, and returns the calls they led to.
func (r *run) tell(events ...Event) []Call {
	var calls []Call
	for _, ev := range events {
		r.c = r.c.Clone()
		calls = append(calls, Decide(r.c, ev, r.now).Calls...)
	}
	r.calls = append(r.calls, calls...)
	return calls
}

func (r *run) pass(d time.Duration) []Call {
	r.now = r.now.Add(d)
	return r.tell(Woken{})
}

func offerOf(id, agent string, cpus, mem float64) offer.Offer {
	return offer.Offer{ID: id, AgentID: agent, Hostname: agent + ".lab", Address: "10.0.0.1", Role: "*",
		Parts: []offer.Part{{Resources: offer.Resources{CPUs: offer.FromFloat(cpus), Mem: offer.FromFloat(mem)}}}}
}

// only returns the calls of one kind.
func only[C Call](calls []Call) (some []C) {
	for _, call := range calls {
		if c, ok := call.(C); ok {
			some = append(some, c)
		}
	}
	return some
}

func TestKnownFault020UselessOffersGoAtOnceAndNoneIsAnsweredTwice(t *testing.T) {
	r := newRun(t, Job{Name: tf.Worker, Num: 3})
	rack, err := offer.Attributes("rack:r1")
	if err != nil {
		t.Fatal(err)
	}
	r.c.Spec.Constraints = rack
	answers := map[string]int{}
	for round := range 2 { // while three wait, and while none does
		var offers []offer.Offer
		for i := range 20 {
			o := offerOf(fmt.Sprintf("o%d-%d", round, i), fmt.Sprintf("a%d", i), 1, 1024)
			o.Attributes = []offer.Attribute{{Name: "rack", Values: []string{[]string{"r1", "r2"}[i%2]}}}
			if i%4 == 0 {
				o.Parts[0].Resources.CPUs = 100
			}
			offers = append(offers, o)
		}
		for _, call := range r.tell(Offered{Offers: offers}) {
			switch call := call.(type) {
			case Accept:
				for _, id := range call.OfferIDs {
					answers[id]++
				}
			case Decline:
				for _, id := range call.OfferIDs {
					answers[id]++
				}
			}
		}
		for _, o := range offers {
			if answers[o.ID] != 1 {
				t.Errorf("round %d: offer %s has %d answers, want 1 at once", round, o.ID, answers[o.ID])
			}
		}
	}
	if n := len(only[Accept](r.calls)); n != 3 {
		t.Errorf("%d agents are used, want 3", n)
	}
}

func TestKnownFault021WhatIsNotNeededIsDeclinedForLong(t *testing.T) {
	r := newRun(t, Job{Name: tf.Worker, Num: 1})
	calls := r.tell(Offered{Offers: []offer.Offer{offerOf("small", "a1", 0.1, 32)}}, Offered{Offers: []offer.Offer{offerOf("fits", "a2", 4, 4096), offerOf("surplus", "a3", 4, 4096)}},
		Offered{Offers: []offer.Offer{offerOf("late", "a4", 4, 4096)}})
	if accepts := only[Accept](calls); len(accepts) != 1 || accepts[0].RefuseSeconds < 120 {
		t.Errorf("the rest of the offer is refused as in %+v, want 120 s at least", accepts)
	}
	for _, d := range only[Decline](calls) {
		if d.RefuseSeconds < 120 {
			t.Errorf("%v are declined for %g s, want 120 at least", d.OfferIDs, d.RefuseSeconds)
		}
	}
	if n := len(only[Decline](calls)); n != 3 {
		t.Errorf("there are %d DECLINEs, want 3: too small, surplus, and while nothing waits", n)
	}
	if n := len(only[Suppress](calls)); n != 1 {
		t.Errorf("there are %d SUPPRESS calls, want 1 (C40)", n)
	}
}

func TestKnownFault022ManyFailuresLeadToFewRevives(t *testing.T) {
	r := newRun(t, Job{Name: tf.Worker, Num: 10})
	r.tell(Offered{Offers: []offer.Offer{offerOf("o", "a1", 100, 102400)}})
	r.calls = nil
	begun := r.now
	for i := range 50 {
		r.pass(200 * time.Millisecond)
		task := r.c.Tasks[i%10]
		r.tell(Updated{TaskID: task.TaskID, State: TaskStateFailed, Reason: "AGENT_REMOVED", UUID: []byte("u")})
		r.tell(Offered{Offers: []offer.Offer{offerOf(fmt.Sprintf("o%d", i), "a1", 100, 102400)}})
	}
	if n, most := len(only[Revive](r.calls)), int(r.now.Sub(begun)/time.Second)+1; n > most || n == 0 {
		t.Errorf("50 failures in 10 s led to %d REVIVEs, want 1 to %d", n, most)
	}
}

func TestC40WhatWaitsNewlyIsNotHiddenByFiltersThatWereSetForOthers(t *testing.T) {
	r := newRun(t, Job{Name: tf.Worker, Num: 2})
	r.tell(Offered{Offers: []offer.Offer{offerOf("o", "a1", 2, 2048)}})
	for i := range 2 {
		if calls := r.tell(Updated{TaskID: r.c.Tasks[i].TaskID, State: TaskStateDropped, UUID: []byte("u")}); len(only[Revive](calls)) != 1 {
			t.Errorf("task %d is lost, and the calls are %+v, want a REVIVE among them", i, calls)
		}
		r.pass(2 * time.Second)
	}
}

func TestKnownFault023AVoidOfferIsNoFailureOfTheJob(t *testing.T) {
	for _, state := range []State{TaskStateLost, TaskStateDropped} {
		r := newRun(t, Job{Name: tf.Worker, Num: 1, Command: []string{"train"}})
		for i := range 5 {
			if calls := r.tell(Offered{Offers: []offer.Offer{offerOf(fmt.Sprintf("o%d", i), "a1", 4, 4096)}}); len(only[Accept](calls)) != 1 {
				t.Fatalf("%s: after %d void offers the next is not used: %+v", state, i, calls)
			}
			r.tell(Updated{TaskID: r.c.Tasks[0].TaskID, AgentID: "a1", State: state, Reason: "INVALID_OFFERS"})
			if r.c.Phase != PhaseWaiting || r.c.Tasks[0].Failed {
				t.Fatalf("%s: a void offer ended the run: %s", state, r.c.Why)
			}
			r.pass(time.Second)
		}
		r.tell(Offered{Offers: []offer.Offer{offerOf("good", "a1", 4, 4096)}})
		r.tell(Updated{TaskID: r.c.Tasks[0].TaskID, AgentID: "a1", State: TaskStateRunning, UUID: []byte("u")})
		if task := r.c.Tasks[0]; task.Phase != TaskStarting || task.Launch != 6 {
			t.Errorf("%s: the task is %s at launch %d, want it running at launch 6", state, task.Phase, task.Launch)
		}
	}
}

func TestKnownFault024ARescindedOfferIsNeverUsed(t *testing.T) {
	r := newRun(t, Job{Name: tf.Worker, Num: 2})
	r.tell(Offered{Offers: []offer.Offer{offerOf("o1", "a1", 1, 1024)}}, Rescinded{OfferID: "o1"}, Rescinded{OfferID: "nobody's"})
	calls := r.tell(Offered{Offers: []offer.Offer{offerOf("o2", "a1", 2, 2048)}})
	if accepts := only[Accept](calls); len(accepts) != 1 || !slices.Equal(accepts[0].OfferIDs, []string{"o2"}) {
		t.Errorf("ACCEPT is %+v, want the offer that was not rescinded", accepts)
	}
	for _, d := range only[Decline](r.calls) {
		if slices.Contains(d.OfferIDs, "o1") {
			t.Error("the rescinded offer is declined")
		}
	}
}

func TestC20AndC21ANewSubscriptionBeginsWithoutOffersAndFilters(t *testing.T) {
	r := newRun(t, Job{Name: tf.Worker, Num: 2})
	r.tell(Offered{Offers: []offer.Offer{offerOf("old", "a1", 1, 1024)}})
	r.tell(Subscribed{FrameworkID: "F", Master: "n:5050"}) // a failover that nobody saw as a disconnection
	calls := r.tell(Offered{Offers: []offer.Offer{offerOf("new", "a2", 2, 2048)}})
	if accepts := only[Accept](calls); len(accepts) != 1 || !slices.Equal(accepts[0].OfferIDs, []string{"new"}) {
		t.Errorf("C20: ACCEPT is %+v, want only offers of this subscription", accepts)
	}
	calls = r.tell(Disconnected{Why: "gone"}, Subscribed{FrameworkID: "F", Master: "n:5050"})
	if len(only[Suppress](calls)) != 1 {
		t.Errorf("C21: the master has forgotten SUPPRESS, and is told %+v", calls)
	}
}

func TestC35AndC36TheSameOfferTwiceIsOneOffer(t *testing.T) {
	r := newRun(t, Job{Name: tf.Worker, Num: 2})
	twice := offerOf("o1", "a1", 1, 1024)
	calls := r.tell(Offered{Offers: []offer.Offer{twice, twice}}, Offered{Offers: []offer.Offer{twice}})
	if len(only[Accept](calls)) > 0 {
		t.Fatalf("two tasks are launched on one offer that has room for one: %+v", calls)
	}
	calls = r.tell(Offered{Offers: []offer.Offer{offerOf("o2", "a1", 1, 1024)}})
	if accepts := only[Accept](calls); len(accepts) != 1 || !slices.Equal(accepts[0].OfferIDs, []string{"o1", "o2"}) || len(accepts[0].Launches) != 2 {
		t.Errorf("ACCEPT is %+v, want both offers of the agent once, and both tasks", accepts)
	}
}

// TestTwoGangsThatHoldHalfEachDoNotStarve lets two gangs with secrets of their own compete for two agents, both of which each needs.
// Mesos gives what is free to whoever has no filter on it, by turns.
func TestTwoGangsThatHoldHalfEachDoNotStarve(t *testing.T) {
	for seed := range 50 {
		var gangs []*run
		for i := range 2 {
			r := newRun(t, Job{Name: tf.Worker, Num: 2})
			r.c.Settings.Secret = fmt.Appendf(nil, "%d/%d", seed, i)
			gangs = append(gangs, r)
		}
		free := map[string][2]time.Time{"a1": {}, "a2": {}} // agent: until when which gang refuses it
		turn, ids := 0, 0
		won := func() bool { return gangs[0].c.Phase != PhaseWaiting || gangs[1].c.Phase != PhaseWaiting }
		give := func() {
			for _, agent := range []string{"a1", "a2"} {
				refused, idle := free[agent]
				for range 2 {
					turn++
					if g := turn % 2; idle && !refused[g].After(gangs[g].now) {
						delete(free, agent)
						ids++
						gangs[g].tell(Offered{Offers: []offer.Offer{offerOf(fmt.Sprintf("%s/%d", agent, ids), agent, 1, 1024)}})
						break
					}
				}
			}
		}
		for second := 0; !won(); second++ {
			if second > 300 {
				t.Fatalf("seed %d: after 5 minutes neither gang runs", seed)
			}
			give()
			for g, r := range gangs {
				for _, d := range only[Decline](r.pass(time.Second)) {
					for _, id := range d.OfferIDs {
						agent, _, _ := strings.Cut(id, "/")
						var refused [2]time.Time
						refused[g] = r.now.Add(time.Duration(d.RefuseSeconds * float64(time.Second)))
						free[agent] = refused
					}
				}
			}
		}
	}
}

// reports is what Mesos says of a task's address: that of the agent in the offer, and those of the container in its updates.
type reports struct {
	name, agent string
	first, then []string
	want        string // in cluster_def
}

func TestKnownFault084PeersAreToldAnAddressRatherThanAName(t *testing.T) {
	checkAddresses(t, []reports{
		{"an agent whose name nobody knows", "10.0.0.7", nil, []string{"10.0.0.7"}, "10.0.0.7:4001"},
		{"no address, only the agent's", "10.0.0.8", nil, nil, "10.0.0.8:4001"},
		{"neither, only the agent's name", "", nil, nil, "unresolvable.invalid:4001"},
		{"no address, but text", "10.0.0.8", nil, []string{"3f2a9c", ""}, "10.0.0.8:4001"},
	})
}

func TestKnownFault085OfSeveralAddressesTheSameIsTakenEachTime(t *testing.T) {
	checkAddresses(t, []reports{
		{"a network of its own", "10.0.0.7", nil, []string{"172.17.0.2"}, "172.17.0.2:4001"},
		{"two networks: the first", "10.0.0.7", nil, []string{"10.0.0.9", "172.17.0.2"}, "10.0.0.9:4001"},
		{"IPv4 before IPv6", "10.0.0.7", nil, []string{"fd00::7", "10.0.0.9"}, "10.0.0.9:4001"},
		{"only IPv6", "", nil, []string{"fd00::7"}, "[fd00::7]:4001"},
		{"an update without it after one with it", "10.0.0.7", []string{"10.0.0.9"}, nil, "10.0.0.9:4001"},
	})
}

func checkAddresses(t *testing.T, cases []reports) {
	t.Helper()
	for _, c := range cases {
		r := newRun(t, Job{Name: tf.Worker, Num: 1})
		o := offerOf("o", "a1", 1, 1024)
		o.Hostname, o.Address = "unresolvable.invalid", c.agent
		r.tell(Offered{Offers: []offer.Offer{o}})
		id := r.c.Tasks[0].TaskID
		r.tell(Updated{TaskID: id, State: TaskStateStarting, UUID: []byte("s"), Addresses: c.first}, Updated{TaskID: id, State: TaskStateRunning, UUID: []byte("r"), Addresses: c.then},
			Registered{TaskID: id, Registration: callback.Registration{Port: 4001, Hostname: "3f2a9c"}})
		if got := fmt.Sprint(r.c.ClusterDef[tf.Worker]); got != "["+c.want+"]" {
			t.Errorf("%s: cluster_def has %s, want %s", c.name, got, c.want)
		}
	}
}

func TestKnownFault093NobodyIsLeftWithTheAddressOfATaskThatWasReplaced(t *testing.T) {
	r := newRun(t, Job{Name: tf.Worker, Num: 2})
	r.tell(Offered{Offers: []offer.Offer{offerOf("o1", "a1", 2, 2048)}})
	lost := r.c.Tasks[1].TaskID
	r.tell(Updated{TaskID: lost, State: TaskStateDropped, UUID: []byte("d")})
	again := offerOf("o2", "a2", 1, 1024)
	again.Address = "10.0.0.2"
	r.tell(Offered{Offers: []offer.Offer{again}})
	for i, ip := range []string{"10.0.0.1", "10.0.0.2"} {
		r.tell(Updated{TaskID: r.c.Tasks[i].TaskID, State: TaskStateRunning, UUID: []byte("r"), Addresses: []string{ip}})
		r.tell(Registered{TaskID: lost, Registration: callback.Registration{Port: 4999}})
		r.tell(Registered{TaskID: r.c.Tasks[i].TaskID, Registration: callback.Registration{Port: 4001}})
	}
	if got, want := fmt.Sprint(r.c.ClusterDef[tf.Worker]), "[10.0.0.1:4001 10.0.0.2:4001]"; got != want {
		t.Fatalf("cluster_def has %s, want the new place of worker:1: %s", got, want)
	}
	// With cluster_def out, others have the address: a task that is lost now takes the run with it, rather than leave them waiting.
	r.tell(Updated{TaskID: r.c.Tasks[1].TaskID, State: TaskStateFailed, Reason: "AGENT_REMOVED", UUID: []byte("f")})
	if r.c.Phase != PhaseEnding || r.c.ExitCode != ExitJobFailed {
		t.Errorf("worker:1 is gone, and the run is %s (%s)", r.c.Phase, r.c.Why)
	}
}
