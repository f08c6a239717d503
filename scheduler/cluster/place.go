package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

const (
	// holdOffers is how long an offer is kept while the rest of the gang's place is missing.
	holdOffers = 10 * time.Second
	// reviveEvery is the least time between two REVIVEs.
	reviveEvery = time.Second
	// refuseShort is for offers that did not help a gang that still waits; Mesos' own default.
	refuseShort = 5.0
	// refuseLong is for offers that nobody waits for, in seconds; a REVIVE clears it.
	refuseLong = 3600.0
)

// masterSilent is why everything waits before the first SUBSCRIBED.
const masterSilent = "the master has not answered yet"

func (d *decider) offered(ev Offered) {
	for _, o := range ev.Offers {
		d.Offers = append(d.Offers, HeldOffer{Offer: o, Since: d.now})
	}
}

func (d *decider) rescinded(ev Rescinded) {
	d.Offers = slices.DeleteFunc(d.Offers, func(o HeldOffer) bool { return o.ID == ev.OfferID })
}

// placeGang launches all waiting tasks once every one of them has a place, and answers each offer: it is used, held for
// a while, or declined.
func (d *decider) placeGang() {
	waiting := d.waiting()
	if d.Phase == PhaseEnding {
		d.declineAll(refuseLong)
		return
	}
	if len(waiting) == 0 {
		d.declineAll(refuseLong)
		d.suppress()
		return
	}
	d.revive()
	if !d.Connected || len(d.Offers) == 0 {
		d.explainWait(waiting)
		return
	}
	matching := offer.Match(d.plainOffers(), d.asks(waiting))
	if len(matching.Unmet) > 0 {
		for _, unmet := range matching.Unmet {
			d.Task(unmet.Task).Why = unmet.Reason
		}
		d.explainGang(waiting, matching.Unmet)
		d.releaseOld()
		return
	}
	for _, accept := range matching.Accepts {
		if why := d.unreachable(accept); why != "" {
			d.end(ExitUsage, why)
			return
		}
	}
	d.Offers = nil
	for _, accept := range matching.Accepts {
		d.accept(accept)
	}
	if len(matching.Declines) > 0 {
		d.call(Decline{OfferIDs: matching.Declines, RefuseSeconds: refuseLong})
	}
	d.Why = ""
	if d.LaunchedAt.IsZero() {
		d.LaunchedAt = d.now
	}
	d.suppress()
}

// unreachable says why tasks on an agent could never call us: we are at a loopback address, and the agent is not on this
// machine. Without this they would be silent until a deadline.
func (d *decider) unreachable(a offer.Accept) string {
	agent, err := netip.ParseAddr(a.Address)
	if err != nil || agent.IsLoopback() || len(d.Settings.Callbacks) == 0 {
		return ""
	}
	for _, callback := range d.Settings.Callbacks {
		host := strings.TrimPrefix(callback, "http://")
		if at, err := netip.ParseAddrPort(host); err != nil || !at.Addr().IsLoopback() {
			return ""
		}
	}
	return fmt.Sprintf("tasks on agent %s (%s) cannot reach us at %s: give --advertise with an address of this machine that the agent can reach",
		a.Hostname, a.Address, strings.Join(d.Settings.Callbacks, ", "))
}

func (d *decider) waiting() []*Task {
	var tasks []*Task
	for i := range d.Tasks {
		if d.Tasks[i].Phase == TaskWaiting {
			tasks = append(tasks, &d.Tasks[i])
		}
	}
	return tasks
}

func (d *decider) plainOffers() []offer.Offer {
	offers := make([]offer.Offer, 0, len(d.Offers))
	for _, o := range d.Offers {
		offers = append(offers, o.Offer)
	}
	return offers
}

func (d *decider) asks(tasks []*Task) []offer.Ask {
	asks := make([]offer.Ask, 0, len(tasks))
	for _, t := range tasks {
		asks = append(asks, offer.Ask{Task: t.Name, Resources: d.Spec.Job(t.Name.JobName).Resources})
	}
	return asks
}

// explainWait says why nothing can be placed at all. What was wrong with the last offers is better than to say that
// there are none now.
func (d *decider) explainWait(waiting []*Task) {
	why := masterSilent
	if d.Connected {
		why = "no agent has offered anything yet"
	}
	changed := d.Why == ""
	for _, t := range waiting {
		if !d.Connected || t.Why == "" || t.Why == masterSilent {
			changed = changed || t.Why != why
			t.Why = why
		}
	}
	if changed {
		d.Why = fmt.Sprintf("%s waits: %s", waiting[0].Name, waiting[0].Why)
	}
}

// explainGang tells of the first task that is short, and to the others that they wait for it.
func (d *decider) explainGang(waiting []*Task, unmet []offer.Unmet) {
	first := unmet[0]
	for _, t := range waiting {
		if !slices.ContainsFunc(unmet, func(u offer.Unmet) bool { return u.Task == t.Name }) {
			t.Why = fmt.Sprintf("has a place; waits for one for %s", first.Task)
		}
	}
	why := fmt.Sprintf("%s waits: %s", first.Task, first.Reason)
	if d.Why != why {
		d.Why = why
		d.note(Note{Kind: "waiting", Task: first.Task, Text: first.Reason})
	}
}

// releaseOld declines what has been held long enough.
func (d *decider) releaseOld() {
	var ids []string
	d.Offers = slices.DeleteFunc(d.Offers, func(o HeldOffer) bool {
		old := d.now.Sub(o.Since) >= holdOffers
		if old {
			ids = append(ids, o.ID)
		}
		return old
	})
	if len(ids) > 0 {
		d.call(Decline{OfferIDs: ids, RefuseSeconds: refuseShort})
	}
}

func (d *decider) declineAll(seconds float64) {
	if len(d.Offers) == 0 {
		return
	}
	ids := make([]string, 0, len(d.Offers))
	for _, o := range d.Offers {
		ids = append(ids, o.ID)
	}
	d.Offers = nil
	d.call(Decline{OfferIDs: ids, RefuseSeconds: seconds})
}

func (d *decider) suppress() {
	if d.Connected && !d.Suppress {
		d.Suppress = true
		d.call(Suppress{})
	}
}

func (d *decider) revive() {
	if d.Connected && d.Suppress && !d.now.Before(d.ReviveAt) {
		d.Suppress, d.ReviveAt = false, d.now.Add(reviveEvery)
		d.call(Revive{})
	}
}

// accept gives each task of a place its next launch.
func (d *decider) accept(a offer.Accept) {
	launches := make([]Launch, 0, len(a.Tasks))
	for _, name := range a.Tasks {
		launches = append(launches, d.launch(name, a))
	}
	d.call(Accept{OfferIDs: a.OfferIDs, AgentID: a.AgentID, Role: a.Role, Launches: launches, RefuseSeconds: refuseLong})
}

func (d *decider) launch(name tf.TaskName, a offer.Accept) Launch {
	t := d.Task(name)
	job := d.Spec.Job(name.JobName)
	*t = Task{Name: name, Phase: t.Phase, PhaseAt: t.PhaseAt, Launch: t.Launch + 1, ExitCode: -1, State: TaskStateStaging,
		AgentID: a.AgentID, Hostname: a.Hostname, Address: a.Address, GPUs: int(job.Resources.GPUs / 1000), LaunchedAt: d.now}
	if t.Address == "" {
		t.Address = a.Hostname
	}
	t.TaskID = TaskID(d.Spec.Name, d.Nonce, name, t.Launch)
	token := Token(d.Settings.Secret, t.TaskID)
	t.TokenSHA256 = HashToken(token)
	d.move(t, TaskStaging, "launched on "+a.Hostname)
	return d.describe(t, job, token)
}
