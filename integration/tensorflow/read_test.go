//go:build integration

// Package tensorflow_test asks TensorFlow itself what it makes of the TF_CONFIGs that shared/tf gives to tasks.
package tensorflow_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tfmesos/integration/tfpython"
	"tfmesos/scheduler/spec"
	"tfmesos/shared/tf"
)

// reading is what TensorFlow made of a TF_CONFIG.
type reading struct {
	Cluster tf.ClusterDef `json:"cluster"`
	Task    tf.ConfigTask `json:"task"`
	// These are multi_worker_util's: of a job that strategies know.
	IsChief          bool   `json:"is_chief"`
	WorkerCount      int    `json:"worker_count"`
	IDInCluster      int    `json:"id_in_cluster"`
	CollectiveLeader string `json:"collective_leader"`
	// Error is that of multi_worker_util, or of the resolver.
	Error string `json:"error"`
}

// reader is one Python that reads all configs: the import of TensorFlow is what takes time.
type reader struct {
	in     io.Writer
	out    *json.Decoder
	stderr *bytes.Buffer
}

func startReader(t *testing.T) *reader {
	t.Helper()
	cmd := exec.Command(tfpython.Find(t), "testdata/read.py") // ends with its stdin
	cmd.Env = pythonEnv(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{in: in, out: json.NewDecoder(out), stderr: &bytes.Buffer{}}
	r.out.DisallowUnknownFields()
	cmd.Stderr = r.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("read.py: %v\n%s", err, r.stderr)
		}
	})
	return r
}

func (r *reader) read(t *testing.T, config string) reading {
	t.Helper()
	var got reading
	_, err := fmt.Fprintln(r.in, config)
	if err == nil {
		err = r.out.Decode(&got)
	}
	if err != nil {
		t.Fatalf("TensorFlow does not read %s: %v\n%s", config, err, r.stderr)
	}
	return got
}

// pythonEnv is the environment of a Python that shall see no GPU, no TF_CONFIG of ours and only say what went wrong.
func pythonEnv(cmd *exec.Cmd, more ...string) []string {
	env := slices.DeleteFunc(cmd.Environ(), func(v string) bool { return strings.HasPrefix(v, "TF_CONFIG=") })
	return append(env, append([]string{"CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=1", "PYTHONDONTWRITEBYTECODE=1"}, more...)...)
}

// shape is a cluster_def with as many tasks a job, each at an address of its own.
func shape(jobs map[string]int) tf.ClusterDef {
	d, port := tf.ClusterDef{}, 2222
	for job, num := range jobs {
		for range num {
			d[job] = append(d[job], tf.JoinAddress("10.0.0.1", port))
			port++
		}
	}
	return d
}

// shapes are all clusters that strategies could get, up to two ps and three workers.
func shapes() []tf.ClusterDef {
	var all []tf.ClusterDef
	for chief := range 2 {
		for ps := range 3 {
			for worker := range 4 {
				for evaluator := range 2 {
					if chief+ps+worker+evaluator > 0 {
						all = append(all, shape(map[string]int{tf.Chief: chief, tf.PS: ps, tf.Worker: worker, tf.Evaluator: evaluator}))
					}
				}
			}
		}
	}
	return all
}

// tasks returns the task names of a cluster_def with the TF_CONFIG of each.
func tasks(t *testing.T, d tf.ClusterDef) ([]tf.TaskName, []tf.Config) {
	t.Helper()
	var names []tf.TaskName
	var configs []tf.Config
	for job, addresses := range d {
		for i := range addresses {
			name := tf.TaskName{JobName: job, TaskIndex: i}
			config, err := tf.ConfigFor(d, name)
			if err != nil {
				t.Fatal(err)
			}
			names, configs = append(names, name), append(configs, config)
		}
	}
	return names, configs
}

// wanted is what TensorFlow has to read for a task of a whole cluster d, said in our own words.
func wanted(d tf.ClusterDef, name tf.TaskName) reading {
	others := d.Clone()
	delete(others, tf.Evaluator)
	want := reading{
		Cluster: others, Task: tf.ConfigTask{Type: name.JobName, Index: name.TaskIndex},
		WorkerCount: len(d[tf.Chief]) + len(d[tf.Worker]),
	}
	first := tf.TaskName{JobName: tf.Worker}
	if len(d[tf.Chief]) > 0 {
		first = tf.TaskName{JobName: tf.Chief}
	}
	want.IsChief = name == first
	want.CollectiveLeader = fmt.Sprintf("/job:%s/replica:0/task:0", first.JobName)
	switch name.JobName {
	case tf.Worker:
		want.IDInCluster = len(d[tf.Chief]) + name.TaskIndex
	case tf.PS:
		want.WorkerCount, want.CollectiveLeader = 0, ""
	case tf.Evaluator:
		want.Cluster = tf.ClusterDef{tf.Evaluator: d[tf.Evaluator]}
		want.IsChief, want.WorkerCount, want.CollectiveLeader = true, 1, ""
	}
	return want
}

func TestTensorFlowReadsEveryConfig(t *testing.T) {
	r := startReader(t)
	t.Run("of every shape", r.everyShape)
	t.Run("of plain servers with any name, which see the whole cluster", r.plainServers)
	t.Run("of a spec with a master, which is the chief", r.master)
	t.Run("and refuses what a spec may not have", r.refusals)
}

func (r *reader) everyShape(t *testing.T) {
	read := 0
	for _, d := range shapes() {
		read += r.compare(t, d)
	}
	t.Logf("%d TF_CONFIGs of %d shapes", read, len(shapes()))
}

// compare reads the TF_CONFIG of each task of a cluster that is for strategies.
func (r *reader) compare(t *testing.T, d tf.ClusterDef) int {
	t.Helper()
	names, configs := tasks(t, d)
	for i, name := range names {
		if diff := cmp.Diff(wanted(d, name), r.read(t, configs[i].JSON())); diff != "" {
			t.Errorf("TF_CONFIG=%s reads otherwise (-want +got):\n%s", configs[i].JSON(), diff)
		}
	}
	return len(names)
}

func (r *reader) plainServers(t *testing.T) {
	d := shape(map[string]int{"reader_1": 2, "Trainer": 1, tf.Evaluator: 2, tf.Master: 1})
	names, configs := tasks(t, d)
	for i, name := range names {
		got := r.read(t, configs[i].JSON())
		if diff := cmp.Diff(d, got.Cluster); diff != "" {
			t.Errorf("%s does not see the whole cluster (-want +got):\n%s", name, diff)
		}
		if want := (tf.ConfigTask{Type: name.JobName, Index: name.TaskIndex}); got.Task != want {
			t.Errorf("%s is read as %+v", name, got.Task)
		}
		if !strings.Contains(got.Error, "Disallowed task type") {
			t.Errorf("a strategy takes %v: then a spec with such names and a command need not be refused", d)
		}
	}
}

func (r *reader) master(t *testing.T) {
	s, err := spec.Parse("spec", []byte("command: python x.py\njobs: [{name: master}, {name: worker, num: 2}]"), spec.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]int{}
	for _, job := range s.Jobs {
		jobs[job.Name] = job.Num
	}
	r.compare(t, shape(jobs))
}

// refusals shows that the rules of ConfigFor and of the spec are TensorFlow's own.
func (r *reader) refusals(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs map[string]int
		job  string
		want string
	}{
		{"two chiefs", map[string]int{tf.Chief: 2, tf.Worker: 1}, tf.Worker, "at most one 'chief'"},
		{"two evaluators", map[string]int{tf.Evaluator: 2}, tf.Evaluator, "at most one 'evaluator'"},
		{"a master", map[string]int{tf.Master: 1, tf.Worker: 1}, tf.Worker, "Disallowed task type"},
		{"a side job", map[string]int{tf.Worker: 1, "tensorboard": 1}, tf.Worker, "Disallowed task type"},
		{"an evaluator that is not listed", map[string]int{tf.Worker: 1}, tf.Evaluator, "KeyError: 'evaluator'"},
		{"a chief that is not listed", map[string]int{tf.Worker: 1}, tf.Chief, "'chief' not found"},
	} {
		config := tf.Config{Cluster: shape(c.jobs), Task: tf.ConfigTask{Type: c.job}}
		if got := r.read(t, config.JSON()); !strings.Contains(got.Error, c.want) {
			t.Errorf("%s: TensorFlow says %q, want %q", c.name, got.Error, c.want)
		}
	}
}
