package cluster

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// world is a careless Mesos with careless sidecars: it sends any event about anything that was ever launched or offered,
// in any order and more than once, and watches what the cluster makes of it.
type world struct {
	c         *Cluster
	now       time.Time
	offers    map[string]offer.Offer // may still be used
	offeredAt map[string]time.Time
	revivedAt time.Time
	everUsed  map[string]bool // offers that were accepted, declined or void
	launched  []Launch
	dead      map[string]bool // launches that Mesos has given a terminal state
	nextID    int
}

// TestNoSequenceOfEventsBreaksTheCluster checks after every event what must always hold.
func TestNoSequenceOfEventsBreaksTheCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: time.Unix(1_000_000, 0), offers: map[string]offer.Offer{}, offeredAt: map[string]time.Time{}, everUsed: map[string]bool{}, dead: map[string]bool{}}
		perRack, err := offer.ParseConstraint("rack max_per 4")
		if err != nil {
			t.Fatal(err)
		}
		spec := Spec{Name: "ctr", Deadlines: DefaultDeadlines, Jobs: []Job{
			{Name: tf.Chief, Num: rapid.IntRange(0, 1).Draw(t, "chief"), Resources: offer.Resources{CPUs: 500, Mem: 512000}, Command: []string{"train"}},
			{Name: tf.Worker, Num: rapid.IntRange(1, 12).Draw(t, "workers"), Resources: offer.Resources{CPUs: 1000, Mem: 1024000}},
			{Name: "board", Num: rapid.IntRange(0, 1).Draw(t, "board"), Resources: offer.Resources{CPUs: 100, Mem: 1000}, Command: []string{"tb"}, Side: true},
		}}
		if rapid.Bool().Draw(t, "constrained") {
			spec.Jobs[1].Constraints = []offer.Constraint{perRack}
		}
		w.c = New(spec, 1, "abc123", Settings{Secret: []byte("s"), Grace: 20 * time.Second, OrphanTimeout: 15 * time.Minute}, w.now)
		for range rapid.IntRange(1, 120).Draw(t, "events") {
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 500, 2000, 31000}).Draw(t, "ms")) * time.Millisecond)
			w.step(t, w.draw(t))
		}
	})
}

func (w *world) draw(t *rapid.T) Event {
	kind := rapid.SampledFrom([]string{"offer", "offer", "run", "run", "run", "port", "port", "port", "phase", "phase", "state", "subscribed", "subscribed", "disconnected",
		"rescind", "woken", "woken", "agent", "failed", "resume", "stop"}).Draw(t, "kind")
	switch kind {
	case "subscribed":
		return Subscribed{FrameworkID: "F", Master: "m:5050"}
	case "disconnected":
		return Disconnected{Why: "gone"}
	case "offer":
		return w.drawOffers(t)
	case "rescind":
		return Rescinded{OfferID: fmt.Sprintf("o%d", rapid.IntRange(0, w.nextID+1).Draw(t, "offer"))}
	case "resume":
		w.c.Resume(w.c.Settings, w.now)
		for id := range w.offers {
			w.void(id)
		}
	case "agent":
		return AgentLost{AgentID: "a1"}
	case "stop":
		if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
			return Stopped{ExitCode: ExitInterrupted, Reason: "interrupted", Now: rapid.Bool().Draw(t, "now")}
		}
	}
	if len(w.launched) == 0 {
		return Woken{}
	}
	l := rapid.SampledFrom(w.launched).Draw(t, "launch")
	switch kind {
	case "run":
		return w.update(t, l.TaskID, TaskStateRunning)
	case "state":
		return w.update(t, l.TaskID, rapid.SampledFrom([]State{TaskStateStaging, TaskStateStarting, TaskStateKilling, TaskStateFinished, TaskStateFailed, TaskStateKilled,
			TaskStateError, TaskStateDropped, TaskStateGone, TaskStateLost, TaskStateUnreachable, TaskStateGoneByOperator, TaskStateUnknown, "TASK_ODD"}).Draw(t, "state"))
	case "port":
		return Registered{TaskID: l.TaskID, Registration: callback.Registration{Port: 4000 + len(w.launched)*20 + rapid.IntRange(0, 1).Draw(t, "port")}}
	case "phase":
		return PhaseReported{TaskID: l.TaskID, Report: callback.PhaseReport{At: w.now, ExitCode: rapid.SampledFrom([]int{0, 0, 1, 137}).Draw(t, "exit"), Cause: callback.CauseProgram,
			Phase: rapid.SampledFrom([]callback.Phase{callback.PhasePythonStarted, callback.PhaseImported, callback.PhaseServing, callback.PhaseServing, callback.PhaseTraining, callback.PhaseTraining, callback.PhaseEnded}).Draw(t, "phase")}}
	case "failed":
		return CallFailed{Call: Accept{Launches: []Launch{l}}, Why: "timeout"}
	}
	return Woken{}
}

func (w *world) drawOffers(t *rapid.T) Event {
	var ev Offered
	for range rapid.IntRange(1, 3).Draw(t, "offers") {
		w.nextID++
		o := offer.Offer{ID: fmt.Sprintf("o%d", w.nextID), AgentID: rapid.SampledFrom([]string{"a1", "a2"}).Draw(t, "agent"), Hostname: "h", Address: "10.0.0.1", Role: "*",
			Parts:      []offer.Part{{Resources: offer.Resources{CPUs: offer.Milli(rapid.IntRange(0, 8000).Draw(t, "cpus")), Mem: offer.Milli(rapid.IntRange(0, 16_000_000).Draw(t, "mem"))}}},
			Attributes: []offer.Attribute{{Name: "rack", Values: []string{rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack")}}}}
		w.offers[o.ID], w.offeredAt[o.ID] = o, w.now
		ev.Offers = append(ev.Offers, o)
	}
	return ev
}

func (w *world) update(t *rapid.T, id string, state State) Event {
	if w.dead[id] && !state.Terminal() { // Mesos does not bring the dead back
		state = TaskStateFailed
	}
	ev := Updated{TaskID: id, AgentID: "a1", State: state, Addresses: []string{"10.0.0.1"}, Reason: rapid.SampledFrom([]string{"", "INVALID_OFFERS", "AGENT_REMOVED"}).Draw(t, "reason")}
	if state == TaskStateLost && ev.Reason == "INVALID_OFFERS" || state.Terminal() {
		w.dead[id] = true
	} else if state == TaskStateLost && ev.Reason != "" {
		ev.Reason = ""
	}
	if rapid.Bool().Draw(t, "uuid") {
		ev.UUID = []byte("0123456789abcdef")
	}
	return ev
}

func (w *world) step(t *rapid.T, ev Event) {
	switch ev := ev.(type) {
	case Rescinded:
		w.void(ev.OfferID)
	case Subscribed, Disconnected:
		for id := range w.offers {
			w.void(id)
		}
	}
	first, second := w.c.Clone(), w.c.Clone()
	work, again := Decide(first, ev, w.now), Decide(second, ev, w.now)
	if !reflect.DeepEqual(work, again) || !reflect.DeepEqual(first, second) {
		t.Fatalf("%#v: the same input gave two outputs:\n%+v\n%+v", ev, work, again)
	}
	w.c = first
	acknowledged := 0
	for _, call := range work.Calls {
		w.check(t, call)
		if _, ok := call.(Acknowledge); ok {
			acknowledged++
		}
	}
	if update, ok := ev.(Updated); ok && acknowledged != min(len(update.UUID), 1) {
		t.Fatalf("an update with uuid %q was acknowledged %d times", update.UUID, acknowledged)
	}
	if !work.Wake.IsZero() && !work.Wake.After(w.now) {
		t.Fatalf("%T: the loop would spin: wake at %s, now %s, phase %s, %s", ev, work.Wake, w.now, w.c.Phase, w.c.Why)
	}
	w.checkClusterDef(t)
	w.checkOffers(t)
}

// checkOffers: no offer is forgotten, and none is kept from others for long.
func (w *world) checkOffers(t *rapid.T) {
	held := map[string]bool{}
	for _, o := range w.c.Offers {
		held[o.ID] = true
		if age := w.now.Sub(w.offeredAt[o.ID]); age >= holdFor.Max && w.c.Connected {
			t.Fatalf("offer %s is kept for %s", o.ID, age)
		}
	}
	for id := range w.offers {
		if !held[id] && w.c.Connected && !w.c.Ended() {
			t.Fatalf("offer %s was neither used nor declined nor kept", id)
		}
	}
	if waiting := w.c.Phase == PhaseWaiting; len(held) > 0 && !waiting && w.c.Phase != PhaseEnding {
		t.Fatalf("%d offers are kept although nothing waits", len(held))
	}
}

func (w *world) void(id string) {
	if _, there := w.offers[id]; there {
		delete(w.offers, id)
		w.everUsed[id] = true
	}
}

func (w *world) check(t *rapid.T, call Call) {
	switch call := call.(type) {
	case Revive:
		if pause := w.now.Sub(w.revivedAt); pause < reviveEvery {
			t.Fatalf("two REVIVEs within %s", pause)
		}
		w.revivedAt = w.now
	case Decline:
		for _, id := range call.OfferIDs {
			w.use(t, id)
		}
	case Accept:
		var offered, asked offer.Resources
		for _, id := range call.OfferIDs {
			offered = offered.Add(offer.Sum(w.use(t, id).Parts))
		}
		for _, l := range call.Launches {
			asked = asked.Add(offer.Sum(l.Parts))
			for _, earlier := range w.launched {
				if earlier.TaskID == l.TaskID {
					t.Fatalf("task_id %s was used twice", l.TaskID)
				}
				if earlier.Task == l.Task && !w.dead[earlier.TaskID] {
					t.Fatalf("%s has two live launches: %s and %s", l.Task, earlier.TaskID, l.TaskID)
				}
			}
			w.launched = append(w.launched, l)
		}
		if !offered.Contains(asked) {
			t.Fatalf("launched %s on an offer of %s", asked, offered)
		}
	case Reconcile:
		for _, ref := range call.Tasks {
			if task := w.c.Launch(ref.TaskID); task == nil {
				t.Fatalf("asked about %s, which is no current launch", ref.TaskID)
			}
		}
	}
}

func (w *world) use(t *rapid.T, id string) offer.Offer {
	o, there := w.offers[id]
	if !there || w.everUsed[id] {
		t.Fatalf("offer %s was answered although it is void or was answered before", id)
	}
	w.void(id)
	return o
}

func (w *world) checkClusterDef(t *rapid.T) {
	if w.c.ClusterDef == nil {
		return
	}
	for _, job := range w.c.Spec.Jobs {
		want := job.Num
		if job.Side {
			want = 0
		}
		if got := len(w.c.ClusterDef[job.Name]); got != want {
			t.Fatalf("cluster_def has %d of %d tasks of job %s", got, want, job.Name)
		}
		for i, address := range w.c.ClusterDef[job.Name] {
			task := w.c.Task(tf.TaskName{JobName: job.Name, TaskIndex: i})
			if tf.JoinAddress(task.Address, task.Port) != address && task.Live() {
				t.Fatalf("cluster_def has %s at %s, but it is at %s:%d", task.Name, address, task.Address, task.Port)
			}
		}
	}
}
