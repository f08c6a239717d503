package offer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tfmesos/shared/tf"
)

// Reason is why offers were refused for a task. One offer may be refused for several.
type Reason struct {
	// Field is the resource, or the attribute that a constraint names, or "room".
	Field string
	// Count is how many offers were refused for it.
	Count int
	// Short is the rest in words that follow Field and Count, Long in words that follow Count alone.
	Short, Long string
}

// Refusals is what became of the offers that were looked at for a task.
type Refusals struct {
	// Offers is their number; the offers of one agent and role count as one.
	Offers int
	// Reasons are those of most offers first.
	Reasons []Reason
}

// String is the sentence: "17 offers: 12 too little mem (largest 6144 of 8192), 5 rack is not r1".
func (r Refusals) String() string {
	if r.Offers == 0 {
		return "no agent has offered anything yet"
	}
	return r.Of("offer")
}

// Of is String with another word for offer.
func (r Refusals) Of(what string) string {
	var parts []string
	for _, reason := range r.Reasons {
		parts = append(parts, fmt.Sprintf("%d %s", reason.Count, reason.Long))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%d %s", r.Offers, plural(r.Offers, what))
	}
	return fmt.Sprintf("%d %s: %s", r.Offers, plural(r.Offers, what), strings.Join(parts, ", "))
}

// Explain says for each of the tasks why none of the offers has a place for it. Constraints
// come first: how big an agent is on which it may not be says nothing. They are counted with the other tasks of the gang
// where these would go. What has room for the task by itself lacks it for the gang as a whole.
func Explain(offers []Offer, gang Gang, tasks []tf.TaskName) map[tf.TaskName]Refusals {
	b := newBoard(offers, gang)
	if b.place(byMem, false); len(b.unmet) == 0 { // all would fit, if these were there at one time
		b = newBoard(offers, gang)
	}
	wanted := map[tf.TaskName]bool{}
	for _, task := range tasks {
		wanted[task] = true
	}
	all, kinds := map[tf.TaskName]Refusals{}, map[kind]Refusals{}
	for _, ask := range gang.Asks {
		if !wanted[ask.Task] {
			continue
		}
		if _, known := kinds[ask.kind()]; !known {
			kinds[ask.kind()] = b.explain(ask)
		}
		all[ask.Task] = kinds[ask.kind()]
	}
	return all
}

func (b *board) explain(ask Ask) Refusals {
	e := &explainer{ask: ask, largest: map[string]Milli{}}
	for i := range b.places {
		e.look(b, i)
	}
	for i, r := range e.reasons {
		if wanted := ask.Resources.amount(r.Field); r.Short == "" {
			e.reasons[i].Short = fmt.Sprintf("too small, largest %s of %s", e.largest[r.Field], wanted)
			e.reasons[i].Long = fmt.Sprintf("too little %s (largest %s of %s)", r.Field, e.largest[r.Field], wanted)
		}
	}
	slices.SortStableFunc(e.reasons, func(a, b Reason) int { return cmp.Compare(b.Count, a.Count) })
	return Refusals{Offers: len(b.places), Reasons: e.reasons}
}

type explainer struct {
	ask     Ask
	reasons []Reason
	largest map[string]Milli // of a resource, among places that have too little of it
}

func (e *explainer) look(b *board, at int) {
	p := &b.places[at]
	for _, c := range slices.Concat(b.gang.Constraints, e.ask.Constraints) {
		if why := c.refuses(p.offer); why != "" {
			e.count(Reason{Field: c.Attribute, Short: why, Long: fmt.Sprintf("%s is %s", c.Attribute, why)})
			return
		}
	}
	for i := range b.tallies {
		if t := &b.tallies[i]; t.about(e.ask.kind()) && t.full(at) {
			why := fmt.Sprintf("has %d already", t.at[t.values[at]])
			e.count(Reason{Field: t.Attribute, Short: why, Long: t.Attribute + " " + why})
			return
		}
	}
	room := true
	for i, wanted := range e.ask.Resources.dimensions() {
		have := p.whole.dimensions()[i].amount
		if have >= wanted.amount {
			continue
		}
		room = false
		e.largest[wanted.name] = max(e.largest[wanted.name], have)
		e.count(Reason{Field: wanted.name})
	}
	if room {
		e.count(Reason{Field: "room", Short: "not for all tasks at once", Long: "with room, but not for all tasks at once"})
	}
}

// count adds one to a reason; those of one field differ in their words.
func (e *explainer) count(r Reason) {
	at := slices.IndexFunc(e.reasons, func(known Reason) bool {
		return known.Field == r.Field && known.Short == r.Short
	})
	if at < 0 {
		at = len(e.reasons)
		e.reasons = append(e.reasons, r)
	}
	e.reasons[at].Count++
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
