package tf

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Config is the value of TF_CONFIG of one task.
type Config struct {
	// Cluster is what this task may know of the others; see ConfigFor.
	Cluster ClusterDef `json:"cluster"`
	// Task says which of them this one is.
	Task ConfigTask `json:"task"`
}

// ConfigTask is the "task" of TF_CONFIG; type is the job name and index the task index, a number.
type ConfigTask struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

// ConfigFor returns the TF_CONFIG of a task of the cluster d.
//
// The evaluator is a side-car of training: nothing listens at its address, so no other task may list it (a
// ParameterServerStrategy coordinator that does never returns), while the evaluator's own TF_CONFIG must
// (multi_worker_util.worker_count raises KeyError without) and needs nobody else's. A cluster in which some job
// has a name that strategies refuse is one for plain servers; there every task sees all of it.
func ConfigFor(d ClusterDef, task TaskName) (Config, error) {
	if task.TaskIndex < 0 || task.TaskIndex >= len(d[task.JobName]) {
		return Config{}, fmt.Errorf("tf: TF_CONFIG of %s: the cluster has %d of that job", task, len(d[task.JobName]))
	}
	cluster := d.Clone()
	if forStrategies(d) {
		if task.JobName == Evaluator {
			cluster = ClusterDef{Evaluator: cluster[Evaluator]}
		} else {
			delete(cluster, Evaluator)
		}
	}
	return Config{Cluster: cluster, Task: ConfigTask{Type: task.JobName, Index: task.TaskIndex}}, nil
}

func forStrategies(d ClusterDef) bool {
	return !slices.ContainsFunc(slices.Collect(maps.Keys(d)), func(job string) bool { return !KnownJob(job) })
}

// JSON returns the text for the environment variable TF_CONFIG, its keys sorted.
func (c Config) JSON() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	return string(text)
}
