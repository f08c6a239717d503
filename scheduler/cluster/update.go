package cluster

import (
	"fmt"
	"net/netip"
	"time"

	"tfmesos/shared/callback"
)

func (d *decider) acknowledge(ev Updated) {
	if len(ev.UUID) > 0 {
		d.call(Acknowledge{TaskID: ev.TaskID, AgentID: ev.AgentID, UUID: ev.UUID})
	}
}

// updated folds a status update. It may be stale, doubled, or an answer to RECONCILE with most fields missing.
func (d *decider) updated(ev Updated) {
	d.acknowledge(ev)
	t := d.Launch(ev.TaskID)
	switch {
	case t == nil:
		d.unknownTask(ev)
		return
	case !ev.State.Known():
		d.noteTask(t, "unknown_state", fmt.Sprintf("Mesos says %s, which this version does not know; ignored", ev.State), true)
		return
	}
	if !ev.State.Vanished() || lostBeforeLaunch(ev) { // TASK_UNKNOWN and its like answer nothing: go on asking
		d.Round = d.Round.Seen(ev.TaskID)
		t.VanishedAt = time.Time{}
	}
	if !t.Live() || older(ev.State, t.State) {
		return
	}
	if ev.AgentID != "" {
		t.AgentID = ev.AgentID
	}
	if address := pickAddress(ev.Addresses); address != "" {
		t.Address = address
	}
	t.State, t.Reason = ev.State, ev.Reason
	switch {
	case ev.State.Terminal(), lostBeforeLaunch(ev):
		d.taskEnded(t, ev)
	case ev.State.Vanished():
		d.vanished(t, ev)
	case ev.State == TaskStateRunning:
		d.running(t)
	case ev.State == TaskStateStarting && t.Phase == TaskStaging:
		d.move(t, TaskStarting, "its container is made on "+t.Hostname)
	}
}

func (d *decider) running(t *Task) {
	if t.RunningAt.IsZero() {
		t.RunningAt = d.now
	}
	if t.Phase == TaskStaging {
		d.move(t, TaskStarting, "running on "+t.Hostname)
	}
	d.reported(t)
}

// reported moves a task on once Mesos has said that it runs and its sidecar has said its port, in whatever order.
func (d *decider) reported(t *Task) {
	if t.Phase == TaskStarting && t.Port != 0 && !t.RunningAt.IsZero() {
		d.move(t, TaskRegistered, fmt.Sprintf("port %d", t.Port))
	}
}

// unknownTask ends what runs under our framework and is no current launch: an older one, or one of a lost store.
func (d *decider) unknownTask(ev Updated) {
	if ev.State.Terminal() || ev.State.Vanished() {
		return
	}
	d.note(Note{Kind: "unknown_task", AgentID: ev.AgentID, Text: fmt.Sprintf("%s is %s and no current launch; ending it", ev.TaskID, ev.State), Bad: true})
	d.call(Kill{TaskID: ev.TaskID, AgentID: ev.AgentID, Grace: killGrace(d.Settings.Grace)})
}

// older reports whether an update tells of a time before the last one: agents send again, and the master answers
// RECONCILE with what it forwarded last.
func older(s, last State) bool { return rank(s) < rank(last) }

func rank(s State) int {
	switch s {
	case TaskStateStaging, "":
		return 0
	case TaskStateStarting:
		return 1
	case TaskStateKilling:
		return 3
	}
	if s.Terminal() {
		return 4
	}
	return 2 // running, and the vanished states, which may be followed by it
}

// lostBeforeLaunch tells a TASK_LOST that stands for TASK_DROPPED: the master's answer to an ACCEPT it refused.
func lostBeforeLaunch(ev Updated) bool {
	return ev.State == TaskStateLost && ev.Reason == "INVALID_OFFERS"
}

func (d *decider) vanished(t *Task, ev Updated) {
	if t.VanishedAt.IsZero() {
		t.VanishedAt = d.now
		d.noteTask(t, "task_vanished", fmt.Sprintf("Mesos does not know what became of it (%s); waiting for its agent", ev.State), true)
	}
	t.Why = fmt.Sprintf("%s: waiting for its agent to come back", ev.State)
}

// pickAddress takes the first IPv4 address in Mesos' order, else the first IPv6 one.
func pickAddress(addresses []string) string {
	var six string
	for _, text := range addresses {
		ip, err := netip.ParseAddr(text)
		switch {
		case err != nil:
		case ip.Unmap().Is4():
			return ip.Unmap().String()
		case six == "":
			six = ip.String()
		}
	}
	return six
}

func (d *decider) registered(ev Registered) {
	t := d.Launch(ev.TaskID)
	if t == nil || !t.Live() || t.Port == ev.Registration.Port || (t.Port != 0 && d.ClusterDef != nil) {
		return
	}
	t.Port, t.RegisteredAt, t.HeartbeatAt = ev.Registration.Port, d.now, d.now
	t.Advertised = ev.Registration.Address
	d.reported(t)
}

func (d *decider) phaseReported(ev PhaseReported) {
	t := d.Launch(ev.TaskID)
	if t == nil || !t.Live() {
		return
	}
	t.HeartbeatAt = d.now
	switch r := ev.Report; r.Phase {
	case callback.PhasePythonStarted:
		t.PythonStartedAt = r.At
	case callback.PhaseImported:
		t.ImportedAt, t.Import = r.At, r.Import
		if r.Message != "" {
			d.noteTask(t, "full_import", r.Message, false)
		}
	case callback.PhaseServing:
		t.ServingAt = r.At
		if t.Phase == TaskRegistered && !d.hasCommand(t) {
			d.move(t, TaskServing, "answers at "+t.PeerAddress())
		}
	case callback.PhaseTraining:
		if t.Phase == TaskRegistered || t.Phase == TaskStarting || t.Phase == TaskStaging {
			d.move(t, TaskTraining, "program started")
		}
	case callback.PhaseEnded:
		d.programEnded(t, r)
	}
}
