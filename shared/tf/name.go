package tf

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// The job names that TensorFlow's strategies know. A program that reads TF_CONFIG accepts no other
// (multi_worker_util._validate_cluster_spec); a plain tf.distribute.Server takes any name.
const (
	Chief     = "chief"
	Worker    = "worker"
	PS        = "ps"
	Evaluator = "evaluator"
	// Master is the name TensorFlow 1 had for the chief. TensorFlow 2 refuses it, so it is read as Chief.
	Master = "master"
)

// TaskName is the identity of a TensorFlow task: it stays the same over every launch of it.
type TaskName struct {
	JobName   string
	TaskIndex int
}

// String returns the short form people write and read, "worker:1".
func (n TaskName) String() string { return n.JobName + ":" + strconv.Itoa(n.TaskIndex) }

// Device returns TensorFlow's form, "/job:worker/task:1".
func (n TaskName) Device() string { return fmt.Sprintf("/job:%s/task:%d", n.JobName, n.TaskIndex) }

// Compare orders by job name, then by index as a number, so that worker:10 comes after worker:9.
func (n TaskName) Compare(m TaskName) int {
	return cmp.Or(cmp.Compare(n.JobName, m.JobName), cmp.Compare(n.TaskIndex, m.TaskIndex))
}

// ParseTaskName reads the short form. Signs, leading zeros and anything else than JOB:INDEX are an error.
func ParseTaskName(text string) (TaskName, error) {
	job, index, found := strings.Cut(text, ":")
	n, err := strconv.Atoi(index)
	if !found || job == "" || err != nil || n < 0 || strconv.Itoa(n) != index {
		return TaskName{}, fmt.Errorf("tf: %q is no task name: want JOB:INDEX, as in worker:1", text)
	}
	return TaskName{JobName: job, TaskIndex: n}, nil
}

// KnownJob reports whether TensorFlow's strategies accept the job name in TF_CONFIG.
func KnownJob(name string) bool {
	switch name {
	case Chief, Worker, PS, Evaluator:
		return true
	}
	return false
}
