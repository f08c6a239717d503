//go:build integration

package conformance_test

import (
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

func (c *client) reconcile(pairs ...string) {
	c.t.Helper()
	call := &scheduler.Call_Reconcile{}
	for i := 0; i < len(pairs); i += 2 {
		asked := scheduler.Call_Reconcile_Task{TaskID: mesos.TaskID{Value: pairs[i]}}
		if pairs[i+1] != "" {
			asked.AgentID = &mesos.AgentID{Value: pairs[i+1]}
		}
		call.Tasks = append(call.Tasks, asked)
	}
	c.call(&scheduler.Call{Type: scheduler.Call_RECONCILE, Reconcile: call})
}

func (c *client) kill(task, agent string, grace time.Duration) {
	c.t.Helper()
	kill := &scheduler.Call_Kill{TaskID: mesos.TaskID{Value: task}, KillPolicy: &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: int64(grace)}}}
	if agent != "" {
		kill.AgentID = &mesos.AgentID{Value: agent}
	}
	c.call(&scheduler.Call{Type: scheduler.Call_KILL, Kill: kill})
}

func refuseFor(seconds float64) *mesos.Filters { return &mesos.Filters{RefuseSeconds: &seconds} }

func (c *client) decline(o mesos.Offer, seconds float64) {
	c.t.Helper()
	c.call(&scheduler.Call{Type: scheduler.Call_DECLINE, Decline: &scheduler.Call_Decline{OfferIDs: []mesos.OfferID{o.ID}, Filters: refuseFor(seconds)}})
}

// accept launches the tasks on the offers, and wants the rest not soon back.
func (c *client) accept(offers []mesos.Offer, tasks ...mesos.TaskInfo) {
	c.t.Helper()
	c.acceptFor(3600, offers, mesos.Offer_Operation{Type: mesos.Offer_Operation_LAUNCH, Launch: &mesos.Offer_Operation_Launch{TaskInfos: tasks}})
}

func (c *client) acceptFor(seconds float64, offers []mesos.Offer, operations ...mesos.Offer_Operation) {
	c.t.Helper()
	call := &scheduler.Call_Accept{Filters: refuseFor(seconds), Operations: operations, OfferIDs: []mesos.OfferID{}}
	for _, o := range offers {
		call.OfferIDs = append(call.OfferIDs, o.ID)
	}
	c.call(&scheduler.Call{Type: scheduler.Call_ACCEPT, Accept: call})
}

// launch takes an offer of the whole agent for tasks of one CPU each.
func (c *client) launch(script string, ids ...string) {
	c.t.Helper()
	o := c.wholeOffer()
	var tasks []mesos.TaskInfo
	for _, id := range ids {
		tasks = append(tasks, c.task(id, script))
	}
	c.accept([]mesos.Offer{o}, tasks...)
}

func (c *client) task(id, script string) mesos.TaskInfo {
	return mesos.TaskInfo{
		Name: "task", TaskID: mesos.TaskID{Value: id}, AgentID: mesos.AgentID{Value: c.agent},
		Resources: []mesos.Resource{scalar("cpus", 1), scalar("mem", 64)},
		Command:   &mesos.CommandInfo{Value: &script},
	}
}

func scalar(name string, value float64) mesos.Resource {
	return mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: value}}
}
