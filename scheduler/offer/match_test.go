package offer

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tfmesos/shared/tf"
)

func resources(t *rapid.T, what string, most int64) Resources {
	milli := func(name string, steps ...int64) Milli {
		return Milli(rapid.SampledFrom(steps).Draw(t, what+" "+name) * most)
	}
	return Resources{CPUs: milli("cpus", 0, 1, 100, 500, 1000, 1001, 2000), Mem: milli("mem", 0, 1000, 32000, 512000, 512001, 1024000),
		Disk: milli("disk", 0, 0, 0, 1000), GPUs: milli("gpus", 0, 0, 1000, 2000)}
}

// drawParts splits an amount over what is reserved and what is not.
func drawParts(t *rapid.T) []Part {
	parts := []Part{{Resources: resources(t, "offered", 4)}}
	if rapid.Bool().Draw(t, "reserved too") {
		parts = append(parts, Part{"reserved", resources(t, "reserved", 4)})
	}
	return parts
}

func gang(asks []Ask) Gang { return Gang{Asks: asks} }

func drawOffers(t *rapid.T) []Offer {
	var offers []Offer
	for i := range rapid.IntRange(0, 8).Draw(t, "offers") {
		agent := rapid.SampledFrom([]string{"a1", "a2", "a3", "a4"}).Draw(t, "agent")
		offers = append(offers, Offer{ID: fmt.Sprintf("o%d", i), AgentID: agent, Hostname: agent + ".lab", Address: "ip of " + agent,
			Role: rapid.SampledFrom([]string{"*", "*", "tf"}).Draw(t, "role"), Parts: drawParts(t)})
	}
	return offers
}

func drawAsks(t *rapid.T) []Ask {
	var asks []Ask
	for _, job := range []string{tf.PS, tf.Worker} {
		need := resources(t, job, 1)
		for i := range rapid.IntRange(0, 12).Draw(t, job) {
			asks = append(asks, Ask{Task: tf.TaskName{JobName: job, TaskIndex: i}, Resources: need})
		}
	}
	return asks
}

func TestKnownFault020EachOfferIsAnsweredExactlyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offers := drawOffers(t)
		m := Match(offers, gang(drawAsks(t)))
		answered := slices.Concat(m.Holds, m.Spares, m.Useless)
		for _, a := range m.Accepts {
			answered = append(answered, a.OfferIDs...)
		}
		var want []string
		for _, o := range offers {
			want = append(want, o.ID)
		}
		slices.Sort(answered)
		if !slices.Equal(answered, want) {
			t.Fatalf("answered are %v of %v", answered, want)
		}
	})
}

func TestAGangIsPlacedWholeOrNotAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asks := drawAsks(t)
		m := Match(drawOffers(t), gang(asks))
		placed := map[tf.TaskName]int{}
		for _, a := range m.Accepts {
			if len(a.Tasks) == 0 {
				t.Fatalf("%v are accepted for no task", a.OfferIDs)
			}
			for _, task := range a.Tasks {
				placed[task.Task]++
			}
		}
		switch {
		case len(m.Unmet) > 0 && len(m.Accepts) > 0:
			t.Fatalf("%v are launched although %v wait", slices.Collect(maps.Keys(placed)), m.Unmet)
		case len(m.Unmet) > 0:
			checkUnmet(t, m.Unmet, asks)
		default:
			for _, ask := range asks {
				if placed[ask.Task] != 1 {
					t.Fatalf("%s has %d places, want 1", ask.Task, placed[ask.Task])
				}
			}
			if len(placed) != len(asks) {
				t.Fatalf("placed are %v, asked was for %d tasks", placed, len(asks))
			}
		}
	})
}

func checkUnmet(t *rapid.T, unmet []tf.TaskName, asks []Ask) {
	seen := map[tf.TaskName]bool{}
	for _, u := range unmet {
		if seen[u] || !slices.ContainsFunc(asks, func(a Ask) bool { return a.Task == u }) {
			t.Fatalf("%s waits twice, or did not ask", u)
		}
		seen[u] = true
	}
}

func TestKnownFault025And027AnAcceptStaysWithinItsOffersOfOneAgent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offers, asks := drawOffers(t), drawAsks(t)
		for _, a := range Match(offers, gang(asks)).Accepts {
			left := map[string]Resources{}
			for _, o := range offers {
				if !slices.Contains(a.OfferIDs, o.ID) {
					continue
				}
				if o.AgentID != a.AgentID || o.Role != a.Role || o.Hostname != a.Hostname || o.Address != a.Address {
					t.Fatalf("%v accepts %v, which is of another agent or role", a, o)
				}
				for _, p := range o.Parts {
					left[p.Reservation] = left[p.Reservation].Add(p.Resources)
				}
			}
			for _, task := range a.Tasks {
				ask := asks[slices.IndexFunc(asks, func(ask Ask) bool { return ask.Task == task.Task })]
				if got := Sum(task.Parts); got != ask.Resources {
					t.Fatalf("%s asked for %v and is given %v", task.Task, ask.Resources, got)
				}
				for _, p := range task.Parts {
					if !left[p.Reservation].Contains(p.Resources) {
						t.Fatalf("%v uses %v of %q, of which there is only %v", a, p.Resources, p.Reservation, left[p.Reservation])
					}
					left[p.Reservation] = left[p.Reservation].Sub(p.Resources)
				}
			}
		}
	})
}

func TestEqualTasksArePlacedWheneverThereIsRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offers, need := drawOffers(t), resources(t, "need", 1)
		room := 0
		for _, p := range group(offers) {
			for free := p.whole; free.Contains(need) && room < 100; free = free.Sub(need) {
				room++
			}
		}
		var asks []Ask
		for i := range rapid.IntRange(0, 20).Draw(t, "tasks") {
			asks = append(asks, Ask{Task: tf.TaskName{JobName: tf.Worker, TaskIndex: i}, Resources: need})
		}
		if m := Match(offers, gang(asks)); (len(m.Unmet) == 0) != (len(asks) <= room) {
			t.Fatalf("there is room for %d of %v and %d ask, but waiting are %v", room, need, len(asks), m.Unmet)
		}
	})
}

func TestMatchDependsOnNothingButWhatIsOfferedAndAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offers, asks := drawOffers(t), drawAsks(t)
		sameOffers, sameAsks := slices.Clone(offers), slices.Clone(asks)
		first := Match(offers, gang(asks))
		if diff := cmp.Diff(sameOffers, offers) + cmp.Diff(sameAsks, asks); diff != "" {
			t.Fatalf("Match changed what it was given:\n%s", diff)
		}
		if diff := cmp.Diff(first, Match(offers, gang(asks))); diff != "" {
			t.Fatalf("the second time it is another answer:\n%s", diff)
		}
		if diff := cmp.Diff(first, Match(offers, gang(rapid.Permutation(asks).Draw(t, "order")))); diff != "" {
			t.Fatalf("the order in which tasks ask makes a difference:\n%s", diff)
		}
	})
}

func TestKnownFault028TasksWithoutGPUsDoNotTakeTheRoomOfThoseWithThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offers := drawOffers(t)
		var with, all []Ask
		for i := range rapid.IntRange(1, 6).Draw(t, "tasks with gpus") {
			with = append(with, Ask{Task: tf.TaskName{JobName: tf.Worker, TaskIndex: i}, Resources: Resources{CPUs: 1000, Mem: 1000, GPUs: 1000}})
		}
		all = slices.Clone(with)
		for i := range rapid.IntRange(1, 6).Draw(t, "tasks without") {
			all = append(all, Ask{Task: tf.TaskName{JobName: tf.PS, TaskIndex: i}, Resources: Resources{CPUs: 4000, Mem: 512000}})
		}
		if len(Match(offers, gang(with)).Unmet) > 0 {
			return
		}
		for _, u := range Match(offers, gang(all)).Unmet {
			if u.JobName == tf.Worker {
				t.Fatalf("%s has a place when the tasks without gpus do not ask, and waits when they do", u)
			}
		}
	})
}
