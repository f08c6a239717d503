//go:build integration

package python

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mesosrig "tfmesos/integration/mesos"
	"tfmesos/integration/tfpython"
)

// installed is a fresh virtual environment with the wheel in it. What it starts inherits the variable MARK with dir as its value.
type installed struct {
	dir    string
	python string
}

// install builds the wheel as `make wheel` does, and installs it, and nothing else, where TensorFlow can be seen.
func install(t *testing.T) installed {
	t.Helper()
	tensorflow := tfpython.Find(t)
	v := installed{dir: t.TempDir()}
	v.python = filepath.Join(v.dir, "venv", "bin", "python3")
	dist := filepath.Join(v.dir, "dist")
	build := exec.Command("make", "wheel", "DIST="+dist, "PYTHON="+tensorflow)
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("No matching distribution")) || bytes.Contains(out, []byte("ensurepip is not")) {
			missing(t, "what builds a wheel is missing: "+string(bytes.TrimSpace(out)))
		}
		t.Fatalf("make wheel: %v\n%s", err, out)
	}
	output(t, exec.Command(tensorflow, "-m", "venv", filepath.Join(v.dir, "venv")))
	wheels, _ := filepath.Glob(filepath.Join(dist, "tfmesos3-*-py3-none-linux_*.whl"))
	if len(wheels) != 1 {
		t.Fatalf("make wheel left %d wheels of this platform in %s, want 1", len(wheels), dist)
	}
	output(t, exec.Command(v.python, "-m", "pip", "install", "--quiet", "--no-index", wheels[0]))
	seen := output(t, exec.Command(tensorflow, "-c", `import importlib.util as u; print(u.find_spec("tensorflow").submodule_search_locations[0])`))
	own := output(t, exec.Command(v.python, "-c", `import sysconfig; print(sysconfig.get_path("purelib"))`))
	if err := os.WriteFile(filepath.Join(own, "tensorflow.pth"), []byte(filepath.Dir(seen)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return v
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// path is a PATH in which python3 is the one with the wheel.
func (v installed) path() string { return filepath.Dir(v.python) + ":" + os.Getenv("PATH") }

// runsWhatTFMesosDocuments runs its ways of use: the calls are its own, the import is ours, and TensorFlow is that of today.
func (v installed) runsWhatTFMesosDocuments(t *testing.T) {
	t.Run("constants on parameter servers", func(t *testing.T) { v.printsTheSum(t, "", "constants.py") })
	t.Run("a thread for each worker", func(t *testing.T) { v.printsTheSum(t, "", "threads.py", "-w", "2", "-s", "1", "-P", "grpc") })
	t.Run("a graph before the cluster", func(t *testing.T) { v.printsTheSum(t, "", "factors.py") })
	t.Run("a program with its hosts as arguments", func(t *testing.T) {
		scheduler := output(t, exec.Command(v.python, "-c", `from tfmesos3 import _child; print(_child.find_scheduler({}))`))
		cmd := exec.Command(scheduler, "run", "--local", "--ps", "1", "--worker", "2", "--", v.python, "testdata/replica.py",
			"--ps_hosts", "{ps_hosts}", "--worker_hosts", "{worker_hosts}", "--job_name", "{job_name}", "--worker_index", "{task_index}")
		cmd.Env = v.environ(t)
		stdout := output(t, cmd)
		if !strings.Contains(stdout, "the sum is 42") {
			t.Errorf("printed %q, want the sum is 42", stdout)
		}
		v.leavesNothing(t, 0)
	})
}

// environ is that of a user who has the wheel and nothing else of ours.
func (v installed) environ(t *testing.T) (environ []string) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); !strings.HasPrefix(name, "TFMESOS") && !strings.HasPrefix(name, "MESOS_") && name != "REDIS_URL" && name != "DOCKER_IMAGE" {
			environ = append(environ, pair)
		}
	}
	return append(environ, "MARK="+v.dir, "XDG_STATE_HOME="+filepath.Join(v.dir, "state"), "TMPDIR="+t.TempDir(), "TF_CPP_MIN_LOG_LEVEL=2")
}

// run runs a script of testdata as a user would who has the wheel and nothing else of ours.
func (v installed) run(t *testing.T, master string, script string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(v.python, append([]string{filepath.Join("testdata", script)}, args...)...)
	cmd.Env = v.environ(t)
	if master != "" {
		cmd.Env = append(cmd.Env, "MESOS_MASTER="+master)
	}
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	hang := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer hang.Stop()
	err = cmd.Run()
	return out.String(), log.String(), err
}

// leavesNothing fails the test when a process that was started by the scripts is there after the time one takes to be ended.
func (v installed) leavesNothing(t *testing.T, patience time.Duration) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var left []string
		directories, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range directories {
			if environ, err := os.ReadFile(filepath.Join(dir, "environ")); err == nil && bytes.Contains(environ, []byte("MARK="+v.dir+"\x00")) {
				line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
				left = append(left, filepath.Base(dir)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left:\n%s", strings.Join(left, "\n"))
		}
		time.Sleep(10 * time.Millisecond) // the end of processes that are not our children is no event to wait for
	}
}

func (v installed) printsTheSum(t *testing.T, master, script string, args ...string) string {
	t.Helper()
	stdout, stderr, err := v.run(t, master, script, args...)
	if err != nil || !strings.Contains(stdout, "the sum is 42\n") {
		t.Fatalf("%s: %v, printed %q, want the sum is 42; its log:\n%s", script, err, stdout, stderr)
	}
	v.leavesNothing(t, 0)
	return stdout
}

func TestTheWheelIsAllThatAScriptNeedsBesideTensorFlow(t *testing.T) {
	v := install(t)
	t.Run("a session on targets", func(t *testing.T) { v.printsTheSum(t, "", "plus.py") })
	t.Run("a strategy on cluster_def", func(t *testing.T) {
		// The address is nobody's: on one machine it does not matter.
		stdout := v.printsTheSum(t, "", "strategy.py", "192.0.2.81")
		const tasks = "tasks: ['ps:0 TASK_RUNNING', 'worker:0 TASK_RUNNING', 'worker:1 TASK_RUNNING']\n"
		if !strings.Contains(stdout, tasks) {
			t.Errorf("printed %q, want %q", stdout, tasks)
		}
	})
	t.Run("what tfmesos documents", v.runsWhatTFMesosDocuments)
	t.Run("jobs in parts and jobs of nothing", func(t *testing.T) {
		stdout := v.printsTheSum(t, "", "jobs.py")
		for _, want := range []string{"jobs: {'ps': 2, 'worker': 3}\n", "cpus: ps:0=1.0 ps:1=0.5 worker:0=1.0 worker:1=1.0 worker:2=1.0\n",
			"targets: /job:ps/task:0 /job:ps/task:1 /job:worker/task:0 /job:worker/task:1 /job:worker/task:2\n"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("printed %q, want %q", stdout, want)
			}
		}
	})
	t.Run("a script that is killed", func(t *testing.T) {
		_, stderr, err := v.run(t, "", "killed.py")
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != -1 {
			t.Fatalf("killed.py ended with %v, want by SIGKILL; its log:\n%s", err, stderr)
		}
		v.leavesNothing(t, 30*time.Second)
		status, _ := os.ReadFile(filepath.Join(v.dir, "state", "tfmesos", "killed", "final.json"))
		if !bytes.Contains(status, []byte("ended by SIGTERM")) {
			t.Errorf("the scheduler did not come to its end: final.json has %s", status)
		}
	})
	t.Run("on Mesos", func(t *testing.T) {
		rig := mesosrig.Start(t, mesosrig.WithAgentEnv("PATH="+v.path()))
		v.printsTheSum(t, rig.Master(), "plus.py")
		v.printsTheSum(t, rig.Master(), "strategy.py")
		v.printsTheSum(t, "", "constants.py", rig.Master())
		if frameworks := rig.State(t).Frameworks; len(frameworks) != 0 {
			t.Errorf("%d frameworks are left in Mesos, want none", len(frameworks))
		}
	})
}
