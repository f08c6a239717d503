package spec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
)

func TestGoodSpecs(t *testing.T) { runSpecs(t, "specs/good") }

func TestBadSpecsTellAllProblemsAtOnce(t *testing.T) { runSpecs(t, "specs/bad") }

func TestKnownFault006GPUsThatAreNoWholeNumber(t *testing.T) { runSpecs(t, "known-faults/006") }

func TestKnownFault010VolumesThatAreNoAbsolutePaths(t *testing.T) { runSpecs(t, "known-faults/010") }

func TestKnownFault014CountsOfZeroAndBelow(t *testing.T) { runSpecs(t, "known-faults/014") }

func TestKnownFault070TwoJobsOfOneName(t *testing.T) { runSpecs(t, "known-faults/070") }

// runSpecs compares what the specs of a file become, or all their problems. The arguments of a case are defaults.
func runSpecs(t *testing.T, file string) {
	datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
		var defaults Defaults
		d.MaybeScanArgs(t, "name", &defaults.Name)
		d.MaybeScanArgs(t, "image", &defaults.Image)
		d.MaybeScanArgs(t, "role", &defaults.Role)
		d.MaybeScanArgs(t, "attributes", &defaults.Attributes)
		d.MaybeScanArgs(t, "containerizer", &defaults.Containerizer)
		got, err := Parse("ctr.yaml", []byte(d.Input), defaults)
		if err != nil {
			if diff := cmp.Diff(cluster.Spec{}, got); diff != "" {
				t.Errorf("a refused spec is not empty:\n%s", diff)
			}
			return err.Error() + "\n"
		}
		return show(t, got)
	})
}

// show returns one line for the cluster and one for each job.
func show(t *testing.T, s cluster.Spec) string {
	t.Helper()
	var b strings.Builder
	jobs := s.Jobs
	s.Jobs = nil
	if s.Deadlines == cluster.DefaultDeadlines {
		s.Deadlines = cluster.Deadlines{}
	}
	for _, v := range append([]any{s}, anys(jobs)...) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		line := strings.NewReplacer(`,"jobs":null`, "", `,"deadlines":{}`, "", `"jobs":null,`, "").Replace(string(text))
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

func anys[T any](s []T) []any {
	var all []any
	for _, v := range s {
		all = append(all, v)
	}
	return all
}

func TestYAMLAndJSONOfOneSpecAreEqual(t *testing.T) {
	yaml := `
name: ctr
image: tensorflow/tensorflow:2.21.0
command: [python, train.py]
env: {WANDB_API_KEY: null, N: 3}
jobs:
  - {name: chief}
  - {name: worker, num: 2, mem: 8GiB, gpus: 1, volumes: ["/a:/b:ro"]}
deadlines: {run: none, resources: 2m}
`
	json := `{"name": "ctr", "image": "tensorflow\/tensorflow:2.21.0", "command": ["python", "train.py"],
	"env": {"WANDB_API_KEY": null, "N": "3"},
	"jobs": [{"name": "chief"}, {"name": "worker", "num": 2, "mem": "8GiB", "gpus": 1.0, "volumes": ["/a:/b:ro"]}],
	"deadlines": {"run": 0, "resources": "2m"}}`
	fromYAML := mustParse(t, yaml)
	if diff := cmp.Diff(fromYAML, mustParse(t, json)); diff != "" {
		t.Errorf("the JSON reads otherwise than the YAML (-yaml +json):\n%s", diff)
	}
	three := "3"
	want := cluster.Job{
		Name: "worker", Num: 2, Image: "tensorflow/tensorflow:2.21.0", Command: []string{"python", "train.py"},
		Resources: offer.Resources{CPUs: 1000, Mem: 8192_000, GPUs: 1000},
		Env:       map[string]*string{"WANDB_API_KEY": nil, "N": &three},
		Volumes:   []cluster.Volume{{HostPath: "/a", ContainerPath: "/b", ReadOnly: true}},
	}
	if diff := cmp.Diff(want, fromYAML.Jobs[1]); diff != "" {
		t.Errorf("worker (-want +got):\n%s", diff)
	}
	if fromYAML.Deadlines.Resources != 2*time.Minute || fromYAML.Deadlines.Staging != cluster.DefaultDeadlines.Staging {
		t.Errorf("deadlines are %+v, want those of the spec and the defaults for the others", fromYAML.Deadlines)
	}
}

func mustParse(t *testing.T, text string) cluster.Spec {
	t.Helper()
	s, err := Parse("ctr.yaml", []byte(text), Defaults{})
	if err != nil {
		t.Fatalf("refused:\n%v\nin:\n%s", err, text)
	}
	return s
}

func TestJobsDoNotShareWhatTheyInherit(t *testing.T) {
	s := mustParse(t, "command: [a, b]\nenv: {A: 1}\nimage: i\nvolumes: [/a:/b]\njobs: [{name: worker}, {name: ps}]")
	s.Jobs[0].Command[0], s.Jobs[0].Volumes[0].HostPath, s.Jobs[0].Env["A"] = "changed", "changed", nil
	if other := s.Jobs[1]; other.Command[0] != "a" || other.Volumes[0].HostPath != "/a" || other.Env["A"] == nil {
		t.Errorf("a change of worker changed ps too: %+v", other)
	}
}

func TestTextsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"more than 1 MiB", strings.Repeat("#", maxText+1), "ctr.yaml: want at most 1048576 bytes, these are 1048577"},
		{"Latin-1", "name: a\njobs: [{name: w\xf6rker}]", "ctr.yaml:2:1: want UTF-8 text, in this line are other bytes"},
		{"a NUL byte", "\n\nname: a\x00", "ctr.yaml:3:1: want UTF-8 text, in this line are other bytes"},
		{"nothing", "", "ctr.yaml: the spec is empty: want jobs, as in docs/spec.md"},
		{"a comment", "# jobs:\n", "ctr.yaml: the spec is empty: want jobs, as in docs/spec.md"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse("ctr.yaml", []byte(c.text), Defaults{}); err == nil || err.Error() != c.want {
				t.Errorf("Parse says\n%v, want\n%s", err, c.want)
			}
		})
	}
}

func TestByteOrderMarkAndCarriageReturnsAreRead(t *testing.T) {
	s := mustParse(t, "\ufeffname: ctr\r\njobs:\r\n  - name: worker\r\n    num: 2\r\n")
	if s.Name != "ctr" || s.Jobs[0].Num != 2 {
		t.Errorf("a file of Windows reads as %+v", s)
	}
}

func TestValuesOfVariablesAreNeverShown(t *testing.T) {
	const secret = "hunter2"
	text := "jobs: [{name: worker}]\npassword: hunter2\nenv: {1A: hunter2, TF_CONFIG: hunter2, B: [hunter2], C: \"hunter2\\0\"}"
	_, err := Parse("ctr.yaml", []byte(text), Defaults{})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("the problems show the secret, or there are none:\n%v", err)
	}
	if _, err := Parse("ctr.yaml", []byte("jobs: [{name: worker}]\nenv: hunter2"), Defaults{}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("the problems show the secret, or there are none:\n%v", err)
	}
}

func TestExamplesAreGoodSpecs(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/cluster.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(file, text, Defaults{}); err != nil {
			t.Errorf("an example is refused:\n%v", err)
		}
	}
}
