package boot

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// world answers a machine's actions in any order and any way that the real one could, and checks what must always hold.
type world struct {
	*rapid.T
	setup   Setup
	boot    Boot
	now     time.Time
	pending []Action // not answered yet

	starts, exits int
	alive, tree   bool
	toldAt        time.Time // of the first order to end
	taken         []callback.PhaseReport
	sent          *callback.PhaseReport
	configured    bool
}

func TestMachineKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, now: start, setup: Setup{Task: tf.TaskName{JobName: "worker", TaskIndex: 1}, Python: "python3", Import: ImportLean,
			Grace: 10 * time.Second, OrphanTimeout: time.Minute}}
		switch rapid.SampledFrom([]string{"server", "command", "side"}).Draw(t, "kind") {
		case "command":
			w.setup.Command = []string{"train"}
		case "side":
			w.setup.Command, w.setup.Side = []string{"tensorboard"}, true
		}
		if rapid.Bool().Draw(t, "unnamed") {
			w.setup.Task = tf.TaskName{}
		}
		w.boot = New(w.setup)
		w.step(Started{})
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if w.exits == 0 {
				w.step(w.draw())
			}
		}
		w.end()
	})
}

// step takes one event and checks the actions that come of it.
func (w *world) step(ev Event) {
	before := w.boot
	next, actions := Step(w.boot, ev, w.now)
	again, same := Step(before, ev, w.now)
	if !reflect.DeepEqual(next, again) || !reflect.DeepEqual(actions, same) {
		w.Fatalf("two answers to %#v", ev)
	}
	w.boot = next
	for _, a := range actions {
		if w.exits > 0 {
			w.Fatalf("%T after the exit", a)
		}
		w.check(a)
	}
}

func (w *world) check(a Action) {
	switch a := a.(type) {
	case Start:
		if w.starts++; w.starts > 1 {
			w.Fatal("a second child")
		}
		w.pending = append(w.pending, a)
	case Configure:
		if !w.alive || w.configured {
			w.Fatalf("configure: alive=%t, before=%t", w.alive, w.configured)
		}
		w.configured = true
	case Register, Poll:
		if slices.ContainsFunc(w.pending, isCall) {
			w.Fatal("two calls at once")
		}
		w.pending = append(w.pending, a)
	case Report:
		if w.sent != nil {
			w.Fatal("two reports at once")
		}
		if a.Report.Phase == callback.PhaseEnded && w.tree {
			w.Fatal("`ended` was reported while processes are left")
		}
		if err := a.Report.Validate(); err != nil {
			w.Fatal(err)
		}
		w.sent = &a.Report
		w.pending = append(w.pending, a)
	case HoldPort, Probe, Flush:
		w.pending = append(w.pending, a)
	case Exit:
		w.exits++
		if a.Code < 0 || a.Code > 255 {
			w.Fatalf("exit %d", a.Code)
		}
	}
}

func isCall(a Action) bool {
	switch a.(type) {
	case Register, Poll:
		return true
	}
	return false
}

// draw chooses what happens next.
func (w *world) draw() Event {
	kinds := []string{"time", "time", "signal"}
	if len(w.pending) > 0 {
		kinds = append(kinds, "answer", "answer", "answer", "answer", "answer", "answer")
	}
	if w.alive {
		kinds = append(kinds, "exit", "python")
	} else if w.tree {
		kinds = append(kinds, "empty")
	}
	switch rapid.SampledFrom(kinds).Draw(w.T, "kind") {
	case "time":
		due, _ := w.boot.Due()
		if due.After(w.now) {
			w.now = due
		}
		return Woken{}
	case "signal":
		s := rapid.SampledFrom([]Signal{TERM, INT, HUP, USR1}).Draw(w.T, "signal")
		if w.toldAt.IsZero() && (s == TERM || s == INT) {
			w.toldAt = w.now
		}
		return Signalled{s}
	case "exit":
		w.alive = false
		return ChildExited{Code: rapid.SampledFrom([]int{0, 1, 97, 127, 255}).Draw(w.T, "code")}
	case "python":
		return rapid.SampledFrom([]Event{Imported{How: ImportLean}, TensorFlowMissing{}, Answered{}}).Draw(w.T, "python")
	case "empty":
		w.tree = false
		return TreeEmpty{}
	}
	i := rapid.IntRange(0, len(w.pending)-1).Draw(w.T, "which")
	a := w.pending[i]
	w.pending = slices.Delete(slices.Clone(w.pending), i, i+1)
	return w.answer(a)
}

func (w *world) answer(a Action) Event {
	well := rapid.Bool().Draw(w.T, "well")
	failure := rapid.SampledFrom([]Failure{Away, Away, Away, Refused, Superseded, Invalid, Useless}).Draw(w.T, "failure")
	switch a := a.(type) {
	case HoldPort:
		return PortHeld{4001}
	case Start:
		if !well {
			return ChildFailed{Cause: callback.CauseNoProgram, Code: 127}
		}
		w.alive, w.tree = true, true
		return ChildStarted{}
	case Probe:
		return Answered{}
	case Flush:
		return Flushed{}
	case Register:
		if well {
			return Registered{callback.Registered{JobName: "worker", TaskIndex: 1}}
		}
	case Poll:
		if well {
			return Assigned{assignment(rapid.SampledFrom([]string{"none", "1", "2", "hole"}).Draw(w.T, "assignment"))}
		}
	case Report:
		sent := *w.sent
		w.sent = nil
		if !well {
			return ReportFailed{Failure: failure}
		}
		w.take(sent)
		return Reported{}
	default:
		panic(fmt.Sprintf("%T has no answer", a))
	}
	return CallFailed{Failure: failure, Fraction: 0.5}
}

// take checks that phases come once each, `ended` last.
func (w *world) take(r callback.PhaseReport) {
	for _, before := range w.taken {
		if before.Phase == callback.PhaseEnded || before.Phase == r.Phase && r.Phase != callback.PhaseImported {
			w.Fatalf("%s after %s", r.Phase, before.Phase)
		}
	}
	w.taken = append(w.taken, r)
}

// end lets time pass with nobody answering: once told to end, the sidecar is gone within its grace.
func (w *world) end() {
	if w.exits == 0 && w.toldAt.IsZero() {
		w.toldAt = w.now
		w.step(Signalled{TERM})
	}
	for i := 0; w.exits == 0; i++ {
		due, ok := w.boot.Due()
		if !ok || i > 1000 {
			w.Fatalf("waits for nothing in %s", w.boot.Phase)
		}
		w.now = due
		w.step(Woken{})
	}
	if !w.toldAt.IsZero() && w.now.Sub(w.toldAt) > w.setup.Grace {
		w.Fatalf("gone %s after the order to end, with a grace of %s", w.now.Sub(w.toldAt), w.setup.Grace)
	}
}
