//go:build integration

package peer_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// peerScheduler is a scheduler of tfmesos2 in a process of its own: testdata/api.py.
type peerScheduler struct {
	t      *testing.T
	stdin  io.Writer
	stdout *bufio.Scanner
	tasks  []peerTask
}

// peerTask is a task as that scheduler has it.
type peerTask struct {
	TaskID  string `json:"task_id"`
	Task    string `json:"task"`
	Command string `json:"command"` // what it has Mesos run
}

// startPeerScheduler starts one for these jobs, "NAME:NUM", and reads its tasks.
func startPeerScheduler(ctx context.Context, t *testing.T, p peer, jobs ...string) *peerScheduler {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	cmd := exec.CommandContext(ctx, p.python, append([]string{filepath.Join("testdata", "api.py"), strconv.Itoa(port)}, jobs...)...)
	cmd.Env = []string{"PATH=" + p.path(), "PYTHONPATH=" + p.packages, "HOME=" + t.TempDir()}
	var said output
	cmd.Stderr = &said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("--- tfmesos2's scheduler\n%s", said.String())
		}
	})
	s := &peerScheduler{t: t, stdin: stdin, stdout: bufio.NewScanner(stdout)}
	for _, job := range jobs {
		_, num, _ := strings.Cut(job, ":")
		for n, _ := strconv.Atoi(num); n > 0; n-- {
			var task peerTask
			s.read(&task)
			s.tasks = append(s.tasks, task)
		}
	}
	return s
}

func (s *peerScheduler) read(into any) {
	s.t.Helper()
	if !s.stdout.Scan() {
		s.t.Fatal("tfmesos2's scheduler has ended")
	}
	if err := json.Unmarshal(s.stdout.Bytes(), into); err != nil {
		s.t.Fatalf("tfmesos2's scheduler says %q: %v", s.stdout.Text(), err)
	}
}

func (s *peerScheduler) say(format string, args ...any) {
	if _, err := fmt.Fprintf(s.stdin, format+"\n", args...); err != nil {
		s.t.Fatalf("tfmesos2's scheduler does not listen: %v", err)
	}
}

// ourSidecar is one of ours in the place of the peer's.
type ourSidecar struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr output
	ended  chan struct{}
}

// module is what tfmesos2.server becomes in an image with our sidecar, as docs/moving-from-tfmesos2.md has it.
const module = `import os, sys
os.execvp("sidecar", ["sidecar", *sys.argv[1:]])
`

// image returns a folder with that module, for PYTHONPATH.
func image(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "moving-from-tfmesos2.md"))
	if err != nil || !strings.Contains(string(page), module) {
		t.Errorf("docs/moving-from-tfmesos2.md has another module: %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tfmesos2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tfmesos2", "server.py"), []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startOurSidecar runs what the peer's scheduler would have Mesos run, but for the place of Python.
func startOurSidecar(ctx context.Context, t *testing.T, p peer, task peerTask, mark string) *ourSidecar {
	t.Helper()
	s := &ourSidecar{t: t, cmd: exec.CommandContext(ctx, p.python, strings.Fields(task.Command)[1:]...), ended: make(chan struct{})}
	s.cmd.Dir, s.cmd.Stderr = t.TempDir(), &s.stderr
	s.cmd.Env = []string{"PATH=" + bin + ":" + p.path(), "PYTHONPATH=" + image(t), "HOME=" + s.cmd.Dir, "PEER=" + mark + ".", "TFMESOS_GRACE=5s"}
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) } // it ends what it has started
	s.cmd.WaitDelay = 10 * time.Second
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	t.Cleanup(func() {
		_ = s.cmd.Cancel()
		<-s.ended
		if t.Failed() {
			t.Logf("--- sidecar of %s\n%s", task.Task, s.stderr.String())
		}
	})
	return s
}

func (s *ourSidecar) awaits(ctx context.Context, text string) {
	s.t.Helper()
	select {
	case <-s.stderr.has(text, 1):
	case <-s.ended:
		s.t.Fatalf("the sidecar has ended without %q", text)
	case <-ctx.Done():
		s.t.Fatalf("the sidecar does not say %q", text)
	}
}

// sum adds on a ps what another ps has, in a session of a worker.
const sum = `
import json, os
import tensorflow as tf
tf.compat.v1.disable_eager_execution()
with tf.device("/job:ps/task:0"):
    ten = tf.constant(10)
with tf.device("/job:ps/task:1"):
    total = ten + tf.constant(32)
with tf.compat.v1.Session(json.loads(os.environ["TFMESOS_TARGETS"])["/job:worker/task:1"]) as session:
    print(session.run(total))
`

func TestOurSidecarsServeUnderTheSchedulerOfThePeer(t *testing.T) {
	p := withPeer(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	scheduler := startPeerScheduler(ctx, t, p, "ps:2", "worker:2")
	mark := "t-" + strings.ToLower(rand.Text()[:10])
	var sidecars []*ourSidecar
	for _, task := range scheduler.tasks {
		sidecars = append(sidecars, startOurSidecar(ctx, t, p, task, mark))
	}
	for i, s := range sidecars {
		s.awaits(ctx, "this is "+scheduler.tasks[i].Task)
		scheduler.say("%s 127.0.0.1", scheduler.tasks[i].TaskID)
	}
	var targets map[string]string
	scheduler.say("targets")
	scheduler.read(&targets)
	if len(targets) != 4 {
		t.Fatalf("tfmesos2's scheduler has the targets %v, want 4", targets)
	}
	text, _ := json.Marshal(targets)
	program := exec.CommandContext(ctx, p.python, "-c", sum)
	program.Env = []string{"PATH=" + p.path(), "HOME=" + t.TempDir(), "TFMESOS_TARGETS=" + string(text)}
	if out, err := program.Output(); err != nil || string(out) != "42\n" {
		t.Errorf("the program printed %q, want 42: %v", out, err)
	}
	for _, s := range sidecars {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
		if code := s.cmd.ProcessState.ExitCode(); code != 143 {
			t.Errorf("exit code %d, want 143", code)
		}
	}
	if left := marked(mark); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestASidecarThatTheSchedulerOfThePeerDoesNotKnowLeaves(t *testing.T) {
	p := withPeer(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	scheduler := startPeerScheduler(ctx, t, p, "worker:1")
	other := scheduler.tasks[0]
	other.Command = strings.Replace(other.Command, other.TaskID, "another", 1)
	s := startOurSidecar(ctx, t, p, other, "another")
	s.awaits(ctx, "does not know the task_id another")
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 76 {
		t.Errorf("exit code %d, want 76", code)
	}
}
