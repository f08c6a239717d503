package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// runCommand runs one program in a cluster to its end and returns what it printed and the report of its end.
func runCommand(t *testing.T, task tf.TaskName, d tf.ClusterDef, env ...string) (*running, *fakeScheduler, callback.PhaseReport) {
	t.Helper()
	f := newScheduler(t, task)
	s := startSidecar(t, f, env...)
	f.assign(d)
	code := s.exit()
	ended := f.phase(callback.PhaseEnded)
	if ended.ExitCode != code {
		t.Errorf("told the scheduler exit code %d and left with %d", ended.ExitCode, code)
	}
	return s, f, ended
}

func environment(printed string) map[string]string {
	env := map[string]string{}
	for line := range strings.Lines(printed) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	return env
}

func TestKnownFault081TFConfigNamesTheTask(t *testing.T) {
	s, f, _ := runCommand(t, worker1, pair, command("env"))
	var config tf.Config
	if err := json.Unmarshal([]byte(environment(s.stdout.String())["TF_CONFIG"]), &config); err != nil {
		t.Fatalf("TF_CONFIG: %v in\n%s", err, s.stdout)
	}
	if config.Task != (tf.ConfigTask{Type: "worker", Index: 1}) {
		t.Errorf("TF_CONFIG's task is %+v", config.Task)
	}
	want := pair.Clone()
	want["worker"][1] = tf.JoinAddress("127.0.0.1", f.port())
	if !config.Cluster.Equal(want) {
		t.Errorf("TF_CONFIG's cluster is %v, the scheduler's %v", config.Cluster, want)
	}
	if got := f.phaseNames(); got != "training ended" {
		t.Errorf("phases %s", got)
	}
}

func TestKnownFault082EvaluatorSeesOnlyItselfAndNobodySeesIt(t *testing.T) {
	all := tf.ClusterDef{"chief": {"10.0.0.1:1"}, "ps": {"10.0.0.2:1"}, "worker": {"10.0.0.3:1", "10.0.0.4:1"}, "evaluator": {"10.0.0.5:1"}}
	for _, task := range []tf.TaskName{{JobName: "evaluator"}, {JobName: "worker"}} {
		s, _, _ := runCommand(t, task, all, command("env"))
		var config tf.Config
		if err := json.Unmarshal([]byte(environment(s.stdout.String())["TF_CONFIG"]), &config); err != nil {
			t.Fatal(err)
		}
		if _, sees := config.Cluster["evaluator"]; sees != (task.JobName == "evaluator") || sees && len(config.Cluster) != 1 {
			t.Errorf("TF_CONFIG of %s has the cluster %v", task, config.Cluster)
		}
	}
}

func TestKnownFault083SingleTaskHasNoTFConfig(t *testing.T) {
	s, _, ended := runCommand(t, tf.TaskName{JobName: "worker"}, tf.ClusterDef{"worker": {""}}, command("env"), "TF_CONFIG=stale")
	env := environment(s.stdout.String())
	if text, set := env["TF_CONFIG"]; set {
		t.Errorf("a cluster of one task has TF_CONFIG=%s", text)
	}
	if env["TFMESOS_CLUSTER_DEF"] == "" || ended.ExitCode != 0 {
		t.Errorf("TFMESOS_CLUSTER_DEF=%q, %+v", env["TFMESOS_CLUSTER_DEF"], ended)
	}
}

func TestKnownFault088ProxyIsNeitherUsedNorInTheWay(t *testing.T) {
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 1)
	go func() {
		for {
			c, err := proxy.Accept()
			if err != nil {
				return
			}
			c.Close()
			asked <- struct{}{}
		}
	}()
	defer proxy.Close()
	dead := "http://" + proxy.Addr().String()
	s, _, _ := runCommand(t, worker1, pair, command("env"), "http_proxy="+dead, "HTTP_PROXY="+dead, "https_proxy="+dead, "no_proxy=.corp")
	env := environment(s.stdout.String())
	for _, name := range []string{"no_proxy", "NO_PROXY", "no_grpc_proxy"} {
		if env[name] != ".corp,10.0.0.7,10.0.0.8,127.0.0.1" {
			t.Errorf("%s=%q", name, env[name])
		}
	}
	select {
	case <-asked:
		t.Error("the sidecar called the proxy")
	default:
	}
}

func TestChildSeesNoCredentialsAndNoPlumbing(t *testing.T) {
	s, _, _ := runCommand(t, worker1, pair, command("env"), "TFMESOS2_CLIENT_PASSWORD="+token, "TFMESOS_GPUS=0",
		"NVIDIA_VISIBLE_DEVICES=all", "MINE=kept=as it is")
	if strings.Contains(s.stdout.String()+s.stderr.String(), token) {
		t.Error("the token is in the program's environment or in the log")
	}
	env := environment(s.stdout.String())
	for name, want := range map[string]string{"TFMESOS_CALLBACK": "", "TFMESOS_COMMAND": "", "TFMESOS_JOB_NAME": "worker",
		"TFMESOS_TASK_INDEX": "1", "TFMESOS_CLUSTER": "demo", "TFMESOS_GENERATION": "1", "PYTHONUNBUFFERED": "1",
		"CUDA_VISIBLE_DEVICES": "-1", "NVIDIA_VISIBLE_DEVICES": "void", "MINE": "kept=as it is"} {
		if env[name] != want {
			t.Errorf("%s=%q, want %q", name, env[name], want)
		}
	}
}

func TestOnlyKnownNamesAreReplacedInTheCommand(t *testing.T) {
	s, f, _ := runCommand(t, worker1, pair,
		command("printf", `%s\n`, "{ps_hosts}", "{job_name}:{task_index}", "{worker_hosts}|{chief_hosts}", "{other} {} {{port}} ${x}"))
	own := f.port()
	want := fmt.Sprintf("10.0.0.7:4000\nworker:1\n10.0.0.8:4001,127.0.0.1:%d|\n{other} {} {%d} ${x}\n", own, own)
	if s.stdout.String() != want {
		t.Errorf("the program got\n%swant\n%s", s.stdout, want)
	}
}

func TestKnownFault091ExitCodeAndCauseReachTheScheduler(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, command string
		code          int
		cause         callback.Cause
		message       string
	}{
		{"success", shell("exit 0"), 0, callback.CauseProgram, ""},
		{"its own code", shell("echo last words >&2; exit 3"), 3, callback.CauseProgram, "last words"},
		{"the highest code", shell("echo only stdout; exit 255"), 255, callback.CauseProgram, "only stdout"},
		{"SIGKILL", shell("kill -KILL $$"), 137, callback.CauseSignal, ""},
		{"SIGSEGV", shell("kill -SEGV $$"), 139, callback.CauseSignal, ""},
		{"no program", command("no-such-program-here"), 127, callback.CauseNoProgram, "there is no program no-such-program-here in PATH"},
		{"no file", command("./no/such/file"), 127, callback.CauseNoProgram, "there is no program ./no/such/file"},
		{"no program in a shell", shell("no-such-program-here"), 127, callback.CauseNoProgram, "not found"},
		{"not executable", command(plain), 126, callback.CauseNoProgram, "permission denied"},
		{"no TensorFlow", shell(`echo "ModuleNotFoundError: No module named 'tensorflow'" >&2; exit 1`), 1, callback.CauseNoTensorFlow, "No module named 'tensorflow'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, ended := runCommand(t, worker1, pair, c.command)
			if ended.ExitCode != c.code || ended.Cause != c.cause || !strings.Contains(ended.Message, c.message) || c.message == "" && ended.Message != "" {
				t.Errorf("got %d %s %q, want %d %s %q", ended.ExitCode, ended.Cause, ended.Message, c.code, c.cause, c.message)
			}
		})
	}
}

func TestMissingWorkdirIsTheSidecarsFault(t *testing.T) {
	_, _, ended := runCommand(t, worker1, pair, command("env"), "TFMESOS_WORKDIR=/no/such/folder")
	if ended.Cause != callback.CauseSidecar || !strings.Contains(ended.Message, "/no/such/folder") {
		t.Errorf("%+v", ended)
	}
}

func TestOutputReachesTheSchedulerWholeAndInOrderBeforeTheEnd(t *testing.T) {
	s, f, _ := runCommand(t, worker1, pair, shell("seq 1 5000; printf 'no newline'; echo oops >&2"))
	var want strings.Builder
	for i := 1; i <= 5000; i++ {
		fmt.Fprintf(&want, "stdout: %d\n", i)
	}
	want.WriteString("stdout: no newline\n")
	printed := f.printed()
	if strings.Replace(printed, "stderr: oops\n", "", 1) != want.String() || !strings.Contains(printed, "stderr: oops\n") {
		t.Errorf("the scheduler got %d bytes, want %d", len(printed), want.Len())
	}
	if !strings.HasSuffix(s.stdout.String(), "5000\nno newline") {
		t.Error("its own stdout lacks the end of the program's")
	}
}

func TestServingIsReportedWhenTheProgramListens(t *testing.T) {
	f := newScheduler(t, worker1)
	s := startSidecar(t, f, command("python3", "-c", `
import socket, sys, signal
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("0.0.0.0", int(sys.argv[1]))); s.listen()
signal.pause()`, "{port}"))
	f.assign(pair)
	f.phase(callback.PhaseServing)
	if got := f.phaseNames(); got != "training serving" {
		t.Errorf("phases %s", got)
	}
	stop(s, syscall.SIGTERM)
	if code := s.exit(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	if ended := f.phase(callback.PhaseEnded); ended.Cause != callback.CauseStopped {
		t.Errorf("%+v", ended)
	}
}

func TestSideTaskStartsWithoutACluster(t *testing.T) {
	f := newScheduler(t, tf.TaskName{JobName: "tensorboard"})
	s := startSidecar(t, f, "TFMESOS_SIDE=1", shell(`echo "{port} {ps_hosts} ${TF_CONFIG-unset}"`))
	if code := s.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if want := fmt.Sprintf("%d {ps_hosts} unset\n", f.port()); s.stdout.String() != want {
		t.Errorf("it printed %q, want %q", s.stdout, want)
	}
}

func stop(s *running, signal syscall.Signal) { _ = syscall.Kill(s.Process.Pid, signal) }

func TestKnownFault089StopReachesTheProgramBehindAShell(t *testing.T) {
	f := newScheduler(t, worker1)
	file := filepath.Join(t.TempDir(), "file")
	s := startSidecar(t, f, shell(fmt.Sprintf(
		`sh -c 'trap "echo saved > %[1]s; exit 0" TERM; echo ready > %[1]s.ready; while :; do sleep 0.05; done'; true`, file)))
	f.assign(pair)
	untilFile(t, file+".ready")
	began := time.Now()
	stop(s, syscall.SIGTERM)
	if got := untilFile(t, file); got != "saved" {
		t.Errorf("the program wrote %q at TERM", got)
	}
	s.exit()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the end took %s, more than the grace", took)
	}
	if ended := f.phase(callback.PhaseEnded); ended.Cause != callback.CauseStopped {
		t.Errorf("%+v", ended)
	}
}

func TestKnownFault089StopBeforeAnyProgramIsTheEnd(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		f := newScheduler(t, worker1)
		s := startSidecar(t, f, command("env"))
		f.port()
		stop(s, signal)
		if got := s.exit(); got != code {
			t.Errorf("%v: exit code %d, want %d", signal, got, code)
		}
		if ended := f.phase(callback.PhaseEnded); ended.Cause != callback.CauseStopped {
			t.Errorf("%+v", ended)
		}
	}
}

// stubborn ignores TERM in itself and in a child in a session of its own, whose pid it writes to the file.
func stubborn(file string) string {
	return shell(fmt.Sprintf(`trap "" TERM; setsid sh -c 'trap "" TERM; echo $$ > %s; while :; do sleep 0.05; done' & while :; do sleep 0.05; done`, file))
}

func TestKnownFault089GraceEndsWithKillOfAll(t *testing.T) {
	f := newScheduler(t, worker1)
	file := filepath.Join(t.TempDir(), "pid")
	s := startSidecar(t, f, stubborn(file), "TFMESOS_GRACE=600ms")
	f.assign(pair)
	pid := untilFile(t, file)
	stop(s, syscall.SIGTERM)
	if code := s.exit(); code != 137 {
		t.Errorf("exit code %d", code)
	}
	gone(t, pid)
	f.phase(callback.PhaseEnded)
}

func TestKnownFault089SecondStopKillsAtOnce(t *testing.T) {
	f := newScheduler(t, worker1)
	file := filepath.Join(t.TempDir(), "pid")
	s := startSidecar(t, f, stubborn(file), "TFMESOS_GRACE=1h")
	f.assign(pair)
	pid := untilFile(t, file)
	stop(s, syscall.SIGTERM)
	stop(s, syscall.SIGINT)
	if code := s.exit(); code != 137 {
		t.Errorf("exit code %d", code)
	}
	gone(t, pid)
}

func TestKnownFault090OrphansAreReapedAndTheProgramsCodeIsKept(t *testing.T) {
	f := newScheduler(t, worker1)
	file := filepath.Join(t.TempDir(), "zombies")
	s := startSidecar(t, f, command("python3", "-c", `
import os, sys, time
for i in range(50):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os._exit(7)
        os._exit(0)
    os.waitpid(pid, 0)
parent = os.getppid()
def zombies():
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open("/proc/%s/stat" % pid).read().rpartition(")")[2].split()
        except OSError:
            continue
        found += fields[0] == "Z" and int(fields[1]) == parent
    return found
end = time.time() + 10
while zombies() and time.time() < end:
    time.sleep(0.01)
print("zombies", zombies(), file=open(sys.argv[1], "w"))
sys.exit(42)`, file))
	f.assign(pair)
	if code := s.exit(); code != 42 {
		t.Errorf("exit code %d, want the program's 42", code)
	}
	if got := untilFile(t, file); got != "zombies 0" {
		t.Errorf("%s are left", got)
	}
}

func TestWhatOutlivesItsProgramIsEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	_, _, ended := runCommand(t, worker1, pair, shell(fmt.Sprintf("setsid sleep 3600 & echo $! > %s; exit 5", file)))
	gone(t, untilFile(t, file))
	if ended.ExitCode != 5 || ended.Cause != callback.CauseProgram {
		t.Errorf("%+v", ended)
	}
}

func TestOtherSignalsArePassedOn(t *testing.T) {
	f := newScheduler(t, worker1)
	file := filepath.Join(t.TempDir(), "got")
	s := startSidecar(t, f, shell(fmt.Sprintf(`
for s in HUP USR1 USR2 QUIT; do trap "echo $s > %[1]s.$s" $s; done
trap "exit 9" TERM; echo ready > %[1]s; while :; do sleep 0.02; done`, file)))
	f.assign(pair)
	untilFile(t, file)
	for name, signal := range map[string]syscall.Signal{"HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "QUIT": syscall.SIGQUIT} {
		stop(s, signal)
		untilFile(t, file+"."+name)
	}
	stop(s, syscall.SIGTERM)
	if code := s.exit(); code != 9 {
		t.Errorf("exit code %d, want the program's 9", code)
	}
}

func TestProgramDiesWithItsSidecar(t *testing.T) {
	f := newScheduler(t, worker1)
	file := filepath.Join(t.TempDir(), "pid")
	s := startSidecar(t, f, command("sh", "-c", fmt.Sprintf("echo $$ > %s; while :; do sleep 0.05; done", file)))
	f.assign(pair)
	pid := untilFile(t, file)
	stop(s, syscall.SIGKILL)
	s.exit()
	gone(t, pid)
}

func TestOrphanEndsItself(t *testing.T) {
	f := newScheduler(t, worker1)
	file := filepath.Join(t.TempDir(), "pid")
	s := startSidecar(t, f, shell(fmt.Sprintf("echo $$ > %s; exec sleep 3600", file)), "TFMESOS_ORPHAN_TIMEOUT=1s", "TFMESOS_GRACE=1s")
	f.assign(pair)
	pid := untilFile(t, file)
	f.answerWith(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	f.CloseClientConnections()
	if code := s.exit(); code != 75 {
		t.Errorf("exit code %d, want 75", code)
	}
	gone(t, pid)
}

func TestSupersededLaunchEndsItself(t *testing.T) {
	f := newScheduler(t, worker1)
	f.answerWith(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusGone)
		fmt.Fprint(w, `{"error":"launch 1 of worker:1 is over, launch 2 is the current one"}`)
		return true
	})
	s := startSidecar(t, f, command("env"))
	if code := s.exit(); code != 76 {
		t.Errorf("exit code %d, want 76", code)
	}
	if !strings.Contains(s.stderr.String(), "launch 2 is the current one") {
		t.Error("the log does not say why")
	}
}

func TestKnownFault094WrongAnswersAreWaitedOut(t *testing.T) {
	f := newScheduler(t, worker1)
	wrong := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) },
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		func(w http.ResponseWriter) { fmt.Fprint(w, "<html>login</html>") },
		func(w http.ResponseWriter) { fmt.Fprint(w, `{"job_name":"wor`) },
		func(w http.ResponseWriter) { fmt.Fprint(w, `{}`) },
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
	}
	asked := 0
	f.answerWith(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/registration") || asked == len(wrong) {
			return false
		}
		asked++
		wrong[asked-1](w)
		return true
	})
	s := startSidecar(t, f, command("true"))
	f.assign(pair)
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(s.stderr.String(), token) {
		t.Error("the log has the token")
	}
}

func TestReportedPortIsHeldUntilTheEnd(t *testing.T) {
	f := newScheduler(t, worker1)
	s := startSidecar(t, f, command("true"))
	address := net.JoinHostPort("", strconv.Itoa(f.port()))
	config := net.ListenConfig{Control: withoutReuse}
	if l, err := config.Listen(t.Context(), "tcp", address); err == nil {
		l.Close()
		t.Error("another process could take the reported port")
	}
	stop(s, syscall.SIGTERM)
	s.exit()
	if l, err := config.Listen(t.Context(), "tcp", address); err != nil {
		t.Errorf("the port is still taken after the end: %v", err)
	} else {
		l.Close()
	}
}

// withoutReuse takes back the SO_REUSEADDR that Go sets on listeners.
func withoutReuse(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0) })
	if err != nil {
		return err
	}
	return failed
}

func TestUsageMistakesAreAllNamed(t *testing.T) {
	f := newScheduler(t, worker1)
	s := startSidecar(t, f, "TFMESOS_TASK_INDEX=-1", "TFMESOS_CALLBACK=ftp://x", "TFMESOS_COMMAND=python", "TFMESOS_GRACE=soon",
		"TFMESOS2_VERIFY_SSL=flase", "TFMESOS_TF_IMPORT=fast", "TFMESOS_GPUS=two")
	if code := s.exit(); code != 2 {
		t.Errorf("exit code %d", code)
	}
	for _, name := range []string{"TASK_INDEX", "CALLBACK", "COMMAND", "GRACE", "VERIFY_SSL", "TF_IMPORT", "GPUS"} {
		if !strings.Contains(s.stderr.String(), name) {
			t.Errorf("nothing is said of %s", name)
		}
	}
}
