package boot

import "tfmesos/shared/callback"

// Event is something that happened.
type Event interface{ event() }

// Started: the sidecar runs. The first event, exactly once.
type Started struct{}

// PortHeld: the task's port is bound and held.
type PortHeld struct{ Port int }

// PortFailed: no port could be bound.
type PortFailed struct{ Reason string }

// Registered: the scheduler took the registration.
type Registered struct{ Answer callback.Registered }

// Assigned: the scheduler answered the long poll.
type Assigned struct{ Assignment callback.Assignment }

// CallFailed: the registration or the long poll failed.
type CallFailed struct {
	Failure  Failure
	Reason   string  // for people, without secrets
	Fraction float64 // of the jitter, from [0, 1)
}

// Reported: the scheduler took the report at the head of the outbox.
type Reported struct{}

// ReportFailed: it did not.
type ReportFailed struct {
	Failure  Failure
	Reason   string
	Fraction float64
}

// ChildStarted: the process exists.
type ChildStarted struct{}

// ChildFailed: the process could not be started; there is none.
type ChildFailed struct {
	Cause  callback.Cause
	Code   int
	Reason string
}

// Imported: Python has imported what it needs, How being ImportLean or ImportFull and Reason why it is not lean.
type Imported struct{ How, Reason string }

// TensorFlowMissing: Python found none, and leaves.
type TensorFlowMissing struct{ Reason string }

// ServerStarted: Python says that its server runs.
type ServerStarted struct{}

// Answered: the task's port took a connection.
type Answered struct{}

// ChildExited: the child is gone; descendants of it may still run.
type ChildExited struct {
	Code      int      // 128 + Signal's number if a signal ended it
	Signal    string   // its name, or empty
	LastWords []string // the last lines of its stderr, or of its stdout if it had none
}

// TreeEmpty: no descendant of the sidecar is left. Comes after ChildExited.
type TreeEmpty struct{}

// Signalled: the sidecar got a signal.
type Signalled struct{ Signal Signal }

// Flushed: the output was handed over, or that took too long.
type Flushed struct{}

// Woken: the time that Due named has come.
type Woken struct{}

func (Started) event()           {}
func (PortHeld) event()          {}
func (PortFailed) event()        {}
func (Registered) event()        {}
func (Assigned) event()          {}
func (CallFailed) event()        {}
func (Reported) event()          {}
func (ReportFailed) event()      {}
func (ChildStarted) event()      {}
func (ChildFailed) event()       {}
func (Imported) event()          {}
func (TensorFlowMissing) event() {}
func (ServerStarted) event()     {}
func (Answered) event()          {}
func (ChildExited) event()       {}
func (TreeEmpty) event()         {}
func (Signalled) event()         {}
func (Flushed) event()           {}
func (Woken) event()             {}

// Failure says what a failed call means.
type Failure int

const (
	// Away: the scheduler could not be reached or could not answer usefully; to be tried again.
	Away Failure = iota
	// Refused: it does not take our credentials.
	Refused
	// Superseded: it does not know this launch, or has a later one of the task.
	Superseded
	// Invalid: it does not take this request, and will not later.
	Invalid
	// Useless: it answers, but what this task needs has not come and will not.
	Useless
)

// Signal is a signal by its name.
type Signal string

// The signals the sidecar handles. TERM and INT end it; the others are passed on.
const (
	TERM Signal = "TERM"
	INT  Signal = "INT"
	HUP  Signal = "HUP"
	QUIT Signal = "QUIT"
	USR1 Signal = "USR1"
	USR2 Signal = "USR2"
)
