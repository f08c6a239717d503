package cluster

import (
	"tfmesos/scheduler/offer"
	"tfmesos/shared/callback"
)

// Event is whatever reaches Decide: events of Mesos, callbacks of sidecars, and the loop's own.
type Event interface{ event() }

// Subscribed: the master took our SUBSCRIBE. All offers known before are void.
type Subscribed struct {
	FrameworkID string
	Master      string // host:port of the leading master
}

// Disconnected: the subscription is gone; the Mesos client subscribes again by itself.
type Disconnected struct {
	Why string
}

// Refused: the master will not have this framework (an ERROR event, or 401, 403 on SUBSCRIBE). The client has stopped.
type Refused struct {
	Message string
}

// Offered: new offers.
type Offered struct {
	Offers []offer.Offer
}

// Rescinded: an offer is void.
type Rescinded struct {
	OfferID string
}

// Updated: a task status update. UUID is empty on what the master made up itself and on answers to RECONCILE; those need
// no acknowledgement and may lack every field but TaskID and State.
type Updated struct {
	TaskID  string
	AgentID string
	State   State
	UUID    []byte
	Reason  string // without the prefix REASON_
	Source  string // without the prefix SOURCE_
	Message string
	// Addresses are the container's IP addresses in the order Mesos lists them.
	Addresses []string
}

// AgentLost: a FAILURE event about an agent; only a hint that tasks there should be reconciled.
type AgentLost struct {
	AgentID string
}

// CallFailed: a call got no 2xx. Whether the master has acted on it is not known.
type CallFailed struct {
	Call Call
	Why  string
}

// Registered: a sidecar reports its port.
type Registered struct {
	TaskID       string
	Registration callback.Registration
}

// PhaseReported: a sidecar reports a phase.
type PhaseReported struct {
	TaskID string
	Report callback.PhaseReport
}

// Heard: a sidecar has called, whatever it wanted.
type Heard struct {
	TaskID string
}

// Answered: something answers at the address of a launch that has no sidecar of ours to say so.
type Answered struct {
	TaskID string
}

// DriverEnded: the driver is gone, or could not be started.
type DriverEnded struct {
	// ExitCode is its exit code, 128 + the signal's number if one ended it; 126 or 127 if it could not be started.
	ExitCode int
	// Message is why it could not be started, else its last words if it did not end well; may be empty.
	Message string
}

// Stopped: somebody ends the run.
type Stopped struct {
	ExitCode int    // of the run: 130, 143, 5, 4 …
	Reason   string // the sentence to it
	Now      bool   // end at once, without the grace
}

// Woken: the time that the last Work asked for has come.
type Woken struct{}

func (Subscribed) event()    {}
func (Disconnected) event()  {}
func (Refused) event()       {}
func (Offered) event()       {}
func (Rescinded) event()     {}
func (Updated) event()       {}
func (AgentLost) event()     {}
func (CallFailed) event()    {}
func (Registered) event()    {}
func (PhaseReported) event() {}
func (Heard) event()         {}
func (Answered) event()      {}
func (DriverEnded) event()   {}
func (Stopped) event()       {}
func (Woken) event()         {}
