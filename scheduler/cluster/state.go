package cluster

// State is a Mesos task state, by its name in mesos.proto. A name that this version does not know is kept as it is,
// reported, and changes nothing.
type State string

// The task states of Mesos 1.11.
const (
	TaskStateStaging        State = "TASK_STAGING"
	TaskStateStarting       State = "TASK_STARTING"
	TaskStateRunning        State = "TASK_RUNNING"
	TaskStateKilling        State = "TASK_KILLING"
	TaskStateFinished       State = "TASK_FINISHED"
	TaskStateFailed         State = "TASK_FAILED"
	TaskStateKilled         State = "TASK_KILLED"
	TaskStateError          State = "TASK_ERROR"
	TaskStateDropped        State = "TASK_DROPPED"
	TaskStateGone           State = "TASK_GONE"
	TaskStateLost           State = "TASK_LOST"
	TaskStateUnreachable    State = "TASK_UNREACHABLE"
	TaskStateGoneByOperator State = "TASK_GONE_BY_OPERATOR"
	TaskStateUnknown        State = "TASK_UNKNOWN"
)

// Terminal reports whether nothing can come after the state: the process is gone for sure. TASK_LOST, TASK_UNREACHABLE,
// TASK_GONE_BY_OPERATOR and TASK_UNKNOWN are not: a task in one of them may run, and come back.
func (s State) Terminal() bool {
	switch s {
	case TaskStateFinished, TaskStateFailed, TaskStateKilled, TaskStateError, TaskStateDropped, TaskStateGone:
		return true
	}
	return false
}

// Vanished reports whether Mesos does not know what became of the task.
func (s State) Vanished() bool {
	switch s {
	case TaskStateLost, TaskStateUnreachable, TaskStateGoneByOperator, TaskStateUnknown:
		return true
	}
	return false
}

// Known reports whether this version knows the state.
func (s State) Known() bool {
	switch s {
	case TaskStateStaging, TaskStateStarting, TaskStateRunning, TaskStateKilling:
		return true
	}
	return s.Terminal() || s.Vanished()
}
