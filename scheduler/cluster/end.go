package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// Exit codes of a run.
const (
	ExitSuccess     = 0
	ExitJobFailed   = 1   // a task failed
	ExitUsage       = 2   // usage, spec, name or port taken, nothing to run with
	ExitNoResources = 3   // no resources before the deadline
	ExitAway        = 4   // the framework was removed, or Mesos or Redis was out of reach longer than allowed
	ExitStopped     = 5   // stopped by command
	ExitInternal    = 70  // a fault of ours
	ExitDeadline    = 124 // the run's deadline
	ExitInterrupted = 130 // SIGINT
	ExitTerminated  = 143 // SIGTERM
)

const (
	// killRetry is the delay between two KILLs of a launch: the call is best effort.
	killRetry = 2 * time.Second
	// maxLostLaunches bounds launches of one task that Mesos lost before they ran, so that an endless refusal ends.
	maxLostLaunches = 20
)

// taskEnded folds a terminal state of a live launch.
func (d *decider) taskEnded(t *Task, ev Updated) {
	switch {
	case d.Phase == PhaseEnding || !t.KilledAt.IsZero():
		d.settleEnded(t)
	case t.Ended != nil:
		d.settleEnded(t)
	case d.lostInfancy(t, ev):
		d.relaunch(t, ev)
	case ev.State == TaskStateFinished && d.hasCommand(t):
		t.ExitCode = 0
		d.move(t, TaskDone, "finished")
		d.checkSuccess()
	default:
		d.fail(t, ExitJobFailed, describeUpdate(ev))
		d.settleEnded(t)
	}
}

// settleEnded gives a launch that was expected to end its last phase.
func (d *decider) settleEnded(t *Task) {
	why := t.Why
	if t.Failed {
		d.move(t, TaskFailed, why)
		t.Why = why
		return
	}
	d.move(t, TaskDone, "")
}

// failed reports whether a program's end is one that nobody asked for.
func failed(r callback.PhaseReport) bool {
	switch r.Cause {
	case callback.CauseStopped, callback.CauseSuperseded:
		return false
	}
	return r.ExitCode != 0 || r.Cause != callback.CauseProgram
}

func describeUpdate(ev Updated) string {
	text := string(ev.State)
	if ev.Reason != "" {
		text += " (" + ev.Reason + ")"
	}
	if ev.Message != "" {
		text += ": " + ev.Message
	}
	return text
}

// lostInfancy reports whether the launch ended before it did anything, through no fault of the job: its offer was void,
// or its agent went away.
func (d *decider) lostInfancy(t *Task, ev Updated) bool {
	if t.Port != 0 || t.Launch >= maxLostLaunches {
		return false
	}
	switch ev.State {
	case TaskStateDropped, TaskStateGone, TaskStateLost:
		return true
	case TaskStateError, TaskStateFailed:
		switch ev.Reason {
		case "INVALID_OFFERS", "AGENT_DISCONNECTED", "AGENT_REMOVED", "AGENT_RESTARTED", "AGENT_UNKNOWN", "RESOURCES_UNKNOWN", "GC_ERROR":
			return true
		}
	}
	return false
}

func (d *decider) relaunch(t *Task, ev Updated) {
	d.noteTask(t, "task_lost", describeUpdate(ev)+"; launching it again", true)
	d.move(t, TaskWaiting, "lost before it ran")
	*t = Task{Name: t.Name, Phase: t.Phase, PhaseAt: t.PhaseAt, Launch: t.Launch, ExitCode: -1, Why: "launch " + describeUpdate(ev)}
	d.Filtered, d.Told = true, "" // what we declined was of no use for others
}

// programEnded folds the sidecar's word on its child. It comes before the terminal state, which confirms it.
func (d *decider) programEnded(t *Task, r callback.PhaseReport) {
	if t.Ended != nil {
		return
	}
	t.Ended, t.ExitCode = &r, r.ExitCode
	switch {
	case d.Phase == PhaseEnding || !t.KilledAt.IsZero():
	case !failed(r) && d.hasCommand(t):
		d.move(t, TaskEnding, "program finished")
		d.checkSuccess()
	default:
		code := ExitJobFailed
		switch r.Cause {
		case callback.CauseNoPython, callback.CauseNoTensorFlow, callback.CauseNoProgram:
			code = ExitUsage
		}
		text := describeEnd(r)
		d.move(t, TaskEnding, text)
		d.fail(t, code, text)
	}
}

func describeEnd(r callback.PhaseReport) string {
	words := lastLine(r.Message)
	switch r.Cause {
	case callback.CauseNoPython, callback.CauseNoTensorFlow, callback.CauseNoProgram, callback.CauseSidecar, callback.CauseOrphaned:
		return words
	case callback.CauseSignal:
		return withWords(fmt.Sprintf("its program was ended by signal %d", r.ExitCode-128), words)
	}
	if r.ExitCode == 0 {
		return withWords("its server ended by itself", words)
	}
	return withWords(fmt.Sprintf("its program ended with exit code %d", r.ExitCode), words)
}

func withWords(text, words string) string {
	if words == "" {
		return text
	}
	return text + ": " + words
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// fail ends the run because of a task, unless it can do without: a side task's failure is told and costs nothing else, and
// so is that of a worker while enough others may still succeed.
func (d *decider) fail(t *Task, code int, text string) {
	t.Failed, t.Why = true, text
	if !d.isSide(t) && !d.dispensable(t) {
		d.end(code, fmt.Sprintf("%s: %s", t.Name, text))
	} else if t.Live() && t.Ended == nil && !t.State.Terminal() {
		d.kill(t)
	}
	d.noteTask(t, "task_failed", text, true)
}

// end decides the outcome. The first word counts.
func (d *decider) end(code int, reason string) {
	if d.Phase == PhaseEnding || d.Ended() {
		return
	}
	d.Phase, d.EndingAt, d.ExitCode, d.Reason, d.Why = PhaseEnding, d.now, code, reason, reason
	d.note(Note{Kind: "ending", Text: reason, Bad: code != ExitSuccess})
}

// bringToEnd kills what still lives, again and again, and finishes when nothing does or the grace is over.
func (d *decider) bringToEnd() {
	if d.Phase != PhaseEnding {
		return
	}
	live := d.Driving
	for i := range d.Tasks {
		t := &d.Tasks[i]
		if !t.Live() {
			continue
		}
		live = true
		if d.now.Before(d.killAt(t)) || !d.Connected {
			continue
		}
		d.kill(t)
	}
	if !live || !d.now.Before(d.endBy()) {
		d.finish()
	}
}

// endBy is when an end is over at the latest: the grace counts from the last that may finish by itself.
func (d *decider) endBy() time.Time {
	by := d.EndingAt
	for i := range d.Tasks {
		if t := &d.Tasks[i]; t.Live() && d.lingers(t) {
			by = d.EndingAt.Add(d.Spec.Deadlines.Ending)
		}
	}
	return by.Add(d.Settings.Grace)
}

func (d *decider) kill(t *Task) {
	t.KilledAt = d.now
	d.move(t, TaskEnding, t.Why)
	d.call(Kill{TaskID: t.TaskID, AgentID: t.AgentID, Grace: killGrace(d.Settings.Grace)})
}

// killAt is when a live task of an ending cluster gets its next KILL.
func (d *decider) killAt(t *Task) time.Time {
	switch {
	case !t.KilledAt.IsZero():
		return t.KilledAt.Add(killRetry)
	case t.Ended != nil: // its sidecar is leaving by itself
		return d.EndingAt.Add(killRetry)
	case d.lingers(t):
		return d.EndingAt.Add(d.Spec.Deadlines.Ending)
	}
	return d.EndingAt
}

// lingers reports whether a program may finish by itself after a success. Without a ps, workers reach their ends together;
// with one they serve until they are ended. An evaluator has the last checkpoint before it.
func (d *decider) lingers(t *Task) bool {
	if d.ExitCode != ExitSuccess || d.Hurry || !d.hasCommand(t) {
		return false
	}
	switch t.Name.JobName {
	case tf.Evaluator:
		return true
	case tf.Worker, tf.Chief:
		return !slices.ContainsFunc(d.Spec.Jobs, func(j Job) bool { return j.Name == tf.PS && j.Num > 0 })
	}
	return false
}

// finish leaves nothing in Mesos: TEARDOWN removes the framework and whatever it still has.
func (d *decider) finish() {
	d.Phase, d.EndedAt = PhaseEnded, d.now
	d.Offers = nil
	if d.Framework.ID != "" {
		d.call(Teardown{})
	}
	d.note(Note{Kind: "ended", Text: d.Reason, Bad: d.ExitCode != ExitSuccess})
}
