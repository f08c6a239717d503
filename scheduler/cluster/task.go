package cluster

import (
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// Phase is where the cluster is.
type Phase string

// The phases of a cluster, in the order they come.
const (
	PhaseWaiting  Phase = "waiting"  // some task has no launch yet; ends when the whole gang is launched
	PhaseStarting Phase = "starting" // all launched; ends when every task is ready
	PhaseReady    Phase = "ready"    // all ready and no task has a command; ends by a stop
	PhaseTraining Phase = "training" // all ready, programs run; ends by the success policy or a failure
	PhaseEnding   Phase = "ending"   // the outcome is decided and tasks are being ended; at most Grace
	PhaseEnded    Phase = "ended"    // over: nothing of it is left in Mesos
)

// TaskPhase is where a task is.
type TaskPhase string

// The phases of a task; see the package comment for who moves it.
const (
	TaskWaiting    TaskPhase = "waiting"    // has no launch; Why says what it waits for
	TaskStaging    TaskPhase = "staging"    // launch is stored and on its way; ends with the first TASK_STARTING or TASK_RUNNING
	TaskStarting   TaskPhase = "starting"   // its container runs; ends when the sidecar reports a port
	TaskRegistered TaskPhase = "registered" // port known; ends when it serves or trains
	TaskServing    TaskPhase = "serving"    // its tf.distribute.Server answers
	TaskTraining   TaskPhase = "training"   // its program runs
	TaskEnding     TaskPhase = "ending"     // KILL was sent; ends with a terminal state
	TaskDone       TaskPhase = "done"       // over, and that is fine
	TaskFailed     TaskPhase = "failed"     // over, and that is not
)

// Task is a TensorFlow task with its current launch. Fields of the launch are empty while Phase is TaskWaiting.
type Task struct {
	Name    tf.TaskName
	Phase   TaskPhase
	PhaseAt time.Time
	// Why says what the task waits for or how it failed.
	Why string
	// Wait is what is known of a wait for a place; nil before the first offer, and once there is a launch. It is never
	// changed, only replaced.
	Wait *Wait

	// Launch counts launches from 1; 0 before the first. TaskID is the current launch's Mesos task_id.
	Launch   int
	TaskID   string
	AgentID  string
	Hostname string
	// Address is the host part of the task's address, an IP address as Mesos reports it; Port is the sidecar's report.
	Address string
	Port    int
	// Advertised is host:port as the sidecar wants its peers to dial it; empty: Address and Port.
	Advertised string
	GPUs       int
	// Grouped is what the agent has under the names that the spec's constraints count by, a JSON mapping; empty for none.
	Grouped string
	// State is Mesos' last word on the launch.
	State State
	// Reason is Mesos' reason of the last update, without the prefix REASON_.
	Reason string
	// Ended is what the sidecar said of its child's end; nil until then. ExitCode is -1 until one is known.
	Ended    *callback.PhaseReport
	ExitCode int
	// Failed: the task's failure is decided. Its phase becomes failed once the launch is over.
	Failed bool
	// TokenSHA256 is the lower-case hex SHA-256 of the launch's token; DownloadSHA256 that of its capability for files of the
	// download folder, empty if it has none to fetch.
	TokenSHA256, DownloadSHA256 string
	// KilledAt is when KILL was sent last, VanishedAt since when Mesos does not know what became of the launch.
	KilledAt, VanishedAt time.Time

	LaunchedAt, RunningAt, RegisteredAt, PythonStartedAt, ImportedAt, ServingAt, HeartbeatAt time.Time
	// Import is "lean" or "full" once server mode has imported TensorFlow.
	Import string
}

// Wait is why a task has no place.
type Wait struct {
	Since, LastOfferAt time.Time
	// Refusals has no reasons if the task itself has a place, and waits for the rest of the gang.
	offer.Refusals
}

// PeerAddress returns host:port at which peers dial the task; it is right once Port is known.
func (t *Task) PeerAddress() string {
	if t.Advertised != "" {
		return t.Advertised
	}
	return tf.JoinAddress(t.Address, t.Port)
}

// Ready reports whether the task does what it is for: its server answers, or its program runs (or is done).
func (t *Task) Ready() bool {
	return t.Phase == TaskServing || t.Phase == TaskTraining || t.Phase == TaskDone
}

// Live reports whether the current launch may have a process somewhere.
func (t *Task) Live() bool {
	switch t.Phase {
	case TaskStaging, TaskStarting, TaskRegistered, TaskServing, TaskTraining, TaskEnding:
		return true
	}
	return false
}

// Over reports whether the task will never run again.
func (t *Task) Over() bool { return t.Phase == TaskDone || t.Phase == TaskFailed }
