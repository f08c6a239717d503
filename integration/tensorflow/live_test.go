//go:build integration

package tensorflow_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tfmesos/integration/tfpython"
	"tfmesos/scheduler/spec"
	"tfmesos/shared/tf"
)

// hang is what a test waits for before it calls a Python hung.
const hang = 90 * time.Second

// holdPort returns an address that is free, and nobody else's until the end of the test. Like the sidecar it binds the port
// and never listens, which leaves it to TensorFlow.
func holdPort(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{}); err != nil {
		t.Fatal(err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return tf.JoinAddress("127.0.0.1", address.(*syscall.SockaddrInet4).Port)
}

// live is a cluster_def with as many tasks a job, each at a port of this machine that is held.
func live(t *testing.T, jobs map[string]int) tf.ClusterDef {
	t.Helper()
	d := tf.ClusterDef{}
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		for range jobs[job] {
			d[job] = append(d[job], holdPort(t))
		}
	}
	return d
}

func configFor(t *testing.T, d tf.ClusterDef, job string, index int) string {
	t.Helper()
	config, err := tf.ConfigFor(d, tf.TaskName{JobName: job, TaskIndex: index})
	if err != nil {
		t.Fatal(err)
	}
	return config.JSON()
}

// python is a running script and what it says.
type python struct {
	lines  chan string // closed at the end of stdout
	stderr *bytes.Buffer
	wait   func() error
}

// start runs a script with the input, if any; it is killed at the end of the test at the latest.
func start(t *testing.T, script string, input any, more ...string) *python {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	cmd := exec.CommandContext(ctx, tfpython.Find(t), "testdata/"+script)
	cmd.Env = pythonEnv(cmd, more...)
	stdout, writer := io.Pipe()
	p := &python{lines: make(chan string, 100), stderr: &bytes.Buffer{}}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), writer, p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // ends with the process
		err := cmd.Wait()
		writer.Close()
		ended <- err
	}()
	go func() { // ends with stdout
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	p.wait = func() error { err := <-ended; ended <- err; return err }
	t.Cleanup(func() {
		cancel()
		_ = p.wait() // killed, or checked before
	})
	return p
}

// all returns what the script said, and fails if its end was not a good one.
func (p *python) all(t *testing.T) []string {
	t.Helper()
	var all []string
	for line := range p.lines {
		all = append(all, line)
	}
	if err := p.wait(); err != nil {
		t.Fatalf("the script: %v, after %q\n%s", err, all, p.stderr)
	}
	return all
}

// coordination is the input of coordinate.py.
type coordination struct {
	Servers     []string `json:"servers"`
	Coordinator string   `json:"coordinator"`
}

func coordinated(t *testing.T) (tf.ClusterDef, coordination) {
	d := live(t, map[string]int{tf.Chief: 1, tf.PS: 1, tf.Worker: 2, tf.Evaluator: 1})
	return d, coordination{
		Servers:     []string{configFor(t, d, tf.PS, 0), configFor(t, d, tf.Worker, 0), configFor(t, d, tf.Worker, 1)},
		Coordinator: configFor(t, d, tf.Chief, 0),
	}
}

func TestParameterServersTrainBesideAnEvaluator(t *testing.T) {
	t.Parallel()
	_, in := coordinated(t)
	want := []string{"connecting", "total 10, on /job:ps/replica:0/task:0/device:CPU:0"}
	if got := start(t, "coordinate.py", in).all(t); !slices.Equal(got, want) {
		t.Errorf("the coordinator says %q, want %q", got, want)
	}
}

// TestACoordinatorThatSeesTheEvaluatorHangs is why ConfigFor leaves it out. A machine too slow for an answer passes it too.
func TestACoordinatorThatSeesTheEvaluatorHangs(t *testing.T) {
	t.Parallel()
	d, in := coordinated(t)
	in.Coordinator = tf.Config{Cluster: d, Task: tf.ConfigTask{Type: tf.Chief}}.JSON()
	p := start(t, "coordinate.py", in)
	if first := <-p.lines; first != "connecting" {
		t.Fatalf("the coordinator says %q, want connecting\n%s", first, p.stderr)
	}
	select {
	case line, more := <-p.lines:
		t.Errorf("a coordinator that sees the evaluator went on: %q (%v); then ConfigFor need not leave it out", line, more)
	case <-time.After(3 * time.Second):
	}
}

func TestMirroredWorkersCountOneAnother(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs map[string]int
	}{
		{"a single worker", map[string]int{tf.Worker: 1}},
		{"a chief and a worker beside an evaluator", map[string]int{tf.Chief: 1, tf.Worker: 1, tf.Evaluator: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := live(t, c.jobs)
			num := c.jobs[tf.Chief] + c.jobs[tf.Worker]
			running := map[string]*python{}
			for _, job := range []string{tf.Chief, tf.Worker} {
				for i := range c.jobs[job] {
					running[tf.TaskName{JobName: job, TaskIndex: i}.String()] = start(t, "mirror.py", nil, "TF_CONFIG="+configFor(t, d, job, i))
				}
			}
			for name, p := range running {
				want := fmt.Sprintf("%s counts %d of %d", name, num, num)
				if got := p.all(t); !slices.Equal(got, []string{want}) {
					t.Errorf("%s says %q, want %q", name, got, want)
				}
			}
		})
	}
}

// TestServersTakeTheJobNamesOfASpecAndNoOthers shows why the spec refuses a name that is well formed to people.
func TestServersTakeTheJobNamesOfASpecAndNoOthers(t *testing.T) {
	t.Parallel()
	names := []string{"worker", "Reader_1", "x_", strings.Repeat("x", 40), "my-job", "1st", "_x", "a.b", "wörker", "a b", "a:b"}
	cmd := exec.CommandContext(t.Context(), tfpython.Find(t), append([]string{"testdata/names.py"}, names...)...)
	cmd.Env = pythonEnv(cmd)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("names.py: %v", err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, name := range names {
		want := name + " serves"
		if _, err := spec.Parse("spec", fmt.Appendf(nil, "jobs: [{name: %q}]", name), spec.Defaults{}); err != nil {
			want = name + " ends"
		}
		if i >= len(got) || got[i] != want {
			t.Errorf("TensorFlow says %q, the spec %q", got, want)
		}
	}
}
