package spec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
)

// anyText is any text of a line, without tabs: goccy/go-yaml writes those without quotes.
var anyText = rapid.StringMatching(`[ -~äß€😀]{0,20}`)

func drawSpec(t *rapid.T) cluster.Spec {
	s := cluster.Spec{
		Name:      rapid.SampledFrom([]string{"", "ctr", "a-9"}).Draw(t, "name"),
		Role:      rapid.SampledFrom([]string{"", "lab", "a/b", "*"}).Draw(t, "role"),
		Deadlines: cluster.DefaultDeadlines,
	}
	s.Deadlines.Run = time.Duration(rapid.IntRange(0, 1e6).Draw(t, "run")) * time.Second
	s.Deadlines.Staging = time.Duration(rapid.IntRange(0, 1e6).Draw(t, "staging")) * time.Millisecond
	for _, name := range []string{"chief", "ps", "worker", "evaluator"} {
		if name == "worker" || rapid.Bool().Draw(t, "has "+name) {
			s.Jobs = append(s.Jobs, drawJob(t, name))
		}
	}
	s.Containerizer = "MESOS"
	for _, j := range s.Jobs {
		if j.Image != "" {
			s.Containerizer = "DOCKER"
		}
	}
	return s
}

func drawJob(t *rapid.T, name string) cluster.Job {
	j := cluster.Job{Name: name, Num: 1, Resources: offer.Resources{
		CPUs: offer.Milli(rapid.IntRange(1, 64_000).Draw(t, "cpus")),
		Mem:  offer.Milli(rapid.IntRange(1, 1<<30).Draw(t, "mem")),
		GPUs: offer.Milli(rapid.IntRange(0, 16).Draw(t, "gpus") * 1000),
	}}
	if name == "ps" || name == "worker" {
		j.Num = rapid.IntRange(1, 100).Draw(t, "num")
	}
	if rapid.Bool().Draw(t, "command") {
		j.Command = append([]string{"python"}, rapid.SliceOfN(anyText, 0, 3).Draw(t, "arguments")...)
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[A-S_][A-Za-z0-9_]{0,8}`), 0, 3, rapid.ID).Draw(t, "env") {
		if j.Env == nil {
			j.Env = map[string]*string{}
		}
		j.Env[name] = rapid.Ptr(anyText, true).Draw(t, name)
	}
	if rapid.Bool().Draw(t, "image") {
		j.Image = "tensorflow/tensorflow:2.21.0"
		j.Workdir = rapid.SampledFrom([]string{"", "/src"}).Draw(t, "workdir")
		for i := range rapid.IntRange(0, 2).Draw(t, "volumes") {
			j.Volumes = append(j.Volumes, cluster.Volume{HostPath: "/data", ContainerPath: fmt.Sprintf("/mnt %d", i), ReadOnly: i == 1})
		}
	}
	return j
}

// written returns the fields of a spec as a person writes them.
func written(s cluster.Spec) map[string]any {
	var jobs []any
	for _, j := range s.Jobs {
		job := map[string]any{"name": j.Name, "num": j.Num, "cpus": j.Resources.CPUs.Float(), "mem": j.Resources.Mem.Float(),
			"gpus": j.Resources.GPUs.Float()}
		set(job, "command", j.Command, j.Command != nil)
		set(job, "env", j.Env, j.Env != nil)
		set(job, "image", j.Image, j.Image != "")
		set(job, "workdir", j.Workdir, j.Workdir != "")
		var volumes []string
		for _, v := range j.Volumes {
			volumes = append(volumes, v.HostPath+":"+v.ContainerPath+map[bool]string{true: ":ro"}[v.ReadOnly])
		}
		set(job, "volumes", volumes, volumes != nil)
		jobs = append(jobs, job)
	}
	all := map[string]any{"jobs": jobs, "deadlines": map[string]string{"run": s.Deadlines.Run.String(), "staging": s.Deadlines.Staging.String()}}
	set(all, "name", s.Name, s.Name != "")
	set(all, "role", s.Role, s.Role != "")
	return all
}

func set(m map[string]any, name string, v any, has bool) {
	if has {
		m[name] = v
	}
}

// writtenWell reports whether the YAML library reads what it wrote itself: it leaves a text such as "? !" without quotes.
func writtenWell(t *rapid.T, v any, text []byte) bool {
	var back any
	return yaml.Unmarshal(text, &back) == nil && reflect.DeepEqual(throughJSON(t, v), throughJSON(t, back))
}

func throughJSON(t *rapid.T, v any) (plain any) {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestWhatIsWrittenIsWhatIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawSpec(t)
		for name, marshal := range map[string]func(any) ([]byte, error){
			"JSON": json.Marshal,
			"YAML": func(v any) ([]byte, error) { return yaml.Marshal(v) },
		} {
			text, err := marshal(written(want))
			if err != nil {
				t.Fatal(err)
			}
			if name == "YAML" && !writtenWell(t, written(want), text) {
				continue
			}
			got, err := Parse("spec", text, Defaults{})
			if err != nil {
				t.Fatalf("a good spec in %s is refused:\n%v\n%s", name, err, text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s reads otherwise (-want +got):\n%s\n%s", name, diff, text)
			}
		}
	})
}

// FuzzParse looks for texts that end the program, and for Problems without a rule or on a line that is not there.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/[ks]*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range strings.Split(string(text), "parse\n") {
			input, _, _ := strings.Cut(section, "\n----\n")
			f.Add([]byte(input))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse("spec", text, Defaults{})
		if err == nil {
			if len(got.TaskNames()) == 0 {
				t.Error("a spec without a task was taken")
			}
			return
		}
		problems, ok := err.(Problems)
		if !ok || len(problems) == 0 {
			t.Fatalf("the error is %T, want Problems", err)
		}
		lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 1
		for _, p := range problems {
			if p.Rule == "" || p.Line > lines || p.Line > 0 && p.Column < 1 || strings.Contains(p.String(), "\x00") {
				t.Errorf("problem %+v is no help", p)
			}
		}
	})
}
