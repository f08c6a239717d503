package boot

import (
	"slices"
	"time"

	"tfmesos/shared/backoff"
	"tfmesos/shared/callback"
)

// Phase is where the sidecar is.
type Phase int

// The phases, in their order; see the package comment for what leads from one to the next.
const (
	Picking     Phase = iota // the port is not bound yet
	Registering              // the port is held; the scheduler has not answered yet
	Waiting                  // for a complete cluster_def
	Running                  // the child has been started, or configured in server mode
	Ending                   // the child is gone or shall go; there are processes left
	Finishing                // no process is left; output and `ended` are on their way
	Done                     // nothing more will happen
)

func (p Phase) String() string {
	return [...]string{"picking", "registering", "waiting", "running", "ending", "finishing", "done"}[p]
}

// Boot is the machine's state. The zero value is of no use: see New. Its fields are for reading only.
type Boot struct {
	setup Setup
	Phase Phase
	Port  int

	contact contact
	outbox  outbox
	child   child
	end     end

	assignment callback.Assignment // the latest complete one
	why        string              // what the cluster waits for, as it was noted last
}

// contact is the registration and then the long poll: one call at a time, for ever.
type contact struct {
	registered   bool
	busy         bool      // a call is under way
	askedAt      time.Time // when it began
	nextAt       time.Time // when the next is due; zero while busy
	attempt      int       // failures in a row
	last         time.Time // the last answer, or the start
	refusedSince time.Time // zero: not refused
}

// outbox keeps the reports that were not taken yet, in order.
type outbox struct {
	reports []callback.PhaseReport
	busy    bool
	nextAt  time.Time
	attempt int
}

// child is what is known of the child. At most one is started in a sidecar's life.
type child struct {
	asked      bool     // a Start was returned
	alive      bool     // from ChildStarted to ChildExited
	tree       bool     // from ChildStarted to TreeEmpty
	configured bool     // server mode: it got its Configure
	missing    bool     // Python said that there is no TensorFlow
	served     bool     // something answered at the port
	early      []Signal // for the child, received before ChildStarted
}

// end is how the sidecar leaves.
type end struct {
	cause   callback.Cause // empty: it does not leave yet
	code    int
	message string
	stops   int       // TERM and INT received
	killAt  time.Time // when the tree is killed; zero: that has been done, or nothing is to be ended
	exitAt  time.Time // when the sidecar leaves whatever is missing
}

// retry is how calls to a scheduler that is away are repeated. The first repeat is quick since a restarted scheduler is
// back at once.
var retry = backoff.Policy{First: 100 * time.Millisecond, Max: 5 * time.Second, Factor: 2}

// emptyPoll is the shortest time between two polls that brought no news: a scheduler holds a poll much longer.
const emptyPoll = time.Second

// New returns the machine before its first event.
func New(s Setup) Boot { return Boot{setup: s} }

// Step returns the machine after the event and the actions to do, in order. It changes nothing in b.
func Step(b Boot, ev Event, now time.Time) (Boot, []Action) {
	if b.Phase == Done {
		return b, nil
	}
	b.outbox.reports, b.child.early = slices.Clone(b.outbox.reports), slices.Clone(b.child.early)
	m := machine{Boot: b, now: now}
	m.take(ev)
	m.passTime()
	return m.Boot, m.actions
}

// Due returns when Step wants a Woken at the latest.
func (b Boot) Due() (time.Time, bool) {
	if b.Phase == Done || b.contact.last.IsZero() {
		return time.Time{}, false
	}
	due := b.end.exitAt
	if b.end.cause == "" {
		due = b.contact.last.Add(b.setup.OrphanTimeout)
	}
	for _, at := range []time.Time{b.contact.nextAt, b.outbox.nextAt, b.end.killAt} {
		if !at.IsZero() && at.Before(due) {
			due = at
		}
	}
	return due, true
}

type machine struct {
	Boot
	now     time.Time
	actions []Action
}

func (m *machine) act(a ...Action) { m.actions = append(m.actions, a...) }

func (m *machine) note(text string) { m.act(Note{Text: text}) }

func (m *machine) warn(text string) { m.act(Note{Warn: true, Text: text}) }

// take folds one event in; the state switch of the machine.
func (m *machine) take(ev Event) {
	switch ev := ev.(type) {
	case Started:
		m.started()
	case PortHeld:
		m.Port, m.Phase = ev.Port, max(m.Phase, Registering)
		m.contact.nextAt = m.now
	case PortFailed:
		m.leave(callback.CauseSidecar, ExitFault, "hold a port: "+ev.Reason)
	case Registered:
		m.registered(ev.Answer)
	case Assigned:
		m.assigned(ev.Assignment)
	case CallFailed:
		m.callFailed(ev)
	case Reported:
		m.reported()
	case ReportFailed:
		m.reportFailed(ev)
	case ChildStarted:
		m.childStarted()
	case ChildFailed:
		m.child.asked = false
		m.leave(ev.Cause, ev.Code, ev.Reason)
	case Imported:
		m.imported(ev)
	case TensorFlowMissing:
		m.child.missing = true
	case ServerStarted:
		m.act(Probe{Addresses: m.addresses()})
	case Answered:
		m.answered()
	case ChildExited:
		m.childExited(ev)
	case TreeEmpty:
		m.child.tree = false
		m.finish()
	case Signalled:
		m.signalled(ev.Signal)
	case Flushed:
		m.flushed()
	case Woken:
	default:
		panic("boot: unknown event")
	}
}

// passTime does what has become due.
func (m *machine) passTime() {
	if m.Phase == Done {
		return
	}
	reached := func(at time.Time) bool { return !at.IsZero() && !m.now.Before(at) }
	if m.end.cause == "" && reached(m.contact.last.Add(m.setup.OrphanTimeout)) {
		m.leave(callback.CauseOrphaned, ExitOrphaned, "no answer of the scheduler for "+m.setup.OrphanTimeout.String())
	}
	if reached(m.end.killAt) {
		m.kill("still there after the grace period")
	}
	if reached(m.end.exitAt) {
		m.warn("left before the scheduler took the last report")
		m.exit()
		return
	}
	if reached(m.contact.nextAt) {
		m.call()
	}
	if reached(m.outbox.nextAt) {
		m.send()
	}
}

// started does what needs no scheduler.
func (m *machine) started() {
	m.contact.last = m.now
	if m.setup.server() {
		m.child.asked = true
		m.act(Start{serverLaunch(m.setup)})
	}
	m.act(HoldPort{})
}
