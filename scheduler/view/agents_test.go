package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

func tasksOf(job string, indices ...int) (tasks []tf.TaskName) {
	for _, i := range indices {
		tasks = append(tasks, tf.TaskName{JobName: job, TaskIndex: i})
	}
	return tasks
}

func TestAgentsAreListedWithWhatIsFree(t *testing.T) {
	parts := func(cpus, mem float64) []offer.Part {
		return []offer.Part{{Resources: offer.Resources{CPUs: offer.FromFloat(cpus), Mem: offer.FromFloat(mem)}}}
	}
	var b strings.Builder
	Agents(&b, []offer.Agent{
		{Offer: offer.Offer{Hostname: "a1.lab", Parts: parts(0.5, 8192), Attributes: []offer.Attribute{{Name: "rack", Values: []string{"r1"}}}}, Total: parts(8, 16384), Others: offer.Resources{CPUs: 2000}},
		{Offer: offer.Offer{Hostname: "a10.lab"}, Down: "draining"},
	})
	want := `
AGENT    CPUS   MEM         DISK  GPUS  ATTRIBUTES
a1.lab   0.5/8  8192/16384  0/0   0/0   rack:r1 (cpus 2 for other roles)
a10.lab  0/0    0/0         0/0   0/0   (draining)
`
	if diff := cmp.Diff(want, "\n"+b.String()); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

func TestTasksThatLackTheSameAreToldTogether(t *testing.T) {
	cpus := offer.Refusals{Offers: 2, Reasons: []offer.Reason{{Field: "cpus", Count: 2, Long: "too little cpus (largest 1 of 2)"}}}
	mem := offer.Refusals{Offers: 2, Reasons: []offer.Reason{{Field: "mem", Count: 1, Long: "too little mem (largest 1 of 2)"}}}
	var b strings.Builder
	f := cluster.Foresight{Places: []cluster.ForeseenPlace{{Hostname: "a1.lab", Tasks: append(tasksOf("ps", 0), tasksOf("worker", 0, 1, 2, 9, 10)...)}}}
	for _, task := range tasksOf("worker", 3, 4) {
		f.Short = append(f.Short, cluster.Shortage{Task: task, Refusals: cpus})
	}
	f.Short = append(f.Short, cluster.Shortage{Task: tasksOf("ps", 1)[0], Refusals: mem})
	Foresight(&b, f)
	want := `
  a1.lab           ps:0 worker:0-2 worker:9-10
  worker:3-4       waits: 2 agents: 2 too little cpus (largest 1 of 2)
  ps:1             waits: 2 agents: 1 too little mem (largest 1 of 2)
`
	if diff := cmp.Diff(want, "\n"+b.String()); diff != "" {
		t.Errorf("the lines (-want +got):\n%s", diff)
	}
}
