package cluster

import (
	"fmt"
	"time"
)

// askStaging is how long a launch may be silent before the master is asked about it. It is asked, not launched again: the
// task may be about to start.
const askStaging = 30 * time.Second

// deadline is a wait that must end at a time.
type deadline struct {
	at     time.Time // zero: none
	strike func()
}

// checkDeadlines lets each wait that has lasted too long end the run with its sentence.
func (d *decider) checkDeadlines() {
	if d.Phase == PhaseEnding {
		return
	}
	for _, limit := range d.deadlines() {
		if !limit.at.IsZero() && !d.now.Before(limit.at) {
			limit.strike()
			return
		}
	}
}

func (d *decider) deadlines() []deadline {
	limits := []deadline{
		{after(d.StartedAt, d.Spec.Deadlines.Run), func() {
			d.end(ExitDeadline, fmt.Sprintf("the run's deadline of %s is over; %s", d.Spec.Deadlines.Run, d.lastWords()))
		}},
		{d.awayDeadline(), func() {
			d.end(ExitAway, withWords(fmt.Sprintf("the master has been out of reach for %s", d.Settings.OrphanTimeout), d.AwayWhy))
		}},
	}
	for i := range d.Tasks {
		limits = append(limits, d.taskDeadline(&d.Tasks[i]))
	}
	return limits
}

// after returns since + span, or the zero time if either is zero.
func after(since time.Time, span time.Duration) time.Time {
	if since.IsZero() || span == 0 {
		return time.Time{}
	}
	return since.Add(span)
}

func (d *decider) awayDeadline() time.Time {
	switch {
	case d.Connected:
		return time.Time{}
	case !d.Framework.DisconnectedAt.IsZero():
		return after(d.Framework.DisconnectedAt, d.Settings.OrphanTimeout)
	}
	return after(d.StartedAt, d.Settings.OrphanTimeout)
}

func (d *decider) lastWords() string {
	if d.Why != "" {
		return d.Why
	}
	ready, total := d.Ready()
	return fmt.Sprintf("%d of %d tasks were ready", ready, total)
}

// taskDeadline returns the wait that the task is in. Each names the task, its place and the last known state.
func (d *decider) taskDeadline(t *Task) deadline {
	limits := d.Spec.Deadlines
	fail := func(span time.Duration, what string) func() {
		return func() {
			d.fail(t, ExitJobFailed, fmt.Sprintf("%s within %s (on %s, launch %d, %s)", what, span, t.Hostname, t.Launch, t.State))
		}
	}
	switch {
	case t.Failed || t.Over():
		return deadline{}
	case !t.VanishedAt.IsZero():
		return deadline{after(t.VanishedAt, d.Settings.OrphanTimeout), fail(d.Settings.OrphanTimeout, "its agent did not come back")}
	case t.Phase == TaskWaiting:
		if !d.Connected {
			return deadline{}
		}
		return deadline{after(latest(t.PhaseAt, d.Framework.RegisteredAt), limits.Resources), func() {
			d.end(ExitNoResources, fmt.Sprintf("no resources within %s: %s", limits.Resources, d.Why)) // which names the task that is short
		}}
	case t.Phase == TaskStaging:
		return deadline{after(t.LaunchedAt, limits.Staging), fail(limits.Staging, "Mesos did not start it")}
	case t.Phase == TaskStarting:
		return deadline{after(t.RunningAt, limits.Registration), fail(limits.Registration, "its sidecar did not report a port")}
	case t.Phase == TaskRegistered && d.ClusterDef != nil && !d.hasCommand(t):
		return deadline{after(latest(d.CompletedAt, t.RegisteredAt), limits.Serving), fail(limits.Serving, "its server did not answer")}
	}
	return deadline{}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// nextWake returns the earliest time at which settle has something to do of its own.
func (d *decider) nextWake() time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if d.Phase == PhaseEnding {
		consider(d.endBy())
		for i := range d.Tasks {
			if t := &d.Tasks[i]; t.Live() && d.Connected {
				consider(d.killAt(t))
			}
		}
	} else {
		for _, limit := range d.deadlines() {
			consider(limit.at)
		}
	}
	if d.Connected {
		consider(d.Round.Due())
		for _, o := range d.Offers {
			consider(o.Until)
		}
		consider(d.stagingDue())
		consider(d.reviveDue())
	}
	return next
}

// stagingDue is when the master must be asked about a silent launch, while no round does that already.
func (d *decider) stagingDue() time.Time {
	var due time.Time
	if !d.Round.Due().IsZero() {
		return due
	}
	for i := range d.Tasks {
		if t := &d.Tasks[i]; t.Phase == TaskStaging {
			if at := latest(t.LaunchedAt, d.AskedAt).Add(askStaging); due.IsZero() || at.Before(due) {
				due = at
			}
		}
	}
	return due
}
