package local

import (
	"fmt"
	"net"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
	"pgregory.net/rapid"

	"tfmesos/scheduler/offer"
)

// TestNothingIsEverCommittedTwice lets a random scheduler do what it likes to a
// master whose tasks never start, and counts after each step.
func TestNothingIsEverCommittedTwice(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	rapid.Check(t, func(t *rapid.T) { randomScheduler(t, newMesos(propertyConfig, propertyGPUs, listener)) })
}

var propertyConfig = Config{Resources: Resources{CPUs: 4, Mem: 1024, Disk: 10}, Logger: discard}

var propertyGPUs = []string{"GPU-a", "GPU-b", "GPU-c", "GPU-d"}

func randomScheduler(t *rapid.T, m *Mesos) {
	connect := func() {
		info := &mesos.FrameworkInfo{User: "u", Name: "n"}
		modern(info)
		capable(mesos.FrameworkInfo_Capability_GPU_RESOURCES)(info)
		if _, _, no := m.subscribe(&scheduler.Call_Subscribe{FrameworkInfo: info}, protobuf); no != nil {
			t.Fatal(no.text)
		}
	}
	connect()
	pick := func() *framework { return rapid.SampledFrom(sorted(m.frameworks)).Draw(t, "framework") }
	offers := func() (ids []mesos.OfferID) {
		for _, o := range sorted(m.offers) {
			if rapid.Bool().Draw(t, "this offer") {
				ids = append(ids, mesos.OfferID{Value: o.id})
			}
		}
		return ids
	}
	filters := func() *mesos.Filters { return refuseFor(rapid.SampledFrom([]float64{0, 3600}).Draw(t, "refuse")) }
	launched := 0
	step := func(do func(f *framework)) func(*rapid.T) {
		return func(*rapid.T) {
			do(pick())
			m.settle()
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"connect": func(t *rapid.T) {
			if len(m.frameworks) < 3 {
				connect()
			}
		},
		"decline": step(func(f *framework) { m.decline(f, &scheduler.Call_Decline{OfferIDs: offers(), Filters: filters()}) }),
		"revive":  step(func(f *framework) { f.revive(nil) }),
		"accept": step(func(f *framework) {
			var tasks []mesos.TaskInfo
			for range rapid.IntRange(0, 4).Draw(t, "tasks") {
				launched++
				tasks = append(tasks, mesos.TaskInfo{
					TaskID: mesos.TaskID{Value: fmt.Sprint(launched)}, AgentID: mesos.AgentID{Value: m.agentID}, Command: &mesos.CommandInfo{Value: &m.id},
					Resources: []mesos.Resource{scalar("cpus", rapid.Float64Range(0, 3).Draw(t, "cpus")), scalar("mem", rapid.Float64Range(0, 600).Draw(t, "mem")),
						scalar("gpus", float64(rapid.IntRange(0, 3).Draw(t, "gpus")))},
				})
			}
			m.accept(f, &scheduler.Call_Accept{OfferIDs: offers(), Filters: filters(), Operations: []mesos.Offer_Operation{
				{Type: mesos.Offer_Operation_LAUNCH, Launch: &mesos.Offer_Operation_Launch{TaskInfos: tasks}}}})
		}),
		"end of a task": step(func(*framework) {
			for _, task := range sorted(m.tasks) {
				if !task.ended && rapid.Bool().Draw(t, "this task") {
					if rapid.IntRange(0, 9).Draw(t, "hangs") > 0 {
						m.release(task)
					}
					m.end(task, mesos.TASK_FINISHED, nil, "")
				}
			}
		}),
		"": func(t *rapid.T) { checkBooks(t, m) },
	})
}

// checkBooks adds up what is used and offered, another way than the master does.
func checkBooks(t *rapid.T, m *Mesos) {
	var committed offer.Resources
	owner := map[string]string{} // of a device
	for _, task := range m.tasks {
		need := sumOf(task.info.Resources)
		if len(task.devices) > 0 && len(task.devices) != int(need.GPUs.Float()) || len(task.devices) == 0 && !task.ended && need.GPUs > 0 {
			t.Fatalf("task %s asked for %v and has %v", task.id(), need, task.devices)
		}
		for _, device := range task.devices {
			if owner[device] != "" {
				t.Fatalf("tasks %s and %s both have %s", owner[device], task.id(), device)
			}
			owner[device] = task.id()
		}
		need.GPUs = offer.FromFloat(float64(len(task.devices))) // after its end, too, if it hangs
		if task.ended {
			need = offer.Resources{GPUs: need.GPUs}
		}
		committed = committed.Add(need)
	}
	for _, o := range m.offers {
		committed = committed.Add(o.resources)
		if o.resources == (offer.Resources{}) {
			t.Fatal("an offer of nothing")
		}
	}
	if !m.total.Contains(committed) {
		t.Fatalf("%v are in use or offered, of %v", committed, m.total)
	}
}
