package cluster

import (
	"fmt"
	"slices"
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/scheduler/reconcile"
)

// decider folds one event into the caller's private copy of a cluster and gathers the work.
type decider struct {
	*Cluster
	now  time.Time
	work Work
}

// Decide changes c, which must be a private copy (see Clone), as the event demands at the time now, and returns what
// follows. The same cluster, event and time give the same result.
func Decide(c *Cluster, ev Event, now time.Time) Work {
	d := &decider{Cluster: c, now: now}
	if c.Ended() {
		d.afterEnd(ev)
		return d.work
	}
	d.take(ev)
	d.settle()
	return d.work
}

// take folds the event itself. It is the state switch of the package: one helper for each event.
func (d *decider) take(ev Event) {
	switch ev := ev.(type) {
	case Subscribed:
		d.subscribed(ev)
	case Disconnected:
		d.disconnected(ev)
	case Refused:
		d.end(ExitAway, "the master refuses the framework: "+ev.Message)
		d.finish() // no call can reach a master that refuses us
	case Offered:
		d.offered(ev)
	case Rescinded:
		d.rescinded(ev)
	case Updated:
		d.updated(ev)
	case AgentLost:
		d.Seen = slices.DeleteFunc(d.Seen, func(o offer.Offer) bool { return o.AgentID == ev.AgentID })
		d.ask(func(t *Task) bool { return t.AgentID == ev.AgentID })
	case CallFailed:
		d.callFailed(ev)
	case Registered:
		d.registered(ev)
	case PhaseReported:
		d.phaseReported(ev)
	case Heard:
		if t := d.Launch(ev.TaskID); t != nil {
			t.HeartbeatAt = d.now
		}
	case Answered:
		d.answered(ev)
	case DriverEnded:
		d.driverEnded(ev)
	case Stopped:
		d.stopped(ev)
	case Woken:
	default:
		panic(fmt.Sprintf("cluster: impossible event %T", ev))
	}
}

// settle does all that may have become due: it looks only at the cluster and the time, so it may run after any event.
func (d *decider) settle() {
	if d.Ended() {
		return
	}
	d.checkDeadlines()
	d.placeGang()
	d.completeClusterDef()
	d.startProbes()
	d.movePhase()
	d.startDriver()
	d.bringToEnd()
	d.tickRound()
	if !d.Ended() {
		d.work.Wake = d.nextWake()
	}
}

// afterEnd acknowledges updates that come late; everything else is over.
func (d *decider) afterEnd(ev Event) {
	if update, ok := ev.(Updated); ok {
		d.acknowledge(update)
	}
}

func (d *decider) call(calls ...Call) { d.work.Calls = append(d.work.Calls, calls...) }

func (d *decider) note(n Note) { d.work.Notes = append(d.work.Notes, n) }

func (d *decider) noteTask(t *Task, kind, text string, bad bool) {
	d.note(Note{Kind: kind, Task: t.Name, Launch: t.Launch, AgentID: t.AgentID, Text: text, Bad: bad})
}

// move brings a task to a phase and notes it. Why is cleared: it belongs to the phase before.
func (d *decider) move(t *Task, to TaskPhase, text string) {
	if t.Phase == to {
		return
	}
	d.note(Note{Kind: "task_phase", Task: t.Name, Launch: t.Launch, AgentID: t.AgentID, From: string(t.Phase), To: string(to), Text: text, Bad: to == TaskFailed})
	t.Phase, t.PhaseAt, t.Why = to, d.now, ""
}

func (d *decider) subscribed(ev Subscribed) {
	text := fmt.Sprintf("registered with master %s as framework %s", ev.Master, ev.FrameworkID)
	if away := d.now.Sub(d.Framework.DisconnectedAt); !d.Framework.DisconnectedAt.IsZero() && away >= time.Second {
		text += fmt.Sprintf(", after %s away", away.Round(time.Millisecond))
	}
	if d.Framework.ID != "" && d.Framework.ID != ev.FrameworkID {
		d.note(Note{Kind: "framework_changed", Text: fmt.Sprintf("the master knows us as %s, not as %s any more", ev.FrameworkID, d.Framework.ID), Bad: true})
	}
	d.Framework.ID, d.Framework.Master = ev.FrameworkID, ev.Master
	if d.Framework.RegisteredAt.IsZero() {
		d.Framework.RegisteredAt = d.now
	}
	d.Framework.DisconnectedAt = time.Time{}
	d.Connected, d.Offers, d.Seen = true, nil, nil
	d.Suppress, d.Filtered, d.ReviveAt, d.Watches = false, false, time.Time{}, 0 // the master has forgotten both
	d.watch()
	d.note(Note{Kind: "subscribed", Text: text})
	d.startRound()
}

func (d *decider) disconnected(ev Disconnected) {
	switch {
	case d.Framework.DisconnectedAt.IsZero():
		d.Framework.DisconnectedAt = d.now
		d.note(Note{Kind: "disconnected", Text: "the master is out of reach: " + ev.Why, Bad: true})
	case ev.Why != d.AwayWhy:
		d.note(Note{Kind: "disconnected", Text: "the master is still out of reach: " + ev.Why, Bad: true})
	}
	d.Connected, d.Offers, d.AwayWhy, d.Told = false, nil, ev.Why, ""
}

// liveIDs returns the task_ids of live launches that the filter, if any, lets pass.
func (d *decider) liveIDs(keep func(*Task) bool) []string {
	var ids []string
	for i := range d.Tasks {
		if t := &d.Tasks[i]; t.Live() && (keep == nil || keep(t)) {
			ids = append(ids, t.TaskID)
		}
	}
	return ids
}

// ask starts reconciliation anew when the filter lets any live launch pass. Whatever round was going on is replaced by one
// for all of them: there is one at a time.
func (d *decider) ask(about func(*Task) bool) {
	if len(d.liveIDs(about)) > 0 {
		d.startRound()
	}
}

func (d *decider) startRound() {
	d.Round, d.AskedAt = reconcile.Start(d.liveIDs(nil), d.now), d.now
}

func (d *decider) tickRound() {
	if !d.Connected || d.Ended() {
		return
	}
	if due := d.stagingDue(); !due.IsZero() && !d.now.Before(due) {
		d.startRound()
	}
	round, ids := d.Round.Tick(d.now)
	d.Round = round
	if len(ids) == 0 {
		return
	}
	refs := make([]TaskRef, 0, len(ids))
	for _, id := range ids {
		if t := d.Launch(id); t != nil {
			refs = append(refs, TaskRef{TaskID: id, AgentID: t.AgentID})
		}
	}
	if len(refs) > 0 { // an empty RECONCILE would be an implicit one
		d.call(Reconcile{Tasks: refs})
	}
}

func (d *decider) callFailed(ev CallFailed) {
	d.note(Note{Kind: "call_failed", Text: ev.Why, Bad: true})
	switch call := ev.Call.(type) {
	case Accept:
		ids := map[string]bool{}
		for _, l := range call.Launches {
			ids[l.TaskID] = true
		}
		d.ask(func(t *Task) bool { return ids[t.TaskID] })
	case Revive:
		d.Suppress = true // still in force, as far as we know; placeGang tries again
	}
}

func (d *decider) stopped(ev Stopped) {
	if d.Hurry = true; d.Phase != PhaseEnding {
		d.end(ev.ExitCode, ev.Reason)
	}
	if ev.Now {
		d.finish()
	}
}
