package cluster

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

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
	gang := d.gang(waiting)
	matching := offer.Match(d.plainOffers(), gang)
	if len(matching.Unmet) > 0 {
		d.explainGang(waiting, gang, matching.Unmet)
		d.release(matching)
		d.expire()
		return
	}
	for _, accept := range matching.Accepts {
		if why := d.unreachable(accept); why != "" {
			d.end(ExitUsage, why)
			return
		}
	}
	d.Offers, d.Seen, d.Told, d.Filtered, d.WatchAt, d.Watches = nil, nil, "", false, time.Time{}, 0
	for _, accept := range matching.Accepts {
		d.accept(accept)
	}
	d.decline(slices.Concat(matching.Spares, matching.Useless), refuseLong)
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

// gang is what waits, beside what runs.
func (d *decider) gang(waiting []*Task) offer.Gang {
	gang := offer.Gang{Constraints: d.Spec.Constraints}
	for _, t := range waiting {
		gang.Asks = append(gang.Asks, askOf(d.Spec.Job(t.Name), t.Name))
	}
	for i := range d.Tasks {
		t := &d.Tasks[i]
		if !t.Live() {
			continue
		}
		running := offer.Running{Task: t.Name, Part: d.Spec.Job(t.Name).Start, AgentID: t.AgentID}
		if t.Grouped != "" {
			_ = json.Unmarshal([]byte(t.Grouped), &running.Values) // ours; the store checks it
		}
		gang.Running = append(gang.Running, running)
	}
	return gang
}

func askOf(job *Job, task tf.TaskName) offer.Ask {
	return offer.Ask{Task: task, Part: job.Start, Resources: job.Resources, Constraints: job.Constraints, Spread: job.Placement == PlacementSpread}
}

// accept gives each task of a place its next launch.
func (d *decider) accept(a offer.Accept) {
	launches := make([]Launch, 0, len(a.Tasks))
	for _, task := range a.Tasks {
		launches = append(launches, d.launch(task, a))
	}
	d.call(Accept{OfferIDs: a.OfferIDs, AgentID: a.AgentID, Role: a.Role, Launches: launches, RefuseSeconds: refuseLong})
}

func (d *decider) launch(placed offer.Placed, a offer.Accept) Launch {
	name := placed.Task
	t := d.Task(name)
	job := d.Spec.Job(name)
	*t = Task{Name: name, Phase: t.Phase, PhaseAt: t.PhaseAt, Launch: t.Launch + 1, ExitCode: -1, State: TaskStateStaging,
		AgentID: a.AgentID, Hostname: a.Hostname, Address: a.Address, GPUs: int(job.Resources.GPUs / 1000), Grouped: grouped(a.Values), LaunchedAt: d.now}
	if t.Address == "" {
		t.Address = a.Hostname
	}
	t.TaskID = TaskID(d.Spec.Name, d.Nonce, name, t.Launch)
	token := Token(d.Settings.Secret, t.TaskID)
	t.TokenSHA256 = HashToken(token)
	if d.fetchesOurs(job) {
		t.DownloadSHA256 = HashToken(downloadToken(d.Settings.Secret, t.TaskID))
	}
	d.move(t, TaskStaging, "launched on "+a.Hostname)
	launch := d.describe(t, job, token)
	launch.Parts = placed.Parts
	return launch
}

func grouped(values map[string]string) string {
	if len(values) == 0 {
		return ""
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}
