//go:build integration

package blackbox_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// stubborn is a program that does not end when asked to.
	stubborn = `trap "" TERM INT; echo stubborn; while :; do sleep 1000; done`
	// stubbornChild is one more, in a session of its own.
	stubbornChild = `setsid sh -c 'trap "" TERM INT; while :; do sleep 1000; done' & `
)

// pair is a cluster of two programs that go on for ever.
func pair(program string) []string { return []string{"--worker", "2", "--", "sh", "-c", program} }

// moments are the lines after which a run is stopped; the first is none, so right after its start.
var moments = []string{"", "callbacks at", "registered with master", "launched on", "(running|starting) on", "port [0-9]", "program started", "all 2 tasks ready"}

func TestCtrlCEndsARunAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, moment := range moments {
		t.Run("local, after "+moment, func(t *testing.T) { t.Parallel(); ctrlCAfter(t, local(), moment, pair("sleep 1000 & wait")) })
	}
	t.Run("mesos", func(t *testing.T) {
		t.Parallel()
		p := onMesos(t, local().path)
		for _, moment := range []string{"", "registered with master", "launched on", "all 2 tasks ready"} {
			t.Run("after "+moment, func(t *testing.T) { ctrlCAfter(t, p, moment, pair("sleep 1000 & wait")) })
		}
	})
}

func ctrlCAfter(t *testing.T, p place, moment string, args []string) {
	r := p.start(t, args...)
	if moment != "" {
		r.awaits(moment)
	}
	since := time.Now()
	r.ctrlC()
	if r.exit(); moment == "" && r.cmd.ProcessState.ExitCode() == -1 {
		return // it was not yet there to say a word
	}
	r.endsInTime(since, 130, "SIGINT")
}

func TestCtrlCEndsTensorFlowAtAnyMoment(t *testing.T) {
	withTensorFlow(t, func(t *testing.T, p place) {
		for _, moment := range []string{"ps:0 .* port", "all 4 tasks ready"} { // while it imports, and while it makes its graph
			t.Run("after "+moment, func(t *testing.T) { ctrlCAfter(t, p, moment, []string{"examples/ps/cluster.yaml"}) })
		}
		t.Run("while training", func(t *testing.T) {
			r := p.start(t, "examples/ps/cluster.yaml")
			r.prints(`loss`)
			since := time.Now()
			r.ctrlC()
			r.endsInTime(since, 130, "SIGINT")
		})
	})
}

func TestSIGTERMEndsARun(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.start(t, pair("sleep 1000")...)
		r.awaits("all 2 tasks ready")
		since := time.Now()
		r.signal(syscall.SIGTERM)
		r.endsInTime(since, 143, "SIGTERM")
	})
}

func TestTheGraceEndsProgramsThatDoNotListen(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.start(t, pair(stubbornChild+stubborn)...)
		r.prints(`worker:0 \| stubborn`)
		r.prints(`worker:1 \| stubborn`)
		since := time.Now()
		r.ctrlC()
		r.endsInTime(since, 130, "SIGINT")
	})
}

func TestASecondCtrlCEndsProgramsThatDoNotListenAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		program := stubborn
		if p.rig == nil { // what has left the group of a killed executor's task is out of reach of an agent without cgroups
			program = stubbornChild + stubborn
		}
		r := p.start(t, append([]string{"--grace", "90s"}, pair(program)...)...)
		r.prints(`worker:0 \| stubborn`)
		r.prints(`worker:1 \| stubborn`)
		r.ctrlC()
		r.awaits("once more ends it at once")
		since := time.Now()
		r.ctrlC()
		r.endsInTime(since, 130, "SIGINT")
	})
}

func TestAKilledSchedulerLeavesNoLocalProcess(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sleep 1000", stubbornChild + stubborn} {
		r := local().start(t, pair("echo here; "+program)...)
		r.prints(`worker:0 \| here`)
		r.prints(`worker:1 \| here`)
		r.signal(syscall.SIGKILL)
		r.exit()
		r.leavesNothing()
	}
}

func TestAKilledSchedulerLeavesNoLocalServer(t *testing.T) {
	r := place{path: tensorFlowPath(t)}.start(t, "examples/servers/cluster.yaml")
	r.awaits(`all 3 tasks ready`)
	r.signal(syscall.SIGKILL)
	r.exit()
	r.leavesNothing()
}

func TestALocalNameBelongsToTheRunThatHasIt(t *testing.T) {
	t.Parallel()
	r := local().start(t, pair("sleep 1000")...)
	r.awaits("all 2 tasks ready")
	second := r.again()
	if code := second.exit(); code != 2 || !strings.Contains(second.stderr.last(), r.name) {
		t.Errorf("a second run of the name: exit code %d: %s", code, second.stderr.last())
	}
	if s := r.status(); s.Ready != 2 {
		t.Errorf("it left %d tasks of the first ready: %s", s.Ready, s.Why)
	}
	r.signal(syscall.SIGKILL) // which leaves a run.json, and maybe a lock
	r.exit()
	third := r.again()
	third.awaits("all 2 tasks ready")
	third.ctrlC()
	third.ends(130)
}

func TestRunsSideBySideDoNotMeet(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		home, runs := t.TempDir(), []*run{}
		for i := range 2 {
			name := fmt.Sprintf("%s-%d", freshName(), i)
			runs = append(runs, p.startNamed(t, name, home, pair(`echo "$TFMESOS_CLUSTER"; exec sleep 1000`)...))
		}
		for _, r := range runs {
			r.awaits("all 2 tasks ready")
			for task := range 2 {
				r.prints(fmt.Sprintf(`^worker:%d \| %s$`, task, r.name))
			}
			if s := r.status(); s.Name != r.name || s.Ready != 2 {
				t.Errorf("the status of %s is that of %s, %d ready", r.name, s.Name, s.Ready)
			}
		}
		runs[0].ctrlC()
		runs[0].ends(130)
		if s := runs[1].status(); s.Ready != 2 {
			t.Errorf("the end of one left %d tasks of the other ready: %s", s.Ready, s.Why)
		}
		runs[1].ctrlC()
		runs[1].ends(130)
		if printed, _, _ := runs[0].stdout.lines(); len(printed) != 2 {
			t.Errorf("one run printed\n%s", runs[0].stdout.tail(9))
		}
	})
}
