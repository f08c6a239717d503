package offer

import (
	"cmp"
	"slices"

	"tfmesos/shared/tf"
)

// board is a gang that is being placed.
type board struct {
	gang   Gang
	places []place
	// allowed has for each kind of task whether it may be at each place, constraints that count left out.
	allowed map[kind][]bool
	choice  map[kind]int // how many of these have room for one
	tallies []tally
	unmet   []tf.TaskName
}

// kind is a part of a job, whose tasks ask for the same.
type kind struct {
	job  string
	part int
}

func (a Ask) kind() kind { return kind{a.Task.JobName, a.Part} }

func (r Running) kind() kind { return kind{r.Task.JobName, r.Part} }

// place is what the offers of one agent and role leave free.
type place struct {
	Accept
	offer       *Offer // the first of them: it has the agent's attributes
	parts       []Part
	whole, free Resources
	tasks       []Ask
	load        int            // tasks of the cluster on the agent
	loads       map[string]int // those of each job
}

// tally counts the tasks at each value for one constraint.
type tally struct {
	Constraint
	kind   kind // whose tasks count; zero: all
	at     map[string]int
	values []string // of each place
}

func newBoard(offers []Offer, gang Gang) *board {
	b := &board{gang: gang, places: group(offers), allowed: map[kind][]bool{}, choice: map[kind]int{}}
	b.tallies = tallies(gang, b.places)
	for i := range b.places {
		p := &b.places[i]
		p.loads = map[string]int{}
		for _, r := range gang.Running {
			if r.AgentID == p.AgentID {
				p.load++
				p.loads[r.Task.JobName]++
			}
		}
	}
	for _, ask := range gang.Asks {
		if b.allowed[ask.kind()] != nil {
			continue
		}
		allowed := make([]bool, len(b.places))
		for i := range b.places {
			allowed[i] = !slices.ContainsFunc(slices.Concat(gang.Constraints, ask.Constraints), func(c Constraint) bool { return c.refuses(b.places[i].offer) != "" })
			if allowed[i] && b.places[i].whole.Contains(ask.Resources) {
				b.choice[ask.kind()]++
			}
		}
		b.allowed[ask.kind()] = allowed
	}
	return b
}

// tallies returns a count for each constraint that needs one, with the tasks that run.
func tallies(gang Gang, places []place) []tally {
	var all []tally
	add := func(of kind, constraints []Constraint) {
		for _, c := range constraints {
			if !c.Counts() {
				continue
			}
			t := tally{Constraint: c, kind: of, at: map[string]int{}}
			for _, p := range places {
				t.values = append(t.values, p.offer.Value(c.Attribute))
			}
			all = append(all, t)
		}
	}
	add(kind{}, gang.Constraints)
	var known []kind
	for _, ask := range gang.Asks {
		if len(ask.Constraints) > 0 && !slices.Contains(known, ask.kind()) {
			known = append(known, ask.kind())
			add(ask.kind(), ask.Constraints)
		}
	}
	for i := range all {
		t := &all[i]
		for _, r := range gang.Running {
			if t.about(r.kind()) {
				t.at[r.Values[t.Attribute]]++
			}
		}
	}
	return all
}

func (t *tally) about(k kind) bool { return t.kind == kind{} || t.kind == k }

// full reports whether no further task may be at the place.
func (t *tally) full(place int) bool { return t.at[t.values[place]] >= t.most }

// group merges the offers of each agent and role, in the order in which these first appear.
func group(offers []Offer) []place {
	var places []place
	known := map[[2]string]int{}
	for i := range offers {
		o := &offers[i]
		at, found := known[[2]string{o.AgentID, o.Role}]
		if !found {
			at = len(places)
			known[[2]string{o.AgentID, o.Role}] = at
			places = append(places, place{offer: o, Accept: Accept{AgentID: o.AgentID, Hostname: o.Hostname, Address: o.Address, Role: o.Role}})
		}
		p := &places[at]
		p.OfferIDs = append(p.OfferIDs, o.ID)
		p.parts = merge(p.parts, o.Parts)
		p.whole = Sum(p.parts)
		p.free = p.whole
	}
	return places
}

// order says which ask is placed before which.
type order func(b *board, x, y Ask) int

func byMem(_ *board, x, y Ask) int {
	return cmp.Or(cmp.Compare(y.Resources.GPUs, x.Resources.GPUs), cmp.Compare(y.Resources.Mem, x.Resources.Mem),
		cmp.Compare(y.Resources.CPUs, x.Resources.CPUs), x.Task.Compare(y.Task))
}

func byCPUs(b *board, x, y Ask) int {
	return cmp.Or(cmp.Compare(y.Resources.GPUs, x.Resources.GPUs), cmp.Compare(y.Resources.CPUs, x.Resources.CPUs), byMem(b, x, y))
}

func byChoice(b *board, x, y Ask) int {
	return cmp.Or(cmp.Compare(b.choice[x.kind()], b.choice[y.kind()]), byMem(b, x, y))
}

// place puts each ask somewhere, if it can.
func (b *board) place(by order, spread bool) {
	asks := slices.SortedStableFunc(slices.Values(b.gang.Asks), func(x, y Ask) int { return by(b, x, y) })
	var hopeless []kind // what is free only gets less
	for _, ask := range asks {
		if slices.Contains(hopeless, ask.kind()) {
			b.unmet = append(b.unmet, ask.Task)
			continue
		}
		at := b.best(ask, spread && ask.Spread)
		if at < 0 {
			hopeless = append(hopeless, ask.kind())
			b.unmet = append(b.unmet, ask.Task)
			continue
		}
		p := &b.places[at]
		p.free = p.free.Sub(ask.Resources)
		p.tasks = append(p.tasks, ask)
		p.load++
		p.loads[ask.Task.JobName]++
		for i := range b.tallies {
			if t := &b.tallies[i]; t.about(ask.kind()) {
				t.at[t.values[at]]++
			}
		}
	}
}

// best returns the index of the place to choose, or -1.
func (b *board) best(ask Ask, spread bool) int {
	found := -1
	for i := range b.places {
		if b.fits(i, ask) && (found < 0 || better(&b.places[i], &b.places[found], ask, spread)) {
			found = i
		}
	}
	return found
}

func (b *board) fits(i int, ask Ask) bool {
	p := &b.places[i]
	if !b.allowed[ask.kind()][i] || !p.free.Contains(ask.Resources) {
		return false
	}
	for j := range b.tallies {
		if t := &b.tallies[j]; t.about(ask.kind()) && t.full(i) {
			return false
		}
	}
	return true
}

// couldHold reports whether some task of the gang could be at the place if it were the only one.
func (b *board) couldHold(i int) bool {
	return slices.ContainsFunc(b.gang.Asks, func(ask Ask) bool {
		return b.allowed[ask.kind()][i] && b.places[i].whole.Contains(ask.Resources)
	})
}

func better(p, q *place, ask Ask, spread bool) bool {
	if spare, other := p.whole.GPUs > 0, q.whole.GPUs > 0; ask.Resources.GPUs == 0 && spare != other {
		return !spare
	}
	if spread {
		job := ask.Task.JobName
		return cmp.Or(cmp.Compare(p.loads[job], q.loads[job]), cmp.Compare(p.load, q.load), -tighter(p, q)) < 0
	}
	return tighter(p, q) < 0
}

func tighter(p, q *place) int {
	return cmp.Or(cmp.Compare(p.free.GPUs, q.free.GPUs), cmp.Compare(p.free.Mem, q.free.Mem), cmp.Compare(p.free.CPUs, q.free.CPUs))
}
