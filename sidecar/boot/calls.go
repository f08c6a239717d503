package boot

import (
	"fmt"
	"strings"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// call begins the registration or a long poll.
func (m *machine) call() {
	if m.contact.busy || m.Phase >= Finishing {
		m.contact.nextAt = time.Time{}
		return
	}
	m.contact.busy, m.contact.askedAt, m.contact.nextAt = true, m.now, time.Time{}
	if m.contact.registered {
		m.act(Poll{Generation: m.assignment.Generation})
		return
	}
	m.act(Register{callback.Registration{Port: m.Port, Hostname: m.setup.Hostname, Version: m.setup.Version}})
}

// heard notes an answer of the scheduler.
func (m *machine) heard() {
	if m.contact.attempt > 0 {
		m.note("the scheduler answers again")
	}
	m.contact.busy, m.contact.attempt = false, 0
	m.contact.last, m.contact.refusedSince = m.now, time.Time{}
}

func (m *machine) registered(r callback.Registered) {
	task := tf.TaskName{JobName: r.JobName, TaskIndex: r.TaskIndex}
	switch {
	case r.JobName == "":
		m.callFailed(CallFailed{Reason: "its answer names no task"})
		return
	case m.setup.Task.JobName == "":
		m.setup.Task = task
		m.note("this is " + task.String())
	case m.setup.Task != task:
		m.callFailed(CallFailed{Reason: fmt.Sprintf("its answer is for %s and this is %s", task, m.setup.Task)})
		return
	}
	m.heard()
	m.contact.registered, m.contact.nextAt = true, m.now
	m.Phase = max(m.Phase, Waiting)
	if m.setup.Side && m.Phase == Waiting {
		m.startCommand()
	}
}

func (m *machine) assigned(a callback.Assignment) {
	if a.Generation > 0 && len(a.ClusterDef) > 0 {
		if err := m.check(a.ClusterDef); err != nil {
			m.callFailed(CallFailed{Reason: "its cluster_def is of no use: " + err.Error()})
			return
		}
	}
	m.heard()
	news := len(a.ClusterDef) > 0 && a.Generation != m.assignment.Generation
	if !news {
		if a.Why != "" && a.Why != m.why && m.Phase == Waiting {
			m.why = a.Why
			m.note("waiting for cluster_def: " + a.Why)
		}
		m.contact.nextAt = later(m.now, m.contact.askedAt.Add(emptyPoll))
		return
	}
	m.contact.nextAt = m.now
	m.assignment = a
	switch {
	case m.Phase == Waiting && !m.setup.Side:
		m.run()
	case m.Phase == Running && !m.setup.Side:
		m.note(fmt.Sprintf("generation %d of cluster_def is out; this launch stays with its own", a.Generation))
	}
}

// check wants a cluster_def that is whole and has this task, unless that is none of the cluster's.
func (m *machine) check(d tf.ClusterDef) error {
	if err := d.Validate(); err != nil || m.setup.Side {
		return err
	}
	_, err := tf.ConfigFor(d, m.setup.Task)
	return err
}

func (m *machine) callFailed(ev CallFailed) {
	m.contact.busy = false
	refused := ev.Failure == Refused && !m.contact.registered
	switch {
	case ev.Failure == Superseded && m.end.cause == "":
		m.leave(callback.CauseSuperseded, ExitSuperseded, "this launch is not the task's current one: "+ev.Reason)
		return
	case ev.Failure == Useless && m.end.cause == "":
		m.leave(callback.CauseSidecar, ExitFault, ev.Reason)
		return
	case !refused: // who was registered and is refused has met another scheduler, at the port of the one that is away
		m.contact.refusedSince = time.Time{}
	case m.contact.refusedSince.IsZero():
		m.contact.refusedSince = m.now
		m.warn("the scheduler refuses our credentials; giving up in " + RefusedLimit.String() + ": " + ev.Reason)
	case m.now.Sub(m.contact.refusedSince) >= RefusedLimit:
		m.leave(callback.CauseSidecar, ExitUnavailable, "the scheduler refuses our credentials: "+ev.Reason)
	}
	if m.contact.attempt == 0 && !refused {
		m.warn("no useful answer of the scheduler, trying on: " + ev.Reason)
	}
	m.contact.nextAt = m.now.Add(retry.Delay(m.contact.attempt, ev.Fraction))
	m.contact.attempt++
}

// report puts a phase in the outbox.
func (m *machine) report(r callback.PhaseReport) {
	r.At = m.now.UTC()
	m.outbox.reports = append(m.outbox.reports, r)
	if m.outbox.attempt == 0 || r.Phase == callback.PhaseEnded {
		m.send()
	}
}

// send sends the first report that was not taken.
func (m *machine) send() {
	m.outbox.nextAt = time.Time{}
	if m.outbox.busy || len(m.outbox.reports) == 0 {
		return
	}
	m.outbox.busy = true
	m.act(Report{m.outbox.reports[0]})
}

func (m *machine) reported() {
	ended := m.outbox.reports[0].Phase == callback.PhaseEnded
	m.outbox.busy, m.outbox.attempt, m.outbox.reports = false, 0, m.outbox.reports[1:]
	if ended {
		m.exit()
		return
	}
	m.send()
}

func (m *machine) reportFailed(ev ReportFailed) {
	if ev.Failure == Superseded || ev.Failure == Invalid {
		m.warn(fmt.Sprintf("the scheduler does not want to know of %s: %s", m.outbox.reports[0].Phase, ev.Reason))
		m.reported()
		return
	}
	m.outbox.busy = false
	m.outbox.nextAt = m.now.Add(retry.Delay(m.outbox.attempt, ev.Fraction))
	m.outbox.attempt++
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tail keeps the end of a message that is too long, from the beginning of a line if there is one.
func tail(message string) string {
	if len(message) <= callback.MaxMessage {
		return message
	}
	message = message[len(message)-callback.MaxMessage:]
	if _, rest, found := strings.Cut(message, "\n"); found {
		return rest
	}
	return strings.ToValidUTF8(message, "")
}
