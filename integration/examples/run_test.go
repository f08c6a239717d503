//go:build integration

package examples_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a run may take before it is called hung.
const patience = 90 * time.Second

// run is an example that was run to its end.
type run struct {
	t              *testing.T
	code           int
	stdout, stderr string
	checkpoints    string // CHECKPOINT_DIR of its tasks, if they have one; absent at the start
	tmp            string // TMPDIR of its tasks, empty at the start
}

// runExample runs the cluster.yaml of a folder of examples with this Python, in the environment of a user who has set nothing
// but the rest.
func runExample(t *testing.T, folder, python string, env ...string) *run {
	t.Helper()
	r := &run{t: t, tmp: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "scheduler"), "run", "--local", filepath.Join("examples", folder, "cluster.yaml"))
	cmd.Dir = root
	cmd.Env = append([]string{"PATH=" + filepath.Dir(python) + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8", "TMPDIR=" + r.tmp}, env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // it ends what it has started
	cmd.WaitDelay = 30 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Errorf("run: %v", err)
	}
	r.code, r.stdout, r.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("examples/%s\n--- stdout\n%s\n--- stderr\n%s", folder, r.stdout, r.stderr)
		}
	})
	return r
}

// trains runs an example that is given a CHECKPOINT_DIR, and wants it to succeed.
func trains(t *testing.T, folder, python string) *run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkpoints")
	r := runExample(t, folder, python, "CHECKPOINT_DIR="+dir)
	r.checkpoints = dir
	r.ends(0)
	return r
}

// ends wants this exit code.
func (r *run) ends(code int) {
	r.t.Helper()
	if r.code != code {
		r.t.Fatalf("exit code %d, want %d", r.code, code)
	}
}

// prints returns the matches of a pattern with the lines of the programs.
func (r *run) prints(pattern string) [][]string {
	return regexp.MustCompile(`(?m)^`+pattern+`$`).FindAllStringSubmatch(r.stdout, -1)
}

// lossFalls wants a task to print so many losses, each below half of the first, and to say that it fell. The name of a task
// stands before its lines where there are several.
func (r *run) lossFalls(task string, atLeast int) {
	r.t.Helper()
	losses := r.prints(task + `(?:step|epoch) \d+ loss ([0-9.]+)`)
	if len(losses) < atLeast {
		r.t.Fatalf("%q printed %d losses, want %d", task, len(losses), atLeast)
	}
	first, _ := strconv.ParseFloat(losses[0][1], 64)
	for _, loss := range losses[1:] {
		if now, _ := strconv.ParseFloat(loss[1], 64); now >= first/2 {
			r.t.Errorf("the loss of %q was %g and became %g", task, first, now)
		}
	}
	if len(r.prints(task+`loss fell from [0-9.]+ to [0-9.]+`)) != 1 {
		r.t.Errorf("%q does not say that its loss fell", task)
	}
}

// keepsCheckpoint wants a task to print which checkpoint it has saved, and that to be there with nothing of other workers
// beside it. It returns its path.
func (r *run) keepsCheckpoint(task string) string {
	r.t.Helper()
	saved := r.prints(task + `checkpoint (/.+)`)
	if len(saved) != 1 {
		r.t.Fatalf("%q printed %d checkpoints", task, len(saved))
	}
	path := saved[0][1]
	if filepath.Dir(path) != r.checkpoints {
		r.t.Errorf("the checkpoint is %s, and CHECKPOINT_DIR %s", path, r.checkpoints)
	}
	if _, err := os.Stat(path + ".index"); err != nil {
		r.t.Errorf("the checkpoint is not there: %v", err)
	}
	entries, _ := os.ReadDir(r.checkpoints)
	for _, entry := range entries {
		if entry.IsDir() {
			r.t.Errorf("left in CHECKPOINT_DIR: %s", entry.Name())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(r.tmp, "not-the-chief-*")); len(left) > 0 {
		r.t.Errorf("left in TMPDIR: %s", left)
	}
	return path
}

// lastLine is why the run has ended, in words.
func (r *run) lastLine() string {
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	return lines[len(lines)-1]
}
