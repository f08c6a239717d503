package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// patience is how long anything in these tests may take; only a test that fails waits for it.
const patience = 20 * time.Second

const (
	taskID = "demo.1a2b.worker-1.1"
	token  = "s3cr3t-t0ken"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sidecar-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "sidecar")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the sidecar: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// fakeScheduler is the callback API for one task.
type fakeScheduler struct {
	*httptest.Server
	t    *testing.T
	task tf.TaskName

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced whenever something below changes
	ports      []int
	phases     []callback.PhaseReport
	lines      []callback.LogLine
	assignment callback.Assignment
	polls      int
	answer     func(w http.ResponseWriter, r *http.Request) bool // true: it has answered instead
}

func newScheduler(t *testing.T, task tf.TaskName) *fakeScheduler {
	f := &fakeScheduler{t: t, task: task, changed: make(chan struct{})}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func (f *fakeScheduler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	answer := f.answer
	f.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	if got := r.Header.Get("Authorization"); got != "Bearer "+token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "PUT " + callback.For(callback.PathRegistration, taskID):
		var body callback.Registration
		f.read(r, &body)
		f.change(func() { f.ports = append(f.ports, body.Port) })
		f.write(w, callback.Registered{JobName: f.task.JobName, TaskIndex: f.task.TaskIndex})
	case "GET " + callback.For(callback.PathClusterDef, taskID):
		f.poll(w, r)
	case "PUT " + callback.For(callback.PathPhase, taskID):
		var body callback.PhaseReport
		f.read(r, &body)
		if err := body.Validate(); err != nil {
			f.t.Errorf("the sidecar sent a report that the scheduler refuses: %v", err)
		}
		f.change(func() { f.phases = append(f.phases, body) })
		w.WriteHeader(http.StatusNoContent)
	case "POST " + callback.For(callback.PathLog, taskID):
		var body callback.Log
		f.read(r, &body)
		f.change(func() { f.lines = append(f.lines, body.Lines...) })
		w.WriteHeader(http.StatusNoContent)
	default:
		f.t.Errorf("the sidecar asked for %s %s", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
	}
}

func (f *fakeScheduler) read(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil && r.Context().Err() == nil {
		f.t.Errorf("%s %s: body: %v", r.Method, r.URL.Path, err)
	}
}

func (f *fakeScheduler) write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// poll holds the request until there is news.
func (f *fakeScheduler) poll(w http.ResponseWriter, r *http.Request) {
	f.change(func() { f.polls++ })
	held := time.After(callback.MaxWaitSeconds * time.Second)
	for {
		f.mu.Lock()
		a, changed := f.assignment, f.changed
		f.mu.Unlock()
		if fmt.Sprint(a.Generation) != r.URL.Query().Get(callback.QueryGeneration) {
			f.write(w, a)
			return
		}
		select {
		case <-changed:
		case <-held:
			f.write(w, a)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// answerWith lets a function answer first.
func (f *fakeScheduler) answerWith(answer func(w http.ResponseWriter, r *http.Request) bool) {
	f.change(func() { f.answer = answer })
}

func (f *fakeScheduler) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

// until waits for a condition on what the fake has got.
func (f *fakeScheduler) until(what string, done func() bool) {
	f.t.Helper()
	limit := time.After(patience)
	for {
		f.mu.Lock()
		ok, changed := done(), f.changed
		f.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			f.t.Fatalf("no %s within %s; phases: %+v", what, patience, f.phases)
		}
	}
}

func (f *fakeScheduler) port() int {
	f.t.Helper()
	f.until("registration", func() bool { return len(f.ports) > 0 })
	return f.ports[0]
}

// assign hands out a cluster in which the task has its own port at 127.0.0.1.
func (f *fakeScheduler) assign(d tf.ClusterDef) {
	f.t.Helper()
	own := tf.JoinAddress("127.0.0.1", f.port())
	d = d.Clone()
	d[f.task.JobName][f.task.TaskIndex] = own
	f.change(func() { f.assignment = callback.Assignment{Generation: f.assignment.Generation + 1, ClusterDef: d} })
}

func (f *fakeScheduler) phase(p callback.Phase) callback.PhaseReport {
	f.t.Helper()
	var found callback.PhaseReport
	f.until("phase "+string(p), func() bool {
		i := slices.IndexFunc(f.phases, func(r callback.PhaseReport) bool { return r.Phase == p })
		if i >= 0 {
			found = f.phases[i]
		}
		return i >= 0
	})
	return found
}

func (f *fakeScheduler) phaseNames() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, r := range f.phases {
		names = append(names, string(r.Phase))
	}
	return strings.Join(names, " ")
}

func (f *fakeScheduler) printed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all strings.Builder
	for _, l := range f.lines {
		fmt.Fprintf(&all, "%s: %s\n", l.Stream, l.Text)
	}
	return all.String()
}

// running is a sidecar.
type running struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr *safeBuffer
	ended          chan struct{}
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// startSidecar starts one for the fake's task; each entry of env is added or replaces.
func startSidecar(t *testing.T, f *fakeScheduler, env ...string) *running {
	t.Helper()
	return startSidecarWith(t, nil, append([]string{
		"TFMESOS_TASK_ID=" + taskID, "TFMESOS_TOKEN=" + token, "TFMESOS_CALLBACK=" + f.URL, "TFMESOS_CLUSTER=demo",
		"TFMESOS_JOB_NAME=" + f.task.JobName, fmt.Sprintf("TFMESOS_TASK_INDEX=%d", f.task.TaskIndex)}, env...)...)
}

// startSidecarWith starts one with arguments, and with nothing else in its environment of what a scheduler sets.
func startSidecarWith(t *testing.T, args []string, env ...string) *running {
	t.Helper()
	s := &running{Cmd: exec.Command(binary, args...), t: t, stdout: &safeBuffer{}, stderr: &safeBuffer{}, ended: make(chan struct{})}
	s.Stdout, s.Stderr, s.Dir = s.stdout, s.stderr, t.TempDir()
	s.WaitDelay = time.Second // a process that is left must not keep its pipes open for us
	s.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "TFMESOS_GRACE=3s"}, env...)
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Wait(); close(s.ended) }()
	t.Cleanup(func() {
		select {
		case <-s.ended:
		default:
			_ = s.Process.Kill()
			<-s.ended
		}
		if t.Failed() {
			t.Logf("its stderr:\n%s", s.stderr)
		}
	})
	return s
}

// exit waits for the end and returns the exit code.
func (s *running) exit() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("the sidecar still runs after %s", patience)
	}
	return s.ProcessState.ExitCode()
}

// command makes the entry of a program with arguments.
func command(argv ...string) string {
	text, err := json.Marshal(argv)
	if err != nil {
		panic(err)
	}
	return "TFMESOS_COMMAND=" + string(text)
}

// shell makes the entry of a line for /bin/sh.
func shell(line string) string { return command("/bin/sh", "-c", line) }

// untilFile waits until a program has written a line to a file.
func untilFile(t *testing.T, path string) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if text, err := os.ReadFile(path); err == nil && bytes.HasSuffix(text, []byte("\n")) {
			return strings.TrimSpace(string(text))
		}
		time.Sleep(5 * time.Millisecond) // a file tells nobody that it was written
	}
	t.Fatalf("no file %s within %s", path, patience)
	return ""
}

// gone waits until no process with the pid is left.
func gone(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
			return
		}
		time.Sleep(5 * time.Millisecond) // nobody is told of the end of a process that is not a child
	}
	t.Fatalf("process %s is left", pid)
}

var pair = tf.ClusterDef{"ps": {"10.0.0.7:4000"}, "worker": {"10.0.0.8:4001", ""}}

var worker1 = tf.TaskName{JobName: "worker", TaskIndex: 1}
