package tf

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestATaskNameIsWrittenInBothForms(t *testing.T) {
	n := TaskName{Worker, 12}
	if n.String() != "worker:12" {
		t.Errorf("people read %q, want worker:12", n)
	}
	if n.Device() != "/job:worker/task:12" {
		t.Errorf("TensorFlow reads %q, want /job:worker/task:12", n.Device())
	}
}

func TestParseTaskNameTakesOnlyTheShortForm(t *testing.T) {
	for text, want := range map[string]TaskName{
		"worker:0":      {Worker, 0},
		"ps:10":         {PS, 10},
		"my-job_2:3":    {"my-job_2", 3},
		"tensorboard:0": {"tensorboard", 0},
	} {
		if got, err := ParseTaskName(text); err != nil || got != want {
			t.Errorf("%q is read as %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ":", "worker", "worker:", ":1", "worker:-1", "worker:+1", "worker:01", "worker:1 ", "worker: 1",
		"worker:1:2", "worker:x", "worker:0x1", "worker:1e3", "worker:99999999999999999999", "/job:worker/task:1"} {
		if got, err := ParseTaskName(text); err == nil {
			t.Errorf("%q is taken for %v, want an error", text, got)
		}
	}
}

func TestEveryNameIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := TaskName{rapid.StringMatching(`[a-z0-9_-]{1,20}`).Draw(t, "job"), rapid.IntRange(0, 1<<40).Draw(t, "index")}
		if got, err := ParseTaskName(n.String()); err != nil || got != n {
			t.Fatalf("%q is read as %v (%v)", n, got, err)
		}
	})
}

func TestKnownFault069NamesAreOrderedByNumberNotByText(t *testing.T) {
	var names, want []TaskName
	for _, job := range []string{PS, Worker} {
		for i := range 12 {
			want = append(want, TaskName{job, i})
			names = slices.Insert(names, 0, TaskName{job, i})
		}
	}
	slices.SortFunc(names, TaskName.Compare)
	if !slices.Equal(names, want) {
		t.Errorf("sorted %v\n  want %v", names, want)
	}
}

func TestOnlyTheNamesOfStrategiesAreKnown(t *testing.T) {
	for _, job := range []string{Chief, Worker, PS, Evaluator} {
		if !KnownJob(job) {
			t.Errorf("%s is not known; TensorFlow's strategies take it", job)
		}
	}
	for _, job := range []string{"", Master, "Worker", "tensorboard", "ps "} {
		if KnownJob(job) {
			t.Errorf("%q is known; TensorFlow's strategies refuse it", job)
		}
	}
}
