package tf

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func configJSON(t *testing.T, def ClusterDef, job string, index int) string {
	t.Helper()
	config, err := ConfigFor(def, TaskName{job, index})
	if err != nil {
		t.Fatalf("TF_CONFIG of %s:%d: %v", job, index, err)
	}
	return config.JSON()
}

func TestKnownFault081TFConfigNamesTheOwnTask(t *testing.T) {
	def := ClusterDef{PS: {"a:1"}, Worker: {"a:2", "b:1", "c:1"}}
	got := configJSON(t, def, Worker, 1)
	want := `{"cluster":{"ps":["a:1"],"worker":["a:2","b:1","c:1"]},"task":{"type":"worker","index":1}}`
	if got != want {
		t.Errorf("worker:1 reads %s\n          want %s", got, want)
	}
}

func TestKnownFault082OnlyTheEvaluatorListsTheEvaluator(t *testing.T) {
	def := ClusterDef{Chief: {"a:1"}, Worker: {"b:1", "b:2"}, PS: {"c:1"}, Evaluator: {"d:1"}}
	for task, want := range map[TaskName]string{
		{Worker, 0}:    `{"cluster":{"chief":["a:1"],"ps":["c:1"],"worker":["b:1","b:2"]},"task":{"type":"worker","index":0}}`,
		{Chief, 0}:     `{"cluster":{"chief":["a:1"],"ps":["c:1"],"worker":["b:1","b:2"]},"task":{"type":"chief","index":0}}`,
		{Evaluator, 0}: `{"cluster":{"evaluator":["d:1"]},"task":{"type":"evaluator","index":0}}`,
	} {
		if got := configJSON(t, def, task.JobName, task.TaskIndex); got != want {
			t.Errorf("%s reads %s\n  want %s", task, got, want)
		}
	}
	if len(def) != 4 {
		t.Errorf("the cluster_def itself lost a job: %v", def)
	}
}

func TestPlainServersSeeTheWholeClusterEvenAnEvaluator(t *testing.T) {
	def := ClusterDef{"local": {"a:1"}, Evaluator: {"b:1"}}
	want := `{"cluster":{"evaluator":["b:1"],"local":["a:1"]},"task":{"type":"local","index":0}}`
	if got := configJSON(t, def, "local", 0); got != want {
		t.Errorf("local:0 reads %s\n        want %s", got, want)
	}
}

func TestThereIsNoTFConfigForATaskOutsideTheCluster(t *testing.T) {
	for _, task := range []TaskName{{Worker, 2}, {Worker, -1}, {PS, 0}, {"", 0}} {
		if config, err := ConfigFor(ClusterDef{Worker: {"a:1", "a:2"}}, task); err == nil {
			t.Errorf("%s, which the cluster does not have, reads %s", task, config.JSON())
		}
	}
}

func TestKnownFault069AddressesKeepTheirIndexPastNine(t *testing.T) {
	var addresses []string
	for i := range 12 {
		addresses = append(addresses, fmt.Sprintf("10.0.0.%d:%d", i, 5000-i))
	}
	var read struct {
		Cluster map[string][]string
		Task    struct {
			Type  string
			Index int
		}
	}
	if err := json.Unmarshal([]byte(configJSON(t, ClusterDef{Worker: addresses}, Worker, 11)), &read); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read.Cluster[Worker], addresses) || read.Task.Index != 11 {
		t.Errorf("worker:11 reads %v, want index 11 of %v", read, addresses)
	}
}

// clusterDefs draws a valid cluster_def of the given jobs, each there or not.
func clusterDefs(t *rapid.T, jobs ...string) ClusterDef {
	def := ClusterDef{}
	for _, job := range jobs {
		for i := range rapid.IntRange(0, 12).Draw(t, job) {
			def[job] = append(def[job], JoinAddress(job, i+1))
		}
	}
	return def
}

func TestNoTaskOfStrategiesListsTheEvaluatorButItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := clusterDefs(t, Chief, Worker, PS, Evaluator)
		for job, addresses := range def {
			for i := range addresses {
				config, err := ConfigFor(def, TaskName{job, i})
				if err != nil {
					t.Fatalf("%s:%d of %v: %v", job, i, def, err)
				}
				if _, listed := config.Cluster[Evaluator]; listed != (job == Evaluator) {
					t.Fatalf("%s:%d: the evaluator is listed: %v, in %s", job, i, listed, config.JSON())
				}
				if config.Cluster[job][config.Task.Index] != addresses[i] {
					t.Fatalf("%s:%d does not find its own address %s in %s", job, i, addresses[i], config.JSON())
				}
				if err := config.Cluster.Validate(); err != nil {
					t.Fatalf("%s:%d gets a cluster that no strategy takes: %v", job, i, err)
				}
			}
		}
	})
}

func TestOneUnknownJobMakesItAClusterOfPlainServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := clusterDefs(t, Chief, Worker, PS, Evaluator)
		def["other"] = []string{"other:1"}
		for job := range def {
			if config, err := ConfigFor(def, TaskName{job, 0}); err != nil || !config.Cluster.Equal(def) {
				t.Fatalf("%s:0 of %v sees %v (%v), want all of it", job, def, config.Cluster, err)
			}
		}
	})
}
