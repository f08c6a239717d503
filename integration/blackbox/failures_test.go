//go:build integration

package blackbox_test

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/failures.md anew")

// mishap is a row of docs/failures.md: what happens to a run on this machine, and how it ends.
type mishap struct {
	what string
	code int
	// begin starts the run and lets it happen.
	begin func(t *testing.T) *run
}

var mishaps = []mishap{
	{"a flag that does not exist", 2, started("--lcoal")},
	{"neither a master nor `--local`", 2, func(t *testing.T) *run {
		return local().launch(t, "failures", t.TempDir(), []string{"run", "--worker", "1"})
	}},
	{"a setting that is neither true nor false", 2, reaching("MESOS_VERIFY_SSL=flase", "MESOS_MASTER=127.0.0.1:9")},
	{"a principal's secret that others can read", 2, func(t *testing.T) *run {
		return reaching("MESOS_USERNAME=tf", "MESOS_PASSWORD_FILE="+write(t, "secret", "x", 0o644), "MESOS_MASTER=127.0.0.1:9")(t)
	}},
	{"no spec, and no tasks by flags", 2, started()},
	{"a spec that is not there", 2, started("no-such-spec.yaml")},
	{"a spec with mistakes; each is in a line of its own before", 2, func(t *testing.T) *run {
		return local().start(t, write(t, "spec.yaml", mistakes, 0o600))
	}},
	{"a port that is taken, with `--port`", 2, func(t *testing.T) *run {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { taken.Close() })
		return local().start(t, "--port", fmt.Sprint(taken.Addr().(*net.TCPAddr).Port), "--worker", "1", "--", "true")
	}},
	{"no Python for a server", 2, func(t *testing.T) *run {
		return place{path: pathOf(t, nil)}.start(t, "--worker", "1")
	}},
	{"a program that does not exist", 2, started("--worker", "1", "--", "no-such-program")},
	{"a program that ends with 3", 1, started("--worker", "1", "--", "sh", "-c", "echo no more data >&2; exit 3")},
	{"a program that is killed", 1, func(t *testing.T) *run {
		r := local().start(t, "--worker", "1", "--", "sleep", "1000")
		r.awaits("all 1 tasks ready")
		r.kill9(r.theProcess("worker-0", "sleep"))
		return r
	}},
	{"a sidecar that is killed", 1, func(t *testing.T) *run {
		r := local().start(t, "--worker", "1", "--", "sleep", "1000")
		r.awaits("all 1 tasks ready")
		r.kill9(r.theProcess("worker-0", "sidecar"))
		return r
	}},
	{"more than there is, until the deadline `resources`", 3, func(t *testing.T) *run {
		return local().start(t, write(t, "spec.yaml", "jobs: [{name: worker, gpus: 64}]\ndeadlines: {resources: 1s}\n", 0o600))
	}},
	{"a run that is longer than its deadline `run`", 124, func(t *testing.T) *run {
		return local().start(t, write(t, "spec.yaml", "jobs: [{name: worker, command: sleep 1000}]\ndeadlines: {run: 1s}\n", 0o600))
	}},
	{"a master that is not there, for longer than `--orphan-timeout`", 4, func(t *testing.T) *run {
		return local().launch(t, "failures", t.TempDir(), []string{"run", "--master", "127.0.0.1:9", "--name", "failures", "--orphan-timeout", "1s", "--grace", "1s", "--worker", "1"})
	}},
	{"none of several masters", 4, reaching("MESOS_MASTER=127.0.0.1:9,127.0.0.1:19")},
	{"a ZooKeeper that is not there", 4, reaching("MESOS_MASTER=zk://tf:secret@127.0.0.1:9/mesos")},
	{"a Redis that is not there", 4, started("--redis", "redis://127.0.0.1:9", "--worker", "1")},
	{"Ctrl-C", 130, func(t *testing.T) *run {
		r := local().start(t, "--worker", "1", "--", "sleep", "1000")
		r.awaits("all 1 tasks ready")
		r.ctrlC()
		return r
	}},
	{"SIGTERM, as a batch system sends it", 143, func(t *testing.T) *run {
		r := local().start(t, "--worker", "1", "--", "sleep", "1000")
		r.awaits("all 1 tasks ready")
		r.signal(15)
		return r
	}},
}

// reaching is a run on Mesos with these settings, which waits no longer than 1s for it.
func reaching(env ...string) func(*testing.T) *run {
	return func(t *testing.T) *run {
		p := local()
		p.extra = env
		return p.launch(t, "failures", t.TempDir(), []string{"run", "--name", "failures", "--orphan-timeout", "1s", "--grace", "1s", "--worker", "1"})
	}
}

func started(args ...string) func(*testing.T) *run {
	return func(t *testing.T) *run { return local().start(t, args...) }
}

// TestEachFailureEndsAsThePageSays lets each happen, and compares exit code and last line with docs/failures.md. Nothing may be
// left of any.
func TestEachFailureEndsAsThePageSays(t *testing.T) {
	page := filepath.Join(root, "docs", "failures.md")
	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(before), "| what happens |")
	if !found {
		t.Fatalf("%s has no table", page)
	}
	rows := []string{"| what happens | exit code | the last line |", "|---|---|---|"}
	for _, m := range mishaps {
		t.Run(m.what, func(t *testing.T) {
			r := m.begin(t)
			since := time.Now()
			r.endsInTime(since, m.code)
			rows = append(rows, fmt.Sprintf("| %s | %d | `%s` |", m.what, m.code, r.plain(r.stderr.last())))
		})
	}
	after := head + strings.Join(rows, "\n") + "\n"
	switch {
	case after == string(before):
	case *update:
		if err := os.WriteFile(page, []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/failures.md is not what happens (go test -tags integration ./integration/blackbox -run %s -update):\n%s", t.Name(), after)
	}
}

var (
	directories = regexp.MustCompile(`/(tmp|var)/[^ :;]*/`)
	ports       = regexp.MustCompile(`127\.0\.0\.1:[0-9]{4,5}`)
)

// plain leaves out of a line what is another each time.
func (r *run) plain(line string) string {
	line = strings.ReplaceAll(line, r.name, "NAME")
	line = directories.ReplaceAllString(line, "")
	return strings.ReplaceAll(ports.ReplaceAllString(line, "127.0.0.1:PORT"), "|", `\|`)
}
