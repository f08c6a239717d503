//go:build integration

// Package placement_test holds the scheduler to where it puts tasks, on a real Mesos, with the built programs.
package placement_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tfmesos/integration/programs"
	"tfmesos/shared/callback"
)

// bin has the built programs, root is the repository.
var bin, root string

func TestMain(m *testing.M) { programs.Main(m, &bin, &root) }

// patience is how long a test waits for what must come before it calls it missing.
const patience = 90 * time.Second

// transcript is what a run says, with a signal for each piece of it.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced with each piece
}

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	close(tr.more)
	tr.more = make(chan struct{})
	return tr.text.Write(p)
}

func (tr *transcript) said() (text string, more <-chan struct{}) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String(), tr.more
}

// run is a `scheduler run` as seen from outside.
type run struct {
	*testing.T
	name   string
	spec   string // its file
	env    []string
	cmd    *exec.Cmd
	stderr transcript
	exited chan struct{}
}

// start runs a spec with these arguments beside it; without a master, on this machine.
func start(t *testing.T, master, spec string, args ...string) *run {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, "spec.yaml")
	if err := os.WriteFile(path, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &run{T: t, spec: path, name: "p-" + strings.ToLower(rand.Text()[:10]), exited: make(chan struct{}), stderr: transcript{more: make(chan struct{})}}
	r.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + home}
	where := []string{"--master", master}
	if master == "" {
		where = []string{"--local"}
	}
	r.cmd = exec.Command(filepath.Join(bin, "scheduler"), slices.Concat([]string{"run", "--name", r.name, "--grace", "5s"}, where, args, []string{path})...)
	r.cmd.Env, r.cmd.Dir, r.cmd.Stderr = r.env, root, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = r.cmd.Wait() // the exit code is looked at
		close(r.exited)
	}()
	t.Cleanup(r.cleanUp)
	return r
}

func (r *run) cleanUp() {
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // most often long gone
	<-r.exited
	if r.Failed() {
		text, _ := r.stderr.said()
		r.Logf("scheduler %s\n%s", strings.Join(r.cmd.Args[1:], " "), text[max(0, len(text)-8000):])
	}
}

// awaits waits for something on stderr and returns its match.
func (r *run) awaits(pattern string) []string {
	r.Helper()
	expression, timeout := regexp.MustCompile(pattern), time.After(patience)
	for {
		text, more := r.stderr.said()
		if match := expression.FindStringSubmatch(text); match != nil {
			return match
		}
		select {
		case <-more:
		case <-r.exited:
			r.Fatalf("the run ended without saying %q", pattern)
		case <-timeout:
			r.Fatalf("there never was %q", pattern)
		}
	}
}

// ends waits for the end and wants this exit code; it returns the last line.
func (r *run) ends(code int) string {
	r.Helper()
	select {
	case <-r.exited:
	case <-time.After(2 * patience):
		r.Fatal("the run does not end")
	}
	text, _ := r.stderr.said()
	text = strings.TrimSpace(text)
	last := text[strings.LastIndex(text, "\n")+1:]
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.Errorf("exit code %d, want %d: %s", got, code, last)
	}
	return last
}

// stop ends the run as Ctrl-C does.
func (r *run) stop() {
	r.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		r.Fatal(err)
	}
	r.ends(130)
}

// command returns what another command prints.
func (r *run) command(args ...string) string {
	r.Helper()
	return command(r.T, r.env, 0, args...)
}

// command runs a command of the scheduler, which is to end with this exit code, and returns its output, errors included.
func command(t *testing.T, env []string, code int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "scheduler"), args...)
	cmd.Env, cmd.Dir = env, root
	out, _ := cmd.CombinedOutput() // the exit code is looked at
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("scheduler %s ends with %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// status is what `scheduler status` knows.
func (r *run) status() (s callback.Status) {
	r.Helper()
	if out := r.command("status", "-o", "json", r.name); json.Unmarshal([]byte(out), &s) != nil {
		r.Fatalf("scheduler status -o json prints no JSON:\n%s", out)
	}
	return s
}

// inRedis returns what redis-cli prints of a command.
func inRedis(t *testing.T, url string, words ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "redis-cli", append([]string{"-u", url}, words...)...).Output()
	if err != nil {
		t.Fatalf("redis-cli %s: %v", strings.Join(words, " "), err)
	}
	return string(out)
}
