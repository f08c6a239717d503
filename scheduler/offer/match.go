package offer

import (
	"slices"

	"tfmesos/shared/tf"
)

// Offer is an offer of one agent, as far as this package decides on it. Parts hold only what tasks of ours may use.
type Offer struct {
	ID         string
	AgentID    string
	Hostname   string
	Address    string // the agent's IP address, empty if Mesos did not say
	Role       string // the role the resources are allocated to
	Parts      []Part
	Attributes []Attribute
}

// Ask is what one task needs.
type Ask struct {
	Task tf.TaskName
	// Part of the job that the task is in. Tasks of one part of one job ask for the same.
	Part      int
	Resources Resources
	// Constraints of that part: unique and max_per count its tasks.
	Constraints []Constraint
	// Spread: rather where few tasks of the job are, than where the least is left over.
	Spread bool
}

// Gang is what is to be placed together.
type Gang struct {
	Asks []Ask
	// Constraints hold for each task; unique and max_per count all tasks of the cluster.
	Constraints []Constraint
	// Running are the tasks of the cluster that have their places already.
	Running []Running
}

// Running is a task with its place.
type Running struct {
	Task    tf.TaskName
	Part    int // of the job
	AgentID string
	// Values are what the agent has under the names that constraints count by, see Grouped.
	Values map[string]string
}

// Placed is a task with the parts of the offers that it is to use.
type Placed struct {
	Task  tf.TaskName
	Parts []Part
}

// Accept is the use of offers of a single agent and role for some tasks (a call that mixes agents is refused as a
// whole: Mesos' validation::offer::validate).
type Accept struct {
	OfferIDs []string
	AgentID  string
	Hostname string
	Address  string
	Role     string
	Tasks    []Placed
	// Values are what the agent has under the names that constraints count by.
	Values map[string]string
}

// Matching is the answer of Match. Each offer is in exactly one of Accepts, Holds, Spares and Useless.
type Matching struct {
	Accepts []Accept
	// Holds are offers that have a place for some tasks, while others have none: a gang starts whole or not at all, so Accepts
	// is empty then.
	Holds []string
	// Spares could hold a task, and are not needed.
	Spares []string
	// Useless are those that cannot hold any task, however much else there is.
	Useless []string
	// Unmet are the tasks without a place.
	Unmet []tf.TaskName
}

// Match finds a place for every ask. Big asks are placed first, each where the least is left over; tasks without gpus keep
// off agents that offer some while another agent has room. Big is first by memory; where the gang does not fit so, by CPUs,
// since an agent that is rich in one and poor in the other may hold what the first order spoils, and then the asks that may go
// to the fewest agents come first. Spreading is given up before the gang is.
func Match(offers []Offer, gang Gang) Matching {
	var first *board
	for _, spread := range []bool{true, false} {
		if spread && !slices.ContainsFunc(gang.Asks, func(a Ask) bool { return a.Spread }) {
			continue
		}
		for _, by := range []order{byMem, byCPUs, byChoice} {
			b := newBoard(offers, gang)
			if b.place(by, spread); len(b.unmet) == 0 {
				return b.matching()
			}
			if first == nil {
				first = b
			}
			if !first.couldFit() {
				return first.matching()
			}
		}
	}
	return first.matching()
}

// couldFit reports whether the places have as much in all as the gang asks for.
func (b *board) couldFit() bool {
	var have, want Resources
	for _, p := range b.places {
		have = have.Add(p.whole)
	}
	for _, ask := range b.gang.Asks {
		want = want.Add(ask.Resources)
	}
	return have.Contains(want)
}

func (b *board) matching() Matching {
	m := Matching{Unmet: b.unmet}
	for i := range b.places {
		p := &b.places[i]
		switch {
		case len(p.tasks) > 0 && len(b.unmet) > 0:
			m.Holds = append(m.Holds, p.OfferIDs...)
		case len(p.tasks) > 0:
			m.Accepts = append(m.Accepts, b.accept(p))
		case b.couldHold(i):
			m.Spares = append(m.Spares, p.OfferIDs...)
		default:
			m.Useless = append(m.Useless, p.OfferIDs...)
		}
	}
	return m
}

func (b *board) accept(p *place) Accept {
	a := p.Accept
	a.Values = Grouped(p.offer, b.gang.counting())
	slices.SortFunc(p.tasks, func(x, y Ask) int { return x.Task.Compare(y.Task) })
	for _, ask := range p.tasks {
		a.Tasks = append(a.Tasks, Placed{ask.Task, take(p.parts, ask.Resources)})
	}
	return a
}

// counting returns all constraints of the gang that count.
func (g Gang) counting() []Constraint {
	all := slices.Clone(g.Constraints)
	for _, ask := range g.Asks {
		for _, c := range ask.Constraints {
			if !slices.ContainsFunc(all, c.Equal) {
				all = append(all, c)
			}
		}
	}
	return all
}

// Grouped returns what the agent of an offer has under the names that constraints count by; nil if none does.
func Grouped(o *Offer, constraints []Constraint) map[string]string {
	var values map[string]string
	for _, c := range constraints {
		if !c.Counts() {
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[c.Attribute] = o.Value(c.Attribute)
	}
	return values
}
