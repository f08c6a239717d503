//go:build integration

// Package masters_test holds the scheduler to what it promises of masters: credentials, roles, TLS, and who leads. All of it is on a real
// Mesos, with the built programs.
package masters_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
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
)

// bin has the built programs, root is the repository.
var bin, root string

func TestMain(m *testing.M) { programs.Main(m, &bin, &root) }

// patience is how long a test waits for what must come before it calls it missing.
const patience = 60 * time.Second

// run is a `scheduler run` as seen from outside.
type run struct {
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	exited chan struct{}

	mu      sync.Mutex
	lines   []string // of stderr
	seen    int      // that many of them have been awaited
	more    chan struct{}
	printed strings.Builder // stdout
}

// start runs the scheduler with these arguments of `run` and variables.
func start(t *testing.T, env []string, args ...string) *run {
	t.Helper()
	r := &run{t: t, name: "m-" + strings.ToLower(rand.Text()[:10]), exited: make(chan struct{}), more: make(chan struct{})}
	r.cmd = exec.Command(filepath.Join(bin, "scheduler"), slices.Concat([]string{"run", "--name", r.name, "--grace", "5s"}, args)...)
	home := t.TempDir()
	r.cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + home}, env)
	r.cmd.Dir = root
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var read sync.WaitGroup
	read.Go(func() { r.read(stderr, func(line string) { r.lines = append(r.lines, line) }) })
	read.Go(func() { r.read(stdout, func(line string) { r.printed.WriteString(line + "\n") }) })
	go func() {
		read.Wait()
		_ = r.cmd.Wait() // the exit code is looked at
		close(r.exited)
	}()
	t.Cleanup(r.cleanUp)
	return r
}

func (r *run) read(from io.Reader, take func(string)) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		r.mu.Lock()
		take(lines.Text())
		close(r.more)
		r.more = make(chan struct{})
		r.mu.Unlock()
	}
}

func (r *run) cleanUp() {
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // most often long gone
	<-r.exited
	if r.t.Failed() {
		r.t.Logf("scheduler %s\n%s", strings.Join(r.cmd.Args[1:], " "), r.said())
	}
}

func (r *run) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

// awaits waits for a line on stderr, behind the one awaited before, and returns its match.
func (r *run) awaits(pattern string) []string {
	r.t.Helper()
	expression, timeout := regexp.MustCompile(pattern), time.After(patience)
	for {
		match, more := r.look(expression)
		if match != nil {
			return match
		}
		select {
		case <-more:
		case <-r.exited:
			r.t.Fatalf("the run ended without a line %q", pattern)
		case <-timeout:
			r.t.Fatalf("there never was a line %q", pattern)
		}
	}
}

func (r *run) look(expression *regexp.Regexp) (match []string, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.seen < len(r.lines) && match == nil {
		match = expression.FindStringSubmatch(r.lines[r.seen])
		r.seen++
	}
	return match, r.more
}

// ends waits for the end, and wants this exit code and these words in the last line, which no secret of a test is in.
func (r *run) ends(code int, words ...string) {
	r.t.Helper()
	select {
	case <-r.exited:
	case <-time.After(2 * patience):
		r.t.Fatal("the run does not end")
	}
	said := r.said()
	last := said[strings.LastIndex(said, "\n")+1:]
	r.t.Log(last)
	if got := r.cmd.ProcessState.ExitCode(); got != code || !strings.HasSuffix(last, fmt.Sprintf("; exit code %d", code)) {
		r.t.Errorf("exit code %d, want %d: %s", got, code, last)
	}
	for _, word := range words {
		if !strings.Contains(last, word) {
			r.t.Errorf("the last line does not have %q:\n%s", word, last)
		}
	}
	if strings.Contains(said, secret) {
		r.t.Errorf("the secret is shown:\n%s", said)
	}
}

// secret is what no run may ever show.
const secret = "pa55-w0rd"

// write writes a file that is the user's alone, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
