package local

import (
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// reconcile answers with the state of each named task, or of all tasks of the
// framework if it names none.
func (m *Mesos) reconcile(f *framework, call *scheduler.Call_Reconcile) {
	if len(call.Tasks) == 0 {
		for _, t := range m.tasksOf(f) {
			m.sendStatus(f, m.knownTask(t))
		}
		return
	}
	for _, asked := range call.Tasks {
		if t := m.tasks[taskKey{f.id, asked.TaskID.Value}]; t != nil {
			m.sendStatus(f, m.knownTask(t))
		} else {
			m.sendStatus(f, m.unknownTask(f, asked.TaskID, asked.AgentID))
		}
	}
}

// knownTask is what the master knows of a task: the last update that was
// forwarded, which may be older than what the agent has seen.
func (m *Mesos) knownTask(t *task) mesos.TaskStatus {
	state := mesos.TASK_STAGING
	var container *mesos.ContainerStatus
	if t.known != nil {
		state, container = t.known.GetState(), t.known.ContainerStatus
	}
	status := m.masterStatus(t.info.TaskID, m.agentID, state, mesos.REASON_RECONCILIATION, "Reconciliation: Latest task state")
	status.ContainerStatus = container
	return status
}

// unknownTask says that a task is gone if our agent is said to have it: the
// agent is here and does not. Of another agent nothing is known.
func (m *Mesos) unknownTask(f *framework, id mesos.TaskID, agent *mesos.AgentID) mesos.TaskStatus {
	state, message, agentID := mesos.TASK_UNKNOWN, "Reconciliation: Task is unknown", ""
	if agent != nil {
		agentID = agent.Value
	}
	if agentID == m.agentID {
		state, message = mesos.TASK_GONE, "Reconciliation: Task is unknown to the agent"
	}
	if !f.can(mesos.FrameworkInfo_Capability_PARTITION_AWARE) {
		state = mesos.TASK_LOST
	}
	return m.masterStatus(id, agentID, state, mesos.REASON_RECONCILIATION, message)
}
