package boot

import (
	"time"

	"tfmesos/shared/callback"
)

// Action is something the loop has to do. It does those of one Step in order and waits for none of them; each is
// answered by the events that its comment names.
type Action interface{ action() }

// HoldPort: bind the task's port. Answer: PortHeld or PortFailed.
type HoldPort struct{}

// Start: start the child. Answer: ChildFailed, or ChildStarted and much later ChildExited and TreeEmpty; of a server
// also Imported or TensorFlowMissing, and ServerStarted.
type Start struct{ Launch Launch }

// Configure: hand its configuration to the Python of server mode.
type Configure struct{ Server Server }

// Probe: connect to the addresses until one takes it; Lazily: with growing pauses, since it may never come. Answer: Answered.
type Probe struct {
	Addresses []string
	Lazily    bool
}

// Register: report the port. Answer: Registered or CallFailed.
type Register struct{ Registration callback.Registration }

// Poll: wait for a cluster_def of another generation. Answer: Assigned or CallFailed.
type Poll struct{ Generation int }

// Report: send a phase. Answer: Reported or ReportFailed.
type Report struct{ Report callback.PhaseReport }

// Forward: send a signal to the child's process group.
type Forward struct{ Signal Signal }

// EndTree: ask all descendants to end (TERM).
type EndTree struct{}

// KillTree: kill all descendants until none is left.
type KillTree struct{}

// Flush: hand over what the child has written, until that time at most. Answer: Flushed.
type Flush struct{ Until time.Time }

// Exit: leave with this code. The last action.
type Exit struct{ Code int }

// Note: tell the log.
type Note struct {
	Warn bool
	Text string
}

func (HoldPort) action()  {}
func (Start) action()     {}
func (Configure) action() {}
func (Probe) action()     {}
func (Register) action()  {}
func (Poll) action()      {}
func (Report) action()    {}
func (Forward) action()   {}
func (EndTree) action()   {}
func (KillTree) action()  {}
func (Flush) action()     {}
func (Exit) action()      {}
func (Note) action()      {}
