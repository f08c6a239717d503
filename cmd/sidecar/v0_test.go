package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tfmesos/shared/callback"
)

const peerTask = "0b7c1a52-6a0c-4c43-9d7e-6f2b1c4d5e6f"

// peerScheduler is tfmesos2's callback API for one task.
type peerScheduler struct {
	*httptest.Server
	initialised chan struct{}

	job string // what the job is, if set

	mu   sync.Mutex
	port string
}

func newPeerScheduler(t *testing.T, job string) *peerScheduler {
	p := &peerScheduler{job: job, initialised: make(chan struct{}, 1)}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

func (p *peerScheduler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	task := "/v0/task/" + peerTask
	switch route := r.Method + " " + r.URL.Path; {
	case route == "GET /v0/status" && p.port == "":
		w.WriteHeader(http.StatusNoContent)
	case route == "GET /v0/status":
		fmt.Fprint(w, "ok")
	case route == "GET "+task+"/job" && p.job != "":
		fmt.Fprint(w, strings.TrimSpace(p.job))
	case route == "GET "+task+"/job":
		fmt.Fprintf(w, `{"job_name":"worker","task_index":0,"gpus":0,"cluster_def":{"ps":["10.0.0.7:4000"],"worker":["127.0.0.1:%s"]}}`, p.port)
	case strings.HasPrefix(route, "PUT "+task+"/port/"):
		p.port = r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	case route == "PUT "+task:
		select {
		case p.initialised <- struct{}{}:
		default:
		}
	default:
		http.NotFound(w, r)
	}
}

// withArguments starts a sidecar as tfmesos2 starts its own.
func withArguments(t *testing.T, url string, env ...string) *running {
	t.Helper()
	s := startSidecarWith(t, []string{peerTask, strings.TrimPrefix(url, "http://")}, env...)
	return s
}

func TestASidecarWithTwoArgumentsServesUnderTFMesos2(t *testing.T) {
	root := fakePackage(t, map[string]string{
		"tensorflow/__init__.py":                   "raise SystemExit('__init__ ran')",
		"tensorflow/python/__init__.py":            "raise SystemExit('__init__ ran')",
		"tensorflow/python/training/__init__.py":   "",
		"tensorflow/python/training/server_lib.py": fakeServer,
	})
	p := newPeerScheduler(t, "")
	s := withArguments(t, p.URL, "PYTHONPATH="+root)
	select {
	case <-p.initialised:
	case <-s.ended:
		t.Fatal("the sidecar has ended")
	}
	stop(s, syscall.SIGTERM)
	if code := s.exit(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	if want := "server ['ps', 'worker'] worker 0 grpc True {\"cluster\" None\n"; s.stdout.String() != want {
		t.Errorf("the server got %q, want %q", s.stdout, want)
	}
	if !strings.Contains(s.stderr.String(), "this is worker:0") {
		t.Error("the log does not say which task it is")
	}
}

func TestASidecarWithTwoArgumentsRunsACommand(t *testing.T) {
	p := newPeerScheduler(t, "")
	s := withArguments(t, p.URL, shell("env; exit 3"), "TFMESOS2_CLIENT_PASSWORD="+token, "TFMESOS2_CLIENT_USERNAME=me")
	if code := s.exit(); code != 3 {
		t.Errorf("exit code %d, want the program's 3", code)
	}
	env := environment(s.stdout.String())
	if env["TFMESOS_JOB_NAME"] != "worker" || env["TFMESOS_TASK_INDEX"] != "0" || env["TFMESOS_TASK_ID"] != peerTask || !strings.Contains(env["TF_CONFIG"], `"ps"`) {
		t.Errorf("the program got %v", env)
	}
	if strings.Contains(s.stdout.String()+s.stderr.String(), token) {
		t.Error("the password is in the program's environment or in the log")
	}
}

// TestASidecarWithTwoArgumentsPrefersV1 runs one as an entrypoint under our own scheduler.
func TestASidecarWithTwoArgumentsPrefersV1(t *testing.T) {
	f := newScheduler(t, worker1)
	f.answerWith(func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user != taskID || password != token {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return false
	})
	s := startSidecarWith(t, []string{taskID, strings.TrimPrefix(f.URL, "http://")}, shell("echo $TFMESOS_JOB_NAME:$TFMESOS_TASK_INDEX"),
		"TFMESOS2_CLIENT_USERNAME="+taskID, "TFMESOS2_CLIENT_PASSWORD="+token)
	f.assign(pair)
	if code := s.exit(); code != 0 || s.stdout.String() != "worker:1\n" {
		t.Errorf("exit code %d, it printed %q", code, s.stdout)
	}
	if got := f.phaseNames(); got != "training ended" {
		t.Errorf("phases %s", got)
	}
	f.phase(callback.PhaseEnded)
}

func TestASidecarThatTFMesos2DoesNotKnowSaysSoAndLeaves(t *testing.T) {
	p := newPeerScheduler(t, " ")
	s := withArguments(t, p.URL, shell("echo started"))
	if code := s.exit(); code != 76 || s.stdout.String() != "" || !strings.Contains(s.stderr.String(), "does not know the task_id "+peerTask) {
		t.Errorf("exit code %d, it printed %q", code, s.stdout)
	}
}

func TestBadArgumentsAreRefusedWithASentence(t *testing.T) {
	for _, c := range []struct {
		args []string
		env  string
		want string
	}{
		{[]string{"a"}, "", "want none or TASK_ID HOST:PORT"},
		{[]string{"a", "h:1", "c"}, "", "want none or TASK_ID HOST:PORT"},
		{[]string{"--a", "h:1"}, "", "want none or TASK_ID HOST:PORT"},
		{[]string{"a", "h"}, "", "want one host with its port"},
		{[]string{"a", "h:1"}, "TFMESOS2_REQUEST_TIMEOUT=0", `TFMESOS2_REQUEST_TIMEOUT: "0": want seconds above 0`},
	} {
		cmd := exec.Command(binary, c.args...)
		cmd.Env = []string{c.env}
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), c.want) {
			t.Errorf("sidecar %v: exit code %d, %s", c.args, cmd.ProcessState.ExitCode(), out)
		}
	}
}
