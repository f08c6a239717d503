package launch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tfmesos/shared/callback"
	"tfmesos/sidecar/boot"
)

// These tests have no children but the Launcher's, and run one after the other: it waits for all children of its process.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ran is what one child came to.
type ran struct {
	events         []boot.Event
	lines          []string
	stdout, stderr bytes.Buffer
}

// run runs argv to its end, calling at with each event as it comes.
func run(t *testing.T, launch boot.Launch, at func(l *Launcher, ev boot.Event)) *ran {
	t.Helper()
	r := &ran{}
	lines := make(chan string, 10_000)
	l := New(&r.stdout, &r.stderr, func(stream, text string) { lines <- stream + ": " + text })
	if launch.Env == nil {
		launch.Env = os.Environ()
	}
	l.Run(launch, func(ev boot.Event) {
		r.events = append(r.events, ev)
		if at != nil {
			at(l, ev)
		}
	})
	close(lines)
	for line := range lines {
		r.lines = append(r.lines, line)
	}
	return r
}

func sh(line string) boot.Launch { return boot.Launch{Argv: []string{"sh", "-c", line}} }

func TestEventsOfAProgram(t *testing.T) {
	r := run(t, sh("echo out; echo err >&2; exit 3"), nil)
	want := []boot.Event{boot.ChildStarted{}, boot.ChildExited{Code: 3, LastWords: []string{"err"}}, boot.TreeEmpty{}}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	slices.Sort(r.lines)
	if diff := cmp.Diff([]string{"stderr: err", "stdout: out"}, r.lines); diff != "" || r.stdout.String() != "out\n" || r.stderr.String() != "err\n" {
		t.Errorf("output (-want +got):\n%s%s%s", diff, &r.stdout, &r.stderr)
	}
}

func TestProgramInheritsNoFileOfOurs(t *testing.T) {
	p := held(t)
	r := run(t, sh("ls -l /proc/self/fd"), nil)
	if got := r.stdout.String(); strings.Contains(got, "socket:") {
		t.Errorf("the hold of port %d is open in the program too:\n%s", p.Number(), got)
	}
}

func TestProgramIsFoundAsTheKernelFindsIt(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\npwd\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "odd"), []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := run(t, boot.Launch{Argv: []string{"./here"}, Dir: dir}, nil); r.stdout.String() != dir+"\n" {
		t.Errorf("./here in the working directory: %+v", r.events)
	}
	for _, c := range []struct {
		launch boot.Launch
		want   boot.ChildFailed
	}{
		{boot.Launch{Argv: []string{"./odd"}, Dir: dir}, boot.ChildFailed{Cause: callback.CauseNoProgram, Code: 127, Reason: "there is no program ./odd, or its interpreter does not exist"}},
		{boot.Launch{Argv: []string{"no-such-program"}}, boot.ChildFailed{Cause: callback.CauseNoProgram, Code: 127, Reason: "there is no program no-such-program in PATH"}},
		{boot.Launch{Argv: []string{dir}}, boot.ChildFailed{Cause: callback.CauseNoProgram, Code: 126, Reason: dir + " cannot be executed: permission denied"}},
		{boot.Launch{Argv: []string{"no-python", "lean"}, Server: true}, boot.ChildFailed{Cause: callback.CauseNoPython, Code: 127, Reason: "there is no program no-python in PATH"}},
		{boot.Launch{Argv: []string{"true"}, Dir: dir + "/none"}, boot.ChildFailed{Cause: callback.CauseSidecar, Code: 70, Reason: "the working directory " + dir + "/none does not exist"}},
	} {
		if diff := cmp.Diff([]boot.Event{c.want}, run(t, c.launch, nil).events); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.launch.Argv, diff)
		}
	}
}

func TestKnownFault090MainChildsStatusIsNotTakenByAnOrphans(t *testing.T) {
	r := run(t, sh("for i in 1 2 3 4 5 6 7 8 9 10; do (sh -c 'exit 7' &) ; done; exit 42"), nil)
	if ev, ok := r.events[1].(boot.ChildExited); !ok || ev.Code != 42 {
		t.Errorf("%+v", r.events)
	}
}

func TestKillTreeEndsWhatKeepsForking(t *testing.T) {
	r := run(t, sh(`trap "" TERM; f() { setsid sh -c "trap '' TERM; echo up; while :; do sleep 0.01 & sleep 0.01; done" & }; f; f; f; wait`),
		func(l *Launcher, ev boot.Event) {
			if _, ok := ev.(boot.ChildStarted); ok {
				time.AfterFunc(100*time.Millisecond, l.KillTree)
			}
		})
	want := []boot.Event{boot.ChildStarted{}, boot.ChildExited{Code: 137, Signal: "SIGKILL"}, boot.TreeEmpty{}}
	if ev, ok := r.events[1].(boot.ChildExited); ok {
		ev.LastWords = nil
		r.events[1] = ev
	}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if left := descendants(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func TestEndTreeReachesEveryProcessOnce(t *testing.T) {
	report := `trap "echo $0 got TERM; exit 0" TERM; echo $0 is up; while :; do sleep 0.01; done`
	line := fmt.Sprintf(`sh -c '%[1]s' one & setsid sh -c '%[1]s' two & wait; wait`, report)
	up := 0
	var l *Launcher
	var r ran
	l = New(nil, nil, func(stream, text string) {
		if stream != "stdout" { // shells say there that they were terminated
			return
		}
		r.lines = append(r.lines, text)
		if strings.HasSuffix(text, "is up") {
			if up++; up == 2 {
				l.EndTree()
			}
		}
	})
	l.Run(boot.Launch{Argv: []string{"sh", "-c", line}, Env: os.Environ()}, func(ev boot.Event) { r.events = append(r.events, ev) })
	slices.Sort(r.lines)
	if diff := cmp.Diff([]string{"one got TERM", "one is up", "two got TERM", "two is up"}, r.lines); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestOutputHeldOpenByAnotherProcessDoesNotHoldTheEndBack(t *testing.T) {
	r := run(t, sh("setsid sleep 60 & exit 4"), func(l *Launcher, ev boot.Event) {
		if _, ok := ev.(boot.ChildExited); ok {
			l.EndTree()
		}
	})
	if ev, ok := r.events[1].(boot.ChildExited); !ok || ev.Code != 4 || len(r.events) != 3 {
		t.Errorf("%+v", r.events)
	}
}

func TestWhatServerPySaysBecomesEvents(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	const script = `#!/bin/sh
echo imported full because of this >&3
read line <&4
echo "$line"
echo serving >&3
echo nonsense >&3
echo no_tensorflow none here >&3
`
	if err := os.WriteFile(python, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := run(t, boot.Launch{Server: true, Argv: []string{python, "lean"}}, func(l *Launcher, ev boot.Event) {
		if _, ok := ev.(boot.ChildStarted); ok {
			if err := l.Configure(boot.Server{Env: map[string]string{"A": "1"}}); err != nil {
				t.Error(err)
			}
		}
	})
	want := []boot.Event{boot.ChildStarted{}, boot.Imported{How: "full", Reason: "because of this"}, boot.ServerStarted{},
		boot.TensorFlowMissing{Reason: "none here"}, boot.ChildExited{LastWords: []string{r.stdout.String()[:max(0, r.stdout.Len()-1)]}}, boot.TreeEmpty{}}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if !strings.Contains(r.stdout.String(), `"env":{"A":"1"}`) {
		t.Errorf("it was told %s", &r.stdout)
	}
}

func TestLinesAreCutWhereTheyMayBe(t *testing.T) {
	long := strings.Repeat("ü", callback.MaxLogLine) // two bytes each
	for _, c := range []struct {
		name string
		text string
		want []string
	}{
		{"plain", "a\nb\n", []string{"a", "b"}},
		{"no newline at the end", "a\n\nb", []string{"a", "", "b"}},
		{"DOS", "a\r\n", []string{"a"}},
		{"long", long + "\nx\n", []string{long[:callback.MaxLogLine], long[callback.MaxLogLine:], "x"}},
		{"not text", strings.Repeat("\x80", callback.MaxLogLine+1), []string{strings.Repeat("\x80", callback.MaxLogLine-4), strings.Repeat("\x80", 5)}},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			var got []string
			l := lines{each: func(text string) { got = append(got, text) }}
			for rest := c.text; rest != ""; rest = rest[min(piece, len(rest)):] {
				l.write([]byte(rest[:min(piece, len(rest))]))
			}
			l.close()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s in pieces of %d (-want +got):\n%.300s", c.name, piece, diff)
			}
		}
	}
}

func TestLastWordsAreThoseOfStderrIfThereAreAny(t *testing.T) {
	w := lastWords{lines: map[string][]string{}}
	w.add("stdout", "out")
	if got := w.get(); !slices.Equal(got, []string{"out"}) {
		t.Errorf("%q", got)
	}
	for i := range 20 {
		w.add("stderr", strconv.Itoa(i))
	}
	if got := w.get(); len(got) != lastWordsKept || got[lastWordsKept-1] != "19" {
		t.Errorf("%q", got)
	}
}
