package offer

import (
	"cmp"
	"slices"

	"tfmesos/shared/tf"
)

// Offer is an offer of one agent, as far as this package decides on it. Resources holds only what any task of ours may
// use: no revocable ones and none reserved for a role.
type Offer struct {
	ID        string
	AgentID   string
	Hostname  string
	Address   string // the agent's IP address, empty if Mesos did not say
	Role      string // the role the resources are allocated to
	Resources Resources
}

// Ask is what one task needs.
type Ask struct {
	Task      tf.TaskName
	Resources Resources
}

// Accept is the use of offers of a single agent and role for some tasks (a call that mixes agents is refused as a
// whole: Mesos' validation::offer::validate).
type Accept struct {
	OfferIDs []string
	AgentID  string
	Hostname string
	Address  string
	Role     string
	Tasks    []tf.TaskName
}

// Unmet says why a task found no place.
type Unmet struct {
	Task   tf.TaskName
	Reason string
}

// Matching is the answer of Match. Each offer is in exactly one of Accepts and Declines.
type Matching struct {
	Accepts  []Accept
	Declines []string
	// Unmet lists the tasks without a place; if there is one, Accepts is empty: a gang starts whole or not at all.
	Unmet []Unmet
}

// Match finds a place for every ask, or says what is short. Big asks are placed first, each where the least is left over;
// tasks without gpus keep off agents that offer some while another agent has room. Big is first by memory; where the gang
// does not fit so, by CPUs, since an agent that is rich in one and poor in the other may hold what the first order spoils.
func Match(offers []Offer, asks []Ask) Matching {
	m := match(offers, asks, byMem)
	if len(m.Unmet) > 0 {
		if n := match(offers, asks, byCPUs); len(n.Unmet) == 0 {
			return n
		}
	}
	return m
}

func byMem(a, b Ask) int {
	return cmp.Or(cmp.Compare(b.Resources.GPUs, a.Resources.GPUs), cmp.Compare(b.Resources.Mem, a.Resources.Mem),
		cmp.Compare(b.Resources.CPUs, a.Resources.CPUs), a.Task.Compare(b.Task))
}

func byCPUs(a, b Ask) int {
	return cmp.Or(cmp.Compare(b.Resources.GPUs, a.Resources.GPUs), cmp.Compare(b.Resources.CPUs, a.Resources.CPUs), byMem(a, b))
}

func match(offers []Offer, asks []Ask, order func(a, b Ask) int) Matching {
	places := group(offers)
	ordered := slices.SortedStableFunc(slices.Values(asks), order)
	var m Matching
	for _, ask := range ordered {
		if at := best(places, ask); at >= 0 {
			places[at].free = places[at].free.Sub(ask.Resources)
			places[at].Tasks = append(places[at].Tasks, ask.Task)
		} else {
			m.Unmet = append(m.Unmet, Unmet{Task: ask.Task, Reason: explain(places, ask)})
		}
	}
	for _, p := range places {
		if len(m.Unmet) > 0 || len(p.Tasks) == 0 {
			m.Declines = append(m.Declines, p.OfferIDs...)
			continue
		}
		slices.SortFunc(p.Tasks, tf.TaskName.Compare)
		m.Accepts = append(m.Accepts, p.Accept)
	}
	return m
}

// place is what the offers of one agent and role leave free while a gang is being placed.
type place struct {
	Accept
	whole, free Resources
}

// group merges the offers of each agent and role, in the order in which these first appear.
func group(offers []Offer) []place {
	var places []place
	for _, o := range offers {
		at := slices.IndexFunc(places, func(p place) bool { return p.AgentID == o.AgentID && p.Role == o.Role })
		if at < 0 {
			at = len(places)
			places = append(places, place{Accept: Accept{AgentID: o.AgentID, Hostname: o.Hostname, Address: o.Address, Role: o.Role}})
		}
		p := &places[at]
		p.OfferIDs = append(p.OfferIDs, o.ID)
		p.whole = p.whole.Add(o.Resources)
		p.free = p.whole
	}
	return places
}

// best returns the index of the fitting place with the least left over, or -1.
func best(places []place, ask Ask) int {
	found := -1
	for i, p := range places {
		if !p.free.Contains(ask.Resources) {
			continue
		}
		if found < 0 || tighter(p, places[found], ask) {
			found = i
		}
	}
	return found
}

func tighter(p, q place, ask Ask) bool {
	if spare, other := p.whole.GPUs > 0, q.whole.GPUs > 0; ask.Resources.GPUs == 0 && spare != other {
		return !spare
	}
	return cmp.Or(cmp.Compare(p.free.GPUs, q.free.GPUs), cmp.Compare(p.free.Mem, q.free.Mem), cmp.Compare(p.free.CPUs, q.free.CPUs)) < 0
}
