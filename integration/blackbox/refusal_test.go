//go:build integration

package blackbox_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const mistakes = `name: Bad_Name
command: [python, train.py]
jobs:
  - {name: chief, num: 2}
  - {name: worker, num: -1, gpus: 0.5}
  - {name: ps, mem: 8G, comand: x}
  - {name: master}
deadlines: {run: soon}
`

func TestASpecFullOfMistakesIsRefusedWithAllOfThem(t *testing.T) {
	t.Parallel()
	path := write(t, "bad.yaml", mistakes, 0o600)
	r := local().launch(t, freshName(), t.TempDir(), []string{"run", "--local", path})
	r.ends(2, "problems", "nothing was started")
	for _, problem := range []string{":1:.*Bad_Name", ":4:.*(num|chief)", ":5:.*num", ":5:.*gpus", ":6:.*mem", ":6:.*comand.*command", ":7:.*(chief|master)", ":8:.*soon"} {
		if len(r.stderr.matches("^"+path+problem)) == 0 {
			t.Errorf("no line names %s:\n%s", problem, r.stderr.tail(20))
		}
	}
	r.startedNothing()
}

// startedNothing wants a run that was refused before it began.
func (r *run) startedNothing() {
	r.t.Helper()
	if lines, _, _ := r.stdout.lines(); len(lines) > 0 || len(r.stderr.matches("callbacks at")) > 0 {
		r.t.Errorf("something was started:\n%s\n%s", r.stdout.tail(5), r.stderr.tail(9))
	}
	if _, err := os.Stat(filepath.Join(r.home, "state", "tfmesos")); err == nil {
		r.t.Error("there is a directory of the run")
	}
}

func TestWrongUsageIsRefused(t *testing.T) {
	t.Parallel()
	spec := filepath.Join(root, "examples", "servers", "cluster.yaml")
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown flag", []string{"--local", "--no-such-flag", spec}, "--no-such-flag"},
		{"no spec", []string{"--local"}, "want a spec"},
		{"spec and flags", []string{"--local", "--worker", "2", spec}, "--worker 2"},
		{"spec and command", []string{"--local", spec, "--", "true"}, "-- true"},
		{"missing file", []string{"--local", "no-such-spec.yaml"}, "no-such-spec.yaml"},
		{"a directory", []string{"--local", root}, root},
		{"no master", []string{"--worker", "1", "--", "true"}, "--master"},
		{"a master that is none", []string{"--master", "http://", "--worker", "1", "--", "true"}, "http://"},
		{"a port that is none", []string{"--local", "--port", "70000", spec}, "70000"},
		{"a grace that is none", []string{"--local", "--grace", "soon", spec}, "soon"},
		{"a sidecar that is not there", []string{"--local", "--sidecar", "/no/such/sidecar", spec}, "/no/such/sidecar"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := local().launch(t, freshName(), t.TempDir(), append([]string{"run"}, c.args...))
			r.ends(2)
			if len(r.stderr.matches(c.want)) == 0 {
				t.Errorf("stderr does not have %q:\n%s", c.want, r.stderr.tail(9))
			}
			r.startedNothing()
		})
	}
}

func TestAPortThatIsTakenIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		taken, err := net.Listen("tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
		p.start(t, "--port", port, "--worker", "1", "--", "true").ends(2, port)
	})
}

// takeDefaultPort listens at the default port. Another test may have it first; then it waits until that has ended.
func takeDefaultPort(t *testing.T) io.Closer {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if taken, err := net.Listen("tcp", ":11000"); err == nil {
			return taken
		}
		time.Sleep(20 * time.Millisecond) // nothing tells when a port of another process becomes free
	}
	t.Fatal("the default port does not become free")
	return nil
}

func TestWithoutTheDefaultPortAFreeOneDoes(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		defer takeDefaultPort(t).Close()
		r := p.start(t, "--worker", "1", "--", "true")
		r.ends(0, "finished")
		if url := r.awaits(`callbacks at (http://.+)$`)[1]; strings.HasSuffix(url, ":11000") {
			t.Errorf("callbacks at %s, which is taken", url)
		}
	})
}
