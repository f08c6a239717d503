package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

var (
	noon    = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	worker1 = tf.TaskName{JobName: "worker", TaskIndex: 1}
)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func TestNoteLineSaysWhoAndWhat(t *testing.T) {
	for _, c := range []struct {
		note cluster.Note
		want string
	}{
		{cluster.Note{Kind: "subscribed", Text: "registered with master 10.0.0.5:5050"}, "12:00:00.250 ctr        registered with master 10.0.0.5:5050"},
		{cluster.Note{Kind: "waiting", Task: worker1, Text: "no agent has 2 gpus"}, "12:00:00.250 worker:1   waits: no agent has 2 gpus"},
		{cluster.Note{Kind: "task_phase", Task: worker1, From: "waiting", To: "staging", Text: "launched on a7.lab"}, "12:00:00.250 worker:1   starting: launched on a7.lab"},
		{cluster.Note{Kind: "task_phase", Task: worker1, To: "serving", Text: "answers at 10.0.3.14:41873"}, "12:00:00.250 worker:1   ready: answers at 10.0.3.14:41873"},
		{cluster.Note{Kind: "task_phase", Task: worker1, To: "done"}, ""},
		{cluster.Note{Kind: "task_failed", Task: worker1, Text: "its program ended with exit code 1", Bad: true}, "12:00:00.250 worker:1   failed: its program ended with exit code 1"},
		{cluster.Note{Kind: "call_failed", Text: "ACCEPT:\nno answer\n"}, "12:00:00.250 ctr        ACCEPT: / no answer"},
		{cluster.Note{Kind: "cluster_def", Text: "generation 1"}, ""},
		{cluster.Note{Kind: "ending", Text: "chief:0 finished"}, ""},
		{cluster.Note{Kind: "ended", Text: "chief:0 finished"}, ""},
	} {
		if got := NoteLine("ctr", c.note, at(0.25)); got != c.want {
			t.Errorf("note %s is shown as\n%q, want\n%q", c.note.Kind, got, c.want)
		}
	}
}

func TestTaskLineSaysTheBestItKnows(t *testing.T) {
	for _, c := range []struct {
		task cluster.Task
		want string
	}{
		{cluster.Task{Name: worker1, Phase: cluster.TaskWaiting, Why: "no agent has\n2 gpus"}, "worker:1     waiting     1.5s  no agent has / 2 gpus"},
		{cluster.Task{Name: worker1, Phase: cluster.TaskStaging, Hostname: "a7.lab", Address: "10.0.3.14"}, "worker:1     starting    1.5s  on a7.lab"},
		{cluster.Task{Name: worker1, Phase: cluster.TaskServing, Hostname: "a7.lab", Address: "10.0.3.14", Port: 41873}, "worker:1     ready       1.5s  10.0.3.14:41873 on a7.lab"},
		{cluster.Task{Name: worker1, Phase: cluster.TaskFailed, Hostname: "a7.lab", Why: "exit code 1"}, "worker:1     failed      1.5s  exit code 1"},
	} {
		c.task.PhaseAt = noon
		if got := TaskLine(&c.task, at(1.5)); got != c.want {
			t.Errorf("a %s task is shown as\n%q, want\n%q", c.task.Phase, got, c.want)
		}
	}
}

func TestLongTimesLoseTheirFractions(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Second: "0.0s", 599 * time.Second: "599.0s", 3*time.Hour + 250*time.Millisecond: "3h0m0s"} {
		if got := seconds(d); got != want {
			t.Errorf("%s is shown as %s, want %s", d, got, want)
		}
	}
}

// trained is a run that went well.
func trained() *cluster.Cluster {
	spec := cluster.Spec{Name: "ctr", Jobs: []cluster.Job{{Name: "chief", Num: 1, Command: []string{"train"}}, {Name: "worker", Num: 1}}}
	c := cluster.New(spec, 1, "0a1b2c", cluster.Settings{}, noon)
	c.Framework.RegisteredAt, c.LaunchedAt, c.CompletedAt = at(0.5), at(2.5), at(4)
	c.Tasks[0].RunningAt, c.Tasks[1].RunningAt = at(3), at(3.5)
	c.ReadyAt, c.EndingAt, c.EndedAt = at(5.25), at(65.25), at(65.5)
	return c
}

func TestSummaryAddsUpToTheWholeRun(t *testing.T) {
	want := []string{
		"ctr took 65.5s:",
		"     0.500 s  registering with the master",
		"     2.000 s  waiting for resources",
		"     1.000 s  starting the containers",
		"     0.500 s  reporting the ports",
		"     1.250 s  importing TensorFlow and serving",
		"    60.000 s  training",
		"     0.250 s  ending",
	}
	if diff := cmp.Diff(want, Summary(trained())); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestSummaryOfARunThatNeverStarted(t *testing.T) {
	c := trained()
	c.LaunchedAt, c.CompletedAt, c.ReadyAt, c.Tasks[0].RunningAt, c.Tasks[1].RunningAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	want := []string{"ctr took 65.5s:", "     0.500 s  registering with the master", "    64.750 s  until the end was decided", "     0.250 s  ending"}
	if diff := cmp.Diff(want, Summary(c)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestServersServeInTheSummary(t *testing.T) {
	c := trained()
	c.Spec.Jobs[0].Command = nil
	c.Spec.Jobs = append(c.Spec.Jobs, cluster.Job{Name: "tensorboard", Num: 1, Side: true, Command: []string{"tensorboard"}})
	if text := strings.Join(Summary(c), "\n"); !strings.Contains(text, "60.000 s  serving") || strings.Contains(text, "training") {
		t.Errorf("servers and a side task are said to train:\n%s", text)
	}
}

func TestLastLineIsOneLine(t *testing.T) {
	if got, want := LastLine("ctr", 1, "worker:1: its program\nfailed"), "ctr: worker:1: its program / failed; exit code 1"; got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
}

func TestStatusOfALiveRun(t *testing.T) {
	since, one := at(1), 1
	s := callback.Status{Name: "ctr", Run: 7, Phase: "training", Ready: 1, Total: 2, Why: "worker:1 waits: no agent has 2 gpus", Tasks: []callback.TaskStatus{
		{Task: "chief:0", Phase: "training", Launch: 1, Address: "10.0.3.14:41873", Hostname: "a7.lab", PhaseAt: &since},
		{Task: "worker:1", Phase: "waiting", Reason: "no agent has 2 gpus", PhaseAt: &since, ExitCode: &one},
	}}
	want := "ctr  run 7  training  1/2 ready\n" +
		"  worker:1 waits: no agent has 2 gpus\n" +
		"  chief:0      training    10.0s  10.0.3.14:41873        a7.lab           launch 1  \n" +
		"  worker:1     waiting     10.0s                                          launch 0  no agent has 2 gpus\n"
	var got bytes.Buffer
	Status(&got, s, at(11))
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestStatusOfAnEndedRunHasItsCodeAndNoClocks(t *testing.T) {
	since, ended, code := at(1), at(2), 3
	var got bytes.Buffer
	Status(&got, callback.Status{Name: "ctr", Run: 1, Phase: "ended", Total: 1, Why: "no resources", ExitCode: &code, EndedAt: &ended,
		Tasks: []callback.TaskStatus{{Task: "chief:0", Phase: "waiting", PhaseAt: &since}}}, at(5000))
	want := "ctr  run 1  ended  0/1 ready  exit code 3\n" +
		"  no resources\n" +
		"  chief:0      waiting                                                    launch 0  \n"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("status of an ended run (-want +got):\n%s", diff)
	}
}

func TestPlanShowsWhatWouldRun(t *testing.T) {
	size := offer.Resources{CPUs: 500, Mem: 1024000}
	spec := cluster.Spec{Name: "ctr", Driver: []string{"python", "plus.py"}, Jobs: []cluster.Job{
		{Name: "chief", Num: 1, Resources: size, Command: []string{"/bin/sh", "-c", "python train.py"}, Image: "tensorflow/tensorflow:2.21.0"},
		{Name: "worker", Num: 12, Resources: size},
		{Name: "tensorboard", Num: 1, Resources: size, Command: []string{"tensorboard"}, Side: true},
	}}
	want := "ctr: 14 tasks\n" +
		"  chief          1 × (cpus 0.5, mem 1024)  tensorflow/tensorflow:2.21.0  /bin/sh -c python train.py\n" +
		"  worker        12 × (cpus 0.5, mem 1024)  no image  tf.distribute.Server\n" +
		"  tensorboard    1 × (cpus 0.5, mem 1024)  no image  tensorboard (side)\n" +
		"  driver, here: python plus.py\n"
	var got bytes.Buffer
	Plan(&got, &spec)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}
