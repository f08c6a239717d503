package cluster

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tfmesos/shared/tf"
)

func (d *decider) succeeded(t *Task) bool {
	return t.Phase == TaskDone || t.Ended != nil && !failed(*t.Ended)
}

// checkSuccess ends the run once the tasks that speak for it are done.
func (d *decider) checkSuccess() {
	speakers, need := d.speakers()
	var done []*Task
	for _, t := range speakers {
		if d.succeeded(t) {
			done = append(done, t)
		}
	}
	switch {
	case len(done) < need:
	case len(speakers) == 1:
		d.end(ExitSuccess, fmt.Sprintf("%s finished", speakers[0].Name))
	case need == len(speakers):
		d.end(ExitSuccess, "all programs finished")
	default:
		d.end(ExitSuccess, fmt.Sprintf("%d of %d programs finished, %d are enough", len(done), len(speakers), need))
	}
}

// speakers are the tasks whose programs decide, and of how many the success is enough: without a rule the chief's, else
// worker 0's, else all; with one the given part of the chief's and the workers'.
func (d *decider) speakers() (tasks []*Task, need int) {
	if d.Spec.Success == "" {
		for _, job := range []string{tf.Chief, tf.Worker} {
			if t := d.Task(tf.TaskName{JobName: job}); t != nil && d.hasCommand(t) {
				return []*Task{t}, 1
			}
		}
	}
	for i := range d.Tasks {
		t := &d.Tasks[i]
		trains := t.Name.JobName == tf.Chief || t.Name.JobName == tf.Worker
		if d.hasCommand(t) && !d.isSide(t) && (trains || d.Spec.Success == "") {
			tasks = append(tasks, t)
		}
	}
	return tasks, enough(d.Spec.Success, len(tasks))
}

// enough returns how many of n the rule demands, at least 1.
func enough(rule string, n int) int {
	switch rule {
	case "", "all":
		return max(1, n)
	case "any":
		return 1
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(rule, "%"), 64)
	if err != nil {
		return max(1, n) // the spec's check lets no other rule pass
	}
	return max(1, int(math.Ceil(float64(n)*percent/100-1e-9)))
}

// dispensable reports whether the run can still succeed though the task, which is marked as failed, has: it is one of those
// that a rule counts, and enough others are left. Before cluster_def is complete everybody is needed.
func (d *decider) dispensable(t *Task) bool {
	if d.Spec.Success == "" || d.ClusterDef == nil {
		return false
	}
	speakers, need := d.speakers()
	left, counts := 0, false
	for _, s := range speakers {
		counts = counts || s.Name == t.Name
		if !s.Failed {
			left++
		}
	}
	return counts && left >= need
}
