//go:build integration

package blackbox_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tfmesos/integration/tfpython"
)

// killed9 kills a process of a task and wants the run to end because of it.
func (r *run) killed9(p process, words ...string) {
	r.t.Helper()
	since := time.Now()
	r.kill9(p)
	r.endsInTime(since, 1, words...)
}

func (r *run) kill9(p process) {
	r.t.Helper()
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
		r.t.Fatalf("kill %s: %v", p, err)
	}
}

func TestAKilledProgramEndsTheRun(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.start(t, "--worker", "2", "--", "sleep", "1000")
		r.awaits("all 2 tasks ready")
		r.killed9(r.theProcess("worker-1", "sleep"), "worker:1", "signal 9")
	})
}

func TestAKilledSidecarEndsTheRun(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.start(t, "--worker", "2", "--", "sleep", "1000")
		r.awaits("all 2 tasks ready")
		r.killed9(r.theProcess("worker-0", "sidecar"), "worker:0", "signal Killed")
	})
}

func TestAKilledSidecarLeavesNothingOfItsProgram(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.start(t, pair("sleep 1000 & wait")...)
		r.awaits("all 2 tasks ready")
		r.killed9(r.theProcess("worker-0", "sidecar"), "worker:0", "signal Killed")
	})
}

func TestAKilledServerEndsTheRun(t *testing.T) {
	withTensorFlow(t, func(t *testing.T, p place) {
		r := p.start(t, "examples/servers/cluster.yaml")
		r.awaits(`all 3 tasks ready`)
		r.killed9(r.theProcess("worker-0", "python"), "worker:0", "signal 9")
	})
}

func TestAProgramThatCannotStartEndsTheRun(t *testing.T) {
	plain := write(t, "plain", "#!/bin/sh\n", 0o644)
	for _, c := range []struct{ name, program string }{
		{"no such file", "/no/such/program"},
		{"no such program", "no-such-program"},
		{"not executable", plain},
	} {
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p place) {
				r := p.start(t, "--worker", "2", "--", c.program)
				r.ends(2, "worker:", c.program)
			})
		})
	}
}

func TestTheExitCodeOfAProgramAndItsLastWordsAreInTheLastLine(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.start(t, pair(`[ $TFMESOS_TASK_INDEX = 1 ] || exec sleep 1000; echo going; echo "no more data" >&2; exit 3`)...)
		since := time.Now()
		r.endsInTime(since, 1, "worker:1", "exit code 3", "no more data")
	})
}

// pathOf is a PATH with nothing but these programs: NAME=FILE.
func pathOf(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWithoutPythonOrTensorFlowServersSaySo(t *testing.T) {
	t.Parallel()
	python := tfpython.Find(t)
	for _, c := range []struct {
		name     string
		programs map[string]string
		words    string
	}{
		{"no Python", nil, "no program python3"},
		{"no TensorFlow", map[string]string{"python3": "#!/bin/sh\nexec " + python + " -I -S \"$@\"\n"}, "No module named 'tensorflow'"}, // -S: without its packages
	} {
		t.Run(c.name, func(t *testing.T) {
			path := pathOf(t, c.programs)
			t.Run("local", func(t *testing.T) { place{path: path}.start(t, "examples/servers/cluster.yaml").ends(2, c.words) })
			t.Run("mesos", func(t *testing.T) { onMesos(t, path).start(t, "examples/servers/cluster.yaml").ends(2, c.words) })
		})
	}
}
