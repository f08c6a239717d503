package local

import (
	"fmt"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/logkey"
)

// accept turns offers into tasks. One bad offer spoils them all; a bad task
// only itself. What the tasks do not use counts as declined.
func (m *Mesos) accept(f *framework, call *scheduler.Call_Accept) {
	role, pool, problem := m.takeOffers(f, call.OfferIDs)
	if problem != "" {
		m.log.Warn("offers refused", logkey.FrameworkID, f.id, logkey.Reason, problem)
		for _, op := range call.Operations {
			m.dropOperation(f, op, problem)
		}
		return
	}
	launched := false
	for _, op := range call.Operations {
		if problem := invalidResource(op.Launch.GetTaskInfos()); problem != "" {
			for _, info := range op.Launch.GetTaskInfos() {
				m.refuseTask(f, info, mesos.REASON_TASK_INVALID, problem)
			}
			continue
		}
		if op.Type != mesos.Offer_Operation_LAUNCH {
			m.refuseOperation(f, op, fmt.Sprintf("local mode only launches commands: it does not do %s", op.Type))
			continue
		}
		for _, info := range op.Launch.GetTaskInfos() {
			need, problem := m.validateTask(f, &info, role, pool, op.ID != nil)
			if problem != "" {
				m.refuseTask(f, info, mesos.REASON_TASK_INVALID, problem)
				continue
			}
			pool = pool.Sub(need)
			m.launch(f, info, need)
			launched = true
		}
	}
	if pool != (offer.Resources{}) {
		atLeast := m.timing.refuseMin
		if launched {
			atLeast = 0 // what is left may come back at once: it is less than what was offered
		}
		f.refuse(role, pool, call.Filters, atLeast)
	}
}

// takeOffers ends the offers and returns their sum, or what is wrong with them.
func (m *Mesos) takeOffers(f *framework, ids []mesos.OfferID) (role string, sum offer.Resources, problem string) {
	if len(ids) == 0 {
		return "", sum, "No offers specified"
	}
	seen := map[string]bool{}
	complain := func(format string, args ...any) {
		if problem == "" {
			problem = fmt.Sprintf(format, args...)
		}
	}
	for _, id := range ids {
		o := m.offers[id.Value]
		switch {
		case seen[id.Value]:
			complain("Duplicate offer %s in offer list", id.Value)
		case o == nil || o.framework != f:
			complain("Offer %s is no longer valid", id.Value)
		case role != "" && o.role != role:
			complain("Aggregated offers must be allocated to the same role. Offer %s uses role '%s but another is using role '%s", id.Value, o.role, role)
		default:
			role, sum = o.role, sum.Add(o.resources)
		}
		seen[id.Value] = true
	}
	for _, id := range ids {
		if o := m.offers[id.Value]; o != nil && o.framework == f {
			delete(m.offers, o.id)
		}
	}
	return role, sum, problem
}

// dropOperation answers an operation on offers that are not valid.
func (m *Mesos) dropOperation(f *framework, op mesos.Offer_Operation, problem string) {
	state := mesos.TASK_DROPPED
	if !f.can(mesos.FrameworkInfo_Capability_PARTITION_AWARE) {
		state = mesos.TASK_LOST
	}
	tasks := append(op.Launch.GetTaskInfos(), groupTasks(op)...)
	for _, info := range tasks {
		m.sendStatus(f, m.masterStatus(info.TaskID, info.AgentID.Value, state, mesos.REASON_INVALID_OFFERS, "Task launched with invalid offers: "+problem))
	}
	if len(tasks) == 0 {
		m.refuseOperation(f, op, "Operation attempted with invalid offers: "+problem)
	}
}

// refuseOperation says that an operation was not done, as loudly as it can be said.
func (m *Mesos) refuseOperation(f *framework, op mesos.Offer_Operation, problem string) {
	m.log.Warn("operation refused", logkey.FrameworkID, f.id, logkey.Call, op.Type.String(), logkey.Reason, problem)
	for _, info := range groupTasks(op) {
		m.refuseTask(f, info, mesos.REASON_TASK_GROUP_INVALID, problem)
	}
	if op.ID != nil && op.LaunchGroup == nil {
		m.send(f, &scheduler.Event{Type: scheduler.Event_UPDATE_OPERATION_STATUS, UpdateOperationStatus: &scheduler.Event_UpdateOperationStatus{
			Status: mesos.OperationStatus{OperationID: op.ID, State: mesos.OPERATION_ERROR, Message: &problem},
		}})
	}
}

func (m *Mesos) refuseTask(f *framework, info mesos.TaskInfo, reason mesos.TaskStatus_Reason, problem string) {
	m.log.Warn("task refused", logkey.TaskID, info.TaskID.Value, logkey.Reason, problem)
	m.sendStatus(f, m.masterStatus(info.TaskID, info.AgentID.Value, mesos.TASK_ERROR, reason, problem))
}

func groupTasks(op mesos.Offer_Operation) []mesos.TaskInfo {
	group := op.LaunchGroup.GetTaskGroup()
	return group.Tasks
}
