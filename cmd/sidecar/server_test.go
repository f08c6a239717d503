package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// findPython looks for a Python in TFMESOS_TEST_PYTHON, the repository's .venv and PATH, and skips the test if none has
// TensorFlow; in CI that is a failure.
var findPython = sync.OnceValue(func() string {
	venv, _ := filepath.Abs("../../.venv/bin/python")
	for _, python := range []string{os.Getenv("TFMESOS_TEST_PYTHON"), venv, "python3"} {
		look := `import importlib.util, sys; sys.exit(importlib.util.find_spec("tensorflow") is None)`
		if python != "" && exec.Command(python, "-c", look).Run() == nil {
			return python
		}
	}
	return ""
})

func tensorflow(t *testing.T) string {
	t.Helper()
	python := findPython()
	if python == "" {
		const missing = "no Python with TensorFlow: put one in PATH or name it in TFMESOS_TEST_PYTHON"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip("SKIPPED: " + missing)
	}
	return python
}

// fakePython writes a Python without TensorFlow: server.py runs with a package tensorflow made of these files.
func fakePackage(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// fakeServer is a Server as TensorFlow's, which prints what it got, and listens.
const fakeServer = `
import os, socket, threading
class Server:
    def __init__(self, cluster, job_name, task_index, protocol, start):
        print("server", sorted(cluster), job_name, task_index, protocol, start, os.environ["TF_CONFIG"][:10], os.environ.get("no_proxy"))
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("0.0.0.0", int(cluster[job_name][task_index].rpartition(":")[2])))
        self.socket.listen()
    def join(self):
        threading.Event().wait()
`

const fakeInit = "import types\nfrom tensorflow.python.training import server_lib\ndistribute = types.SimpleNamespace(Server=server_lib.Server)\nprint('__init__ ran')\n"

// serverPhases is how server mode goes.
const serverPhases = "python_started imported serving"

func serve(t *testing.T, env ...string) (*running, *fakeScheduler) {
	t.Helper()
	f := newScheduler(t, worker1)
	s := startSidecar(t, f, env...)
	f.assign(pair)
	f.phase(callback.PhaseServing)
	if got := f.phaseNames(); got != serverPhases {
		t.Errorf("phases %s, want %s", got, serverPhases)
	}
	return s, f
}

// endServer stops it and checks that its end is taken for what it is.
func endServer(t *testing.T, s *running, f *fakeScheduler) {
	t.Helper()
	stop(s, syscall.SIGTERM)
	if code := s.exit(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	if ended := f.phase(callback.PhaseEnded); ended.Cause != callback.CauseStopped {
		t.Errorf("%+v", ended)
	}
}

func TestServerIsImportedLeanAndServesBesideTheHold(t *testing.T) {
	root := fakePackage(t, map[string]string{
		"tensorflow/__init__.py":                   "raise SystemExit('__init__ ran')",
		"tensorflow/python/__init__.py":            "raise SystemExit('__init__ ran')",
		"tensorflow/python/training/__init__.py":   "",
		"tensorflow/python/training/server_lib.py": fakeServer,
	})
	s, f := serve(t, "PYTHONPATH="+root, "http_proxy=http://127.0.0.1:9")
	if r := f.phase(callback.PhaseImported); r.Import != "lean" {
		t.Errorf("%+v", r)
	}
	endServer(t, s, f)
	if want := "server ['ps', 'worker'] worker 1 grpc True {\"cluster\" 10.0.0.7,10.0.0.8,127.0.0.1\n"; s.stdout.String() != want {
		t.Errorf("the server got %q, want %q", s.stdout, want)
	}
}

// installed are the files of a TensorFlow that pip has installed and that has a library of kernels beside its main one.
func installed(loadLibrary string) map[string]string {
	return map[string]string{
		"site-packages/tensorflow/__init__.py":                      fakeInit,
		"site-packages/tensorflow/python/__init__.py":               "",
		"site-packages/tensorflow/python/training/server_lib.py":    fakeServer,
		"site-packages/tensorflow/python/framework/load_library.py": loadLibrary,
		"site-packages/tensorflow/core/kernels/libtfkernel.so":      "",
	}
}

func TestLeanServerHasTheKernelsOfTheWholeImport(t *testing.T) {
	root := fakePackage(t, installed("import os\ndef load_library(folder): print('kernels', *os.listdir(folder))\n"))
	s, f := serve(t, "PYTHONPATH="+root+"/site-packages")
	if r := f.phase(callback.PhaseImported); r.Import != "lean" {
		t.Errorf("%+v", r)
	}
	endServer(t, s, f)
	if got := s.stdout.String(); !strings.HasPrefix(got, "kernels libtfkernel.so\nserver ") {
		t.Errorf("the libraries of kernels were not loaded before the server: %q", got)
	}
}

func TestKernelsThatCannotBeLoadedLeadToTheWholeImport(t *testing.T) {
	root := fakePackage(t, installed("def load_library(folder): raise RuntimeError('undefined symbol')\n"))
	s, f := serve(t, "PYTHONPATH="+root+"/site-packages")
	if r := f.phase(callback.PhaseImported); r.Import != "full" || !strings.Contains(r.Message, "RuntimeError: undefined symbol") {
		t.Errorf("%+v", r)
	}
	endServer(t, s, f)
}

func TestSurprisesFallBackToTheWholeImportAndSayWhy(t *testing.T) {
	usual := map[string]string{
		"tensorflow/__init__.py":                   fakeInit,
		"tensorflow/python/__init__.py":            "",
		"tensorflow/python/training/__init__.py":   "",
		"tensorflow/python/training/server_lib.py": fakeServer,
	}
	for _, c := range []struct {
		name, path, text, why string
		env                   string
	}{
		{"another layout", "tensorflow/__init__.py", "import types, elsewhere\ndistribute = types.SimpleNamespace(Server=elsewhere.Server)\n", "layout", ""},
		{"an import error", "tensorflow/python/training/server_lib.py", "import tensorflow\nif not hasattr(tensorflow, '__file__'): raise ImportError('not\\nlean')\n" + fakeServer, "ImportError: not lean", ""},
		{"plugins", "site-packages/tensorflow-plugins/lib.so", "", "plugins", ""},
		{"asked for", "other", "", "as asked for", "TFMESOS_TF_IMPORT=full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{c.path: c.text}
			for name, text := range usual {
				if c.name == "another layout" && strings.HasPrefix(name, "tensorflow/python/") {
					continue
				}
				if name != c.path {
					files[name] = text
				}
			}
			files["elsewhere.py"] = fakeServer
			root := fakePackage(t, files)
			s, f := serve(t, "PYTHONPATH="+root+":"+root+"/site-packages", c.env)
			if r := f.phase(callback.PhaseImported); r.Import != "full" || !strings.Contains(r.Message, c.why) {
				t.Errorf("%+v, want full because of %q", r, c.why)
			}
			endServer(t, s, f)
		})
	}
}

func TestServerModeWithoutWhatItNeedsSaysSo(t *testing.T) {
	empty := fakePackage(t, map[string]string{"tensorflow/__init__.py": "import no_such_part", "file.txt": ""})
	for _, c := range []struct {
		name    string
		env     []string
		code    int
		cause   callback.Cause
		message string
	}{
		{"no Python", []string{"TFMESOS_PYTHON=no-such-python"}, 127, callback.CauseNoPython, "no program no-such-python"},
		{"no TensorFlow", []string{"TFMESOS_PYTHON=" + bare(t)}, 97, callback.CauseNoTensorFlow, "No module named 'tensorflow'"},
		{"no TensorFlow, full", []string{"TFMESOS_PYTHON=" + bare(t), "TFMESOS_TF_IMPORT=full"}, 97, callback.CauseNoTensorFlow, "No module named 'tensorflow'"},
		{"a broken TensorFlow", []string{"PYTHONPATH=" + empty}, 1, callback.CauseProgram, "No module named 'no_such_part'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newScheduler(t, worker1)
			s := startSidecar(t, f, c.env...)
			if code := s.exit(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if ended := f.phase(callback.PhaseEnded); ended.Cause != c.cause || !strings.Contains(ended.Message, c.message) {
				t.Errorf("%+v, want %s, %q", ended, c.cause, c.message)
			}
		})
	}
}

// bare writes a Python that has no packages but its own.
func bare(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec python3 -S \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRealTensorFlowServes(t *testing.T) {
	python := tensorflow(t)
	for _, how := range []string{"lean", "full"} {
		t.Run(how, func(t *testing.T) {
			f := newScheduler(t, tf.TaskName{JobName: "worker"})
			s := startSidecar(t, f, "TFMESOS_PYTHON="+python, "TFMESOS_TF_IMPORT="+how, "TF_CPP_MIN_LOG_LEVEL=2")
			f.assign(tf.ClusterDef{"worker": {""}})
			serving := f.phase(callback.PhaseServing)
			imported := f.phase(callback.PhaseImported)
			if imported.Import != how {
				t.Errorf("imported %s (%s), want %s", imported.Import, imported.Message, how)
			}
			t.Logf("%s import: %s, then %s until it serves", how,
				imported.At.Sub(f.phase(callback.PhasePythonStarted).At).Round(time.Millisecond), serving.At.Sub(imported.At).Round(time.Millisecond))
			client := exec.CommandContext(t.Context(), python, "-c", `
import sys, tensorflow as tf
tf.config.experimental_connect_to_host(sys.argv[1])
with tf.device("/job:worker/task:0"):
    print("sum", int(tf.reduce_sum(tf.range(5))))`, fmt.Sprintf("127.0.0.1:%d", f.port()))
			out, err := client.Output()
			if err != nil || !strings.Contains(string(out), "sum 10") {
				t.Errorf("a program that uses the server: %v, %s", err, out)
			}
			endServer(t, s, f)
		})
	}
}

func TestRealTensorFlowAcceptsTheTFConfig(t *testing.T) {
	python := tensorflow(t)
	s, _, ended := runCommand(t, worker1, pair, command(python, "-c", `
import tensorflow as tf
r = tf.distribute.cluster_resolver.TFConfigClusterResolver()
print(r.task_type, r.task_id, r.cluster_spec().num_tasks("worker"), r.cluster_spec().task_address("ps", 0))`))
	if got := strings.TrimSpace(s.stdout.String()); got != "worker 1 2 10.0.0.7:4000" || ended.ExitCode != 0 {
		t.Errorf("TensorFlow reads TF_CONFIG as %q; %+v", got, ended)
	}
}

func TestKnownFault092ProgramsOwnServerFindsThePortFree(t *testing.T) {
	python := tensorflow(t)
	f := newScheduler(t, tf.TaskName{JobName: "worker"})
	s := startSidecar(t, f, command(python, "-c", `
import os, json, tensorflow as tf
c = json.loads(os.environ["TFMESOS_CLUSTER_DEF"])
tf.distribute.Server(c, job_name=os.environ["TFMESOS_JOB_NAME"], task_index=int(os.environ["TFMESOS_TASK_INDEX"])).join()`))
	f.assign(tf.ClusterDef{"worker": {""}})
	f.phase(callback.PhaseServing)
	dial(t, f.port())
	endServer(t, s, f)
}

func dial(t *testing.T, port int) {
	t.Helper()
	var dialer net.Dialer
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Errorf("the port does not answer: %v", err)
		return
	}
	c.Close()
}
