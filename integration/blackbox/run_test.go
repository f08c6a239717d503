//go:build integration

package blackbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tfmesos/shared/callback"
)

const (
	// patience is how long a test waits for what must come before it calls it missing.
	patience = 60 * time.Second
	// grace is the --grace of runs, promised that they end within it and slack.
	grace, slack = 5 * time.Second, 2 * time.Second
)

// run is a `scheduler run` and all that is known of it from outside.
type run struct {
	t              *testing.T
	place          place
	name           string // of the cluster, of this run alone
	home           string
	cmd            *exec.Cmd
	stdout, stderr *transcript
	exited         chan struct{} // closed when the process has ended and its output is read
	ended          time.Time
	killed         bool // the test has killed it: what it started may take a moment to notice
}

// start starts a run under a new name. What stands after -- stays there.
func (p place) start(t *testing.T, args ...string) *run {
	t.Helper()
	return p.startNamed(t, freshName(), t.TempDir(), args...)
}

func freshName() string { return "t-" + strings.ToLower(rand.Text()[:10]) }

func (p place) startNamed(t *testing.T, name, home string, args ...string) *run {
	t.Helper()
	ours := append(p.flags(), "--name", name, "--grace", grace.String()) // first, so that those given win
	return p.launch(t, name, home, slices.Concat([]string{"run"}, ours, args))
}

// launch starts the scheduler as the leader of a process group, as a shell does.
func (p place) launch(t *testing.T, name, home string, args []string) *run {
	t.Helper()
	r := &run{t: t, place: p, name: name, home: home, stdout: newTranscript(), stderr: newTranscript(), exited: make(chan struct{})}
	r.cmd = exec.Command(filepath.Join(bin, "scheduler"), args...)
	r.cmd.Dir, r.cmd.Env = root, r.env()
	r.cmd.Stdout, r.cmd.Stderr = r.stdout, r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.WaitDelay = 5 * time.Second // for a process that is left with our pipes, which is an error
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(r.exited)
		if err := r.cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
			fmt.Fprintln(r.stderr, "TEST: somebody has kept the scheduler's output open")
		}
		r.ended = time.Now()
		r.stdout.close()
		r.stderr.close()
	}()
	t.Cleanup(r.cleanUp)
	return r
}

// env is the environment of a user who has nothing set. BLACKBOX marks all processes of the run.
func (r *run) env() []string {
	return slices.Concat(r.place.extra, []string{"PATH=" + r.place.path, "HOME=" + r.home, "XDG_STATE_HOME=" + filepath.Join(r.home, "state"), "LANG=C.UTF-8", "BLACKBOX=" + r.name + "."})
}

// cleanUp leaves nothing of a failed test, and shows what was seen of it.
func (r *run) cleanUp() {
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // most often long gone
	<-r.exited
	for _, p := range r.processes() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	if r.t.Failed() {
		r.t.Logf("scheduler %s\n--- stdout\n%s\n--- stderr\n%s", strings.Join(r.cmd.Args[1:], " "), r.stdout.tail(30), r.stderr.tail(60))
	}
}

// awaits waits for a line on stderr and returns its match.
func (r *run) awaits(pattern string) []string { r.t.Helper(); return r.await(r.stderr, pattern) }

// prints waits for a line on stdout and returns its match.
func (r *run) prints(pattern string) []string { r.t.Helper(); return r.await(r.stdout, pattern) }

func (r *run) await(from *transcript, pattern string) []string {
	r.t.Helper()
	match := from.await(regexp.MustCompile(pattern), patience)
	if match == nil {
		r.t.Fatalf("there never was a line %q", pattern)
	}
	return match
}

// signal signals the scheduler alone.
func (r *run) signal(sig syscall.Signal) {
	r.t.Helper()
	r.killed = r.killed || sig == syscall.SIGKILL
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatalf("signal the scheduler: %v", err)
	}
}

// ctrlC signals the group, as a terminal does.
func (r *run) ctrlC() {
	r.t.Helper()
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT); err != nil {
		r.t.Fatalf("Ctrl-C: %v", err)
	}
}

// exit waits for the end and returns the exit code.
func (r *run) exit() int {
	r.t.Helper()
	select {
	case <-r.exited:
	case <-time.After(patience):
		r.t.Fatal("the scheduler does not end")
	}
	return r.cmd.ProcessState.ExitCode()
}

// ends waits for the end, and wants this exit code, a last line on stderr that says it with these words, and nothing left.
func (r *run) ends(code int, words ...string) {
	r.t.Helper()
	got := r.exit()
	last := r.stderr.last()
	if got != code {
		r.t.Errorf("exit code %d, want %d; last line: %s", got, code, last)
	}
	if !regexp.MustCompile(`^(scheduler|` + r.name + `): .+; exit code ` + fmt.Sprint(code) + `$`).MatchString(last) {
		r.t.Errorf("the last line is no NAME: REASON; exit code %d:\n%s", code, last)
	}
	for _, word := range words {
		if !strings.Contains(last, word) {
			r.t.Errorf("the last line does not have %q:\n%s", word, last)
		}
	}
	r.leavesNothing()
}

// endsInTime is ends, within the grace from since.
func (r *run) endsInTime(since time.Time, code int, words ...string) {
	r.t.Helper()
	r.ends(code, words...)
	if took := r.ended.Sub(since); took > grace+slack {
		r.t.Errorf("the end took %s, with --grace %s", took, grace)
	}
}

// command runs another command of the scheduler beside this run, and returns its stdout.
func (r *run) command(args ...string) []byte {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "scheduler"), args...)
	cmd.Dir, cmd.Env = root, r.env()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("scheduler %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// status is what `scheduler status` knows.
func (r *run) status() callback.Status {
	r.t.Helper()
	var s callback.Status
	if out := r.command("status", "-o", "json", r.name); json.Unmarshal(out, &s) != nil {
		r.t.Fatalf("scheduler status -o json prints no JSON:\n%s", out)
	}
	return s
}

// write writes a file for a test and returns its path.
func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}
