//go:build integration

package peer_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	mesosrig "tfmesos/integration/mesos"
)

// patience is how long a run may take before it is called hung. tfmesos2's sidecar asks once in 10 s.
const patience = 90 * time.Second

// place is where a run is: on the local Mesos, or on a real one.
type place struct {
	peer peer
	rig  *mesosrig.Rig // nil: local
}

// everywhere tells a story on both. They wait more than they work.
func everywhere(t *testing.T, story func(*testing.T, place)) {
	p := withPeer(t)
	t.Parallel()
	t.Run("local", func(t *testing.T) { t.Parallel(); story(t, place{peer: p}) })
	t.Run("mesos", func(t *testing.T) {
		t.Parallel()
		story(t, place{p, mesosrig.Start(t, mesosrig.WithAgentEnv("PATH="+p.path()))})
	})
}

// run is a `scheduler run` of a cluster of the peer's sidecars.
type run struct {
	t              *testing.T
	place          place
	name, home     string
	stdout, stderr output
	ctx            context.Context // ends with the run
	cmd            *exec.Cmd
}

// job is one of the peer's sidecars.
func job(name string, num int) map[string]any {
	return map[string]any{"name": name, "num": num, "cpus": 0.5, "mem": 512,
		"entrypoint": []string{"python3", "-m", "tfmesos2.server", "{task_id}", "{callback}"}}
}

// spec has these jobs.
func (p place) spec(jobs ...map[string]any) map[string]any {
	return map[string]any{"env": map[string]string{"PYTHONPATH": p.peer.packages}, "jobs": jobs}
}

// runs runs a spec to its end, and meanwhile does something. The peer finds a free port and binds it some 10 s later; to
// what others do with it then it has no answer, so that a run which ends of it says nothing and is done again.
func (p place) runs(t *testing.T, spec map[string]any, meanwhile func(*run)) *run {
	t.Helper()
	for attempt := 1; ; attempt++ {
		r := p.runOnce(t, spec, meanwhile)
		if attempt == 3 || !strings.Contains(r.peersSaid(), "Could not start gRPC server") {
			return r
		}
		t.Log("once more: somebody else has taken the port of a peer")
	}
}

func (p place) runOnce(t *testing.T, spec map[string]any, meanwhile func(*run)) *run {
	t.Helper()
	r := &run{t: t, place: p, name: "t-" + strings.ToLower(rand.Text()[:10]), home: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var ended context.CancelFunc
	r.ctx, ended = context.WithCancel(ctx)
	r.cmd = r.scheduler(ctx, spec)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.tell)
	done := make(chan struct{})
	go func() { // ends with the process
		defer close(done)
		defer ended()
		if err := r.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Errorf("run: %v", err)
		}
	}()
	meanwhile(r)
	<-done
	return r
}

// scheduler is the command, which takes the spec from stdin.
func (r *run) scheduler(ctx context.Context, spec map[string]any) *exec.Cmd {
	text, err := json.Marshal(spec)
	if err != nil {
		r.t.Fatal(err)
	}
	args := []string{"run", "--name", r.name, "--grace", "5s", "--cluster-file", r.clusterFile(), "--local", "-"}
	if r.place.rig != nil {
		args = append(args[:len(args)-2], "--master", r.place.rig.Master(), "-")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "scheduler"), args...)
	cmd.Dir, cmd.Env = root, r.env()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &r.stdout, &r.stderr
	cmd.Cancel = r.ctrlC // it ends what it has started
	cmd.WaitDelay = 15 * time.Second
	return cmd
}

func (r *run) clusterFile() string { return filepath.Join(r.home, "cluster.json") }

// env is the environment of a user who has nothing set. PEER marks all processes of the run.
func (r *run) env() []string {
	return []string{"PATH=" + r.place.peer.path(), "HOME=" + r.home, "LANG=C.UTF-8", "PEER=" + r.name + "."}
}

func (r *run) ctrlC() error { return r.cmd.Process.Signal(syscall.SIGINT) }

// awaits waits until the scheduler says something so often. It returns false when the run ends without.
func (r *run) awaits(text string, times int) bool {
	select {
	case <-r.stderr.has(text, times):
		return true
	case <-r.ctx.Done():
		return false
	}
}

// ends wants an end with this exit code and these words, and nothing left of the run.
func (r *run) ends(code int, words string) {
	r.t.Helper()
	lines := strings.Split(strings.TrimSpace(r.stderr.String()), "\n")
	if last := lines[len(lines)-1]; r.cmd.ProcessState.ExitCode() != code || !strings.Contains(last, words) {
		r.t.Errorf("exit code %d, want %d and %q; last line: %s", r.cmd.ProcessState.ExitCode(), code, words, last)
	}
	if _, err := os.Stat(r.clusterFile()); !os.IsNotExist(err) {
		r.t.Errorf("the cluster file is still there: %v", err)
	}
	end := time.Now()
	if r.place.rig != nil { // a real Mesos ends its executors after the framework is gone
		end = end.Add(10 * time.Second)
	}
	left := r.left()
	for ; len(left) > 0 && time.Now().Before(end); left = r.left() {
		time.Sleep(10 * time.Millisecond) // the end of processes that are not our children is no event to wait for
	}
	for _, what := range left {
		r.t.Errorf("left: %s", what)
	}
}

// marked returns the processes that have the name in their environment: by PEER, or by their task_id.
func marked(name string) (processes []string) {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range directories {
		environ, err := os.ReadFile(filepath.Join(dir, "environ")) // empty once it has ended
		if err == nil && bytes.Contains(environ, []byte("="+name+".")) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			processes = append(processes, "process "+filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return processes
}

// left says what there still is of the run. A port that is listened on would be a process's.
func (r *run) left() (left []string) {
	left = marked(r.name)
	if r.place.rig == nil {
		return left
	}
	for _, f := range r.place.rig.State(r.t).Frameworks {
		if strings.Contains(f.Name, r.name) {
			left = append(left, "framework "+f.Name)
		}
	}
	return left
}

// peersSaid returns what the peer's sidecars wrote, from their sandboxes.
func (r *run) peersSaid() string {
	pattern := filepath.Join(r.home, ".local/state/tfmesos", r.name, "sandboxes/*/stderr")
	if r.place.rig != nil {
		pattern = filepath.Join(r.place.rig.Mesos.Dir(), "agent/agents/*/work/slaves/*/frameworks/*/executors", r.name+".*/runs/latest/stderr")
	}
	var all strings.Builder
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		text, _ := os.ReadFile(file)
		all.WriteString("--- " + file + "\n" + string(text))
	}
	return all.String()
}

func (r *run) tell() {
	if r.t.Failed() {
		r.t.Logf("%s\n--- stdout\n%s\n--- stderr\n%s\n%s", r.cmd, r.stdout.String(), r.stderr.String(), r.peersSaid())
	}
}
