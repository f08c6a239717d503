package cluster

import (
	"fmt"
	"slices"
	"strings"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// What everything waits for while there is nothing to say of offers.
const (
	masterSilent = "the master has not answered yet" // before the first SUBSCRIBED
	noOffers     = "no agent has offered anything yet"
)

// explainWait says why nothing can be placed at all. What was wrong with the last offers is better than to say that
// there are none now.
func (d *decider) explainWait(waiting []*Task) {
	why := masterSilent
	if d.Connected {
		why = noOffers
	}
	for _, t := range waiting {
		if !d.Connected || t.Why == "" || t.Why == masterSilent {
			t.Why = why
		}
	}
	if d.Told == "" {
		d.Why = fmt.Sprintf("%s waits: %s", waiting[0].Name, waiting[0].Why)
	}
}

// explainGang tells of each task that is short which offers were refused for what, and of the others that they wait for it.
func (d *decider) explainGang(waiting []*Task, gang offer.Gang, unmet []tf.TaskName) {
	short := map[tf.TaskName]bool{}
	for _, name := range unmet {
		short[name] = true
	}
	refusals, offers := offer.Explain(d.Seen, gang, unmet), 0
	for _, r := range refusals {
		offers = r.Offers
	}
	for _, t := range waiting {
		r := refusals[t.Name]
		t.Why = r.String()
		if !short[t.Name] {
			r = offer.Refusals{Offers: offers}
			t.Why = fmt.Sprintf("has a place; waits for one for %s", unmet[0])
		}
		t.Wait = &Wait{Since: t.PhaseAt, LastOfferAt: d.SeenAt, Refusals: r}
	}
	first := d.Task(unmet[0])
	d.Why = fmt.Sprintf("%s waits: %s", first.Name, first.Why)
	if told := kinds(first); d.Told != told {
		d.Told = told
		d.note(Note{Kind: "waiting", Task: first.Name, Text: first.Why})
	}
}

// kinds names the task and what is short, without the numbers, which change with each offer.
func kinds(t *Task) string {
	var fields []string
	for _, r := range t.Wait.Reasons {
		fields = append(fields, r.Field)
	}
	slices.Sort(fields)
	return t.Name.String() + " " + strings.Join(slices.Compact(fields), " ")
}
