package local

import (
	"bytes"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/shared/logkey"
)

// agentStatus is an update that has to be acknowledged.
func (m *Mesos) agentStatus(t *task, state mesos.TaskState) mesos.TaskStatus {
	id := newUUID()
	ip := "127.0.0.1"
	container := &mesos.ContainerStatus{ContainerID: &mesos.ContainerID{Value: t.container}, NetworkInfos: []mesos.NetworkInfo{
		{IPAddresses: []mesos.NetworkInfo_IPAddress{{IPAddress: &ip}}},
	}}
	if t.process != nil {
		pid := uint32(t.process.pid)
		container.ExecutorPID = &pid
	}
	return mesos.TaskStatus{
		TaskID: t.info.TaskID, State: &state, UUID: id[:], Timestamp: timestamp(),
		Source: mesos.SOURCE_EXECUTOR.Enum(), AgentID: &mesos.AgentID{Value: m.agentID}, ExecutorID: &mesos.ExecutorID{Value: t.id()},
		ContainerStatus: container,
	}
}

// masterStatus is an update of the master: sent once, never acknowledged.
func (m *Mesos) masterStatus(id mesos.TaskID, agent string, state mesos.TaskState, reason mesos.TaskStatus_Reason, message string) mesos.TaskStatus {
	status := mesos.TaskStatus{
		TaskID: id, State: &state, Timestamp: timestamp(),
		Source: mesos.SOURCE_MASTER.Enum(), Reason: &reason, Message: &message,
	}
	if agent != "" {
		status.AgentID = &mesos.AgentID{Value: agent}
	}
	return status
}

func timestamp() *float64 {
	now := float64(time.Now().UnixNano()) / float64(time.Second)
	return &now
}

func (m *Mesos) sendStatus(f *framework, status mesos.TaskStatus) {
	m.send(f, &scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{Status: status}})
}

// update queues an update of a task. Only the first of the queue is in flight.
func (m *Mesos) update(t *task, status mesos.TaskStatus) {
	if t.framework.removed {
		if t.ended {
			delete(m.tasks, t.key())
		}
		return
	}
	t.updates = append(t.updates, status)
	if len(t.updates) == 1 {
		m.resend(t)
	}
}

// resend sends the first update, if there is one, and starts waiting anew.
func (m *Mesos) resend(t *task) {
	if len(t.updates) > 0 {
		t.wait = m.timing.resend
		m.forward(t, time.Now())
	}
}

// forward sends the first update and sets when it is sent again.
func (m *Mesos) forward(t *task, now time.Time) {
	head := t.updates[0]
	t.known = &head
	t.resendAt = now.Add(t.wait)
	t.wait = min(2*t.wait, m.timing.resendMax)
	m.sendStatus(t.framework, head)
}

// acknowledge takes the first update off the queue; other ids are those of
// updates that were sent twice, or of tasks that are no more.
func (m *Mesos) acknowledge(f *framework, call *scheduler.Call_Acknowledge) {
	t := m.tasks[taskKey{f.id, call.TaskID.Value}]
	if t == nil || call.AgentID.Value != m.agentID || len(t.updates) == 0 || !bytes.Equal(t.updates[0].UUID, call.UUID) {
		m.log.Debug("acknowledgement of nothing in flight", logkey.TaskID, call.TaskID.Value)
		return
	}
	t.updates, t.resendAt = t.updates[1:], time.Time{}
	if len(t.updates) == 0 && t.ended {
		delete(m.tasks, t.key())
		return
	}
	m.resend(t)
}
