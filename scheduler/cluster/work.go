package cluster

import (
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// Work is what an Event implies.
//
// The loop must make the changed cluster durable before it sends any of Calls, and sends them in order, each after the
// answer to the one before.
type Work struct {
	Calls []Call
	Notes []Note
	// Probes are the addresses to connect to until something answers or the cluster ends.
	Probes []Probe
	// Drive is the driver to start, if it is time for it. It must be told to end when the cluster is ending.
	Drive *Drive
	// Wake is when to come back with Woken at the latest; zero: not needed.
	Wake time.Time
}

// Note is one thing that happened, for the log, the terminal and the events in Redis.
type Note struct {
	// Kind is a fixed word in snake_case, as in task_failed.
	Kind string
	// Task, Launch and AgentID are set when the note is about a task.
	Task    tf.TaskName
	Launch  int
	AgentID string
	// From and To are phases when the note tells of a move between them.
	From, To string
	Text     string
	// Bad marks what a person should look at.
	Bad bool
}

// Probe is where a launch without our sidecar is to answer.
type Probe struct {
	TaskID  string
	Address string // host:port
}

// Drive is a driver with what it must know.
type Drive struct {
	Argv []string
	// Env are the variables to set beside those that the scheduler has, sorted by name: TF_CONFIG with the cluster and
	// without a task, TFMESOS_TARGETS, and TFMESOS_SPEC_DIR if the spec has a directory.
	Env []EnvVar
}

// Call is what goes to the master.
type Call interface{ call() }

// Accept launches tasks on offers of one agent. What is left of them is declined for RefuseSeconds.
type Accept struct {
	OfferIDs      []string
	AgentID       string
	Role          string
	Launches      []Launch
	RefuseSeconds float64
}

// Launch is all that Mesos needs to start one launch of a task.
type Launch struct {
	TaskID string
	Task   tf.TaskName
	// Parts are the resources of the task, by their reservations.
	Parts []offer.Part
	// Argv is the program and its arguments, executed without a shell; none: the entrypoint of the image.
	Argv []string
	// Env is sorted by name; each name is there once.
	Env []EnvVar
	// Image is the container image; empty: a plain command of the Mesos containerizer.
	Image string
	// Docker chooses the Docker containerizer (host network) for the image, else the Mesos containerizer.
	Docker bool
	// ForcePull pulls the image whatever the agent has under its name.
	ForcePull bool
	// Parameters are further options of `docker run`.
	Parameters []Parameter
	Volumes    []Volume
	// URIs are fetched into the sandbox first.
	URIs []URI
	User string
	// KillGrace is the time between TERM and KILL that Mesos gives the task.
	KillGrace time.Duration
	// Labels are sorted by name.
	Labels []EnvVar
}

// EnvVar is a name with a value.
type EnvVar struct {
	Name, Value string
}

// Decline gives offers back for RefuseSeconds.
type Decline struct {
	OfferIDs      []string
	RefuseSeconds float64
}

// Acknowledge tells the agent that an update is stored.
type Acknowledge struct {
	TaskID  string
	AgentID string
	UUID    []byte
}

// Reconcile asks for the state of tasks; of all that the master knows if there are none.
type Reconcile struct {
	Tasks []TaskRef
}

// TaskRef names a launch and where it is.
type TaskRef struct {
	TaskID  string
	AgentID string
}

// Kill ends a launch. It is best effort: it is repeated until a terminal state comes.
type Kill struct {
	TaskID  string
	AgentID string
	Grace   time.Duration
}

// Suppress stops offers; Revive brings them back and clears all filters.
type (
	Suppress struct{}
	Revive   struct{}
)

// Teardown removes the framework with all its tasks. Nothing can be called after it.
type Teardown struct{}

func (Accept) call()      {}
func (Decline) call()     {}
func (Acknowledge) call() {}
func (Reconcile) call()   {}
func (Kill) call()        {}
func (Suppress) call()    {}
func (Revive) call()      {}
func (Teardown) call()    {}
