package cluster

import (
	"testing"
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

func TestATaskIsOfThePartThatHasItsIndex(t *testing.T) {
	spec := Spec{Name: "ctr", Jobs: []Job{
		{Name: tf.PS, Num: 1},
		{Name: tf.Worker, Num: 1},
		{Name: tf.Worker, Num: 2, Start: 1, Resources: offer.Resources{GPUs: offer.FromFloat(1)}},
		{Name: tf.Worker, Num: 1, Start: 3, Entrypoint: []string{"serve"}},
	}}
	c := New(spec, 1, "abc123", Settings{Sidecar: "sidecar"}, time.Unix(0, 0))
	d := &decider{Cluster: c}
	names := ""
	for i := range c.Tasks {
		names += c.Tasks[i].Name.String() + " "
		job := c.Spec.Job(c.Tasks[i].Name)
		launch := d.describe(&c.Tasks[i], job, "TOKEN")
		wantGPUs, wantProgram := 0.0, "sidecar"
		switch c.Tasks[i].Name {
		case tf.TaskName{JobName: tf.Worker, TaskIndex: 1}, tf.TaskName{JobName: tf.Worker, TaskIndex: 2}:
			wantGPUs = 1
		case tf.TaskName{JobName: tf.Worker, TaskIndex: 3}:
			wantProgram = "serve"
		}
		if got := askOf(job, launch.Task).Resources.GPUs.Float(); got != wantGPUs || launch.Argv[0] != wantProgram {
			t.Errorf("%s gets %g gpus and runs %s, want %g and %s", launch.Task, got, launch.Argv[0], wantGPUs, wantProgram)
		}
	}
	if want := "ps:0 worker:0 worker:1 worker:2 worker:3 "; names != want {
		t.Errorf("the tasks are %s, want %s", names, want)
	}
	if c.Spec.Job(tf.TaskName{JobName: "chief"}) != nil {
		t.Error("there is a job that nobody has named")
	}
}
