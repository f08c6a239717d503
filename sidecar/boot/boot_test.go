package boot

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

var start = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// story plays events to a machine and tells what it does. It is as exact as the machine: a changed line is a changed
// behaviour.
type story struct {
	boot Boot
	now  time.Time
}

// TestStories plays testdata/*.txt:
//
//	setup [server] [side] [unnamed] [grace=10s] [orphan=15m]    a new sidecar of worker:1; its first step
//	do                                               one event a line, as in story.event; "wait 5s" lets time pass
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s story
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "setup":
				s = story{boot: New(setupOf(t, d)), now: start}
				return s.step(Started{})
			case "do":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					out.WriteString(s.play(strings.TrimSpace(line)))
				}
				return out.String()
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func setupOf(t *testing.T, d *datadriven.TestData) Setup {
	s := Setup{Task: tf.TaskName{JobName: "worker", TaskIndex: 1}, Command: []string{"train", "{worker_hosts}"}, Python: "python3",
		Import: ImportLean, GPUs: -1, Env: []string{"TFMESOS_TOKEN=x"}, Grace: 10 * time.Second, OrphanTimeout: 15 * time.Minute}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "server":
			s.Command = nil
		case "shell":
			s.Command = []string{"/bin/sh", "-c", "train"}
		case "side":
			s.Side, s.Command = true, []string{"tensorboard", "{port}"}
		case "unnamed":
			s.Task = tf.TaskName{}
		case "grace":
			s.Grace, _ = time.ParseDuration(arg.Vals[0])
		case "orphan":
			s.OrphanTimeout, _ = time.ParseDuration(arg.Vals[0])
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	return s
}

func (s *story) play(line string) string {
	word, rest, _ := strings.Cut(line, " ")
	if word == "wait" {
		d, err := time.ParseDuration(rest)
		if err != nil {
			return err.Error()
		}
		return s.wait(d)
	}
	ev, err := event(word, rest)
	if err != nil {
		return err.Error()
	}
	return s.step(ev)
}

// wait lets time pass as the loop would: with a Woken whenever one is due.
func (s *story) wait(d time.Duration) string {
	var out strings.Builder
	for end := s.now.Add(d); ; {
		due, ok := s.boot.Due()
		if !ok || due.After(end) {
			s.now = end
			return out.String()
		}
		s.now = due
		out.WriteString(s.step(Woken{}))
	}
}

func (s *story) step(ev Event) string {
	next, actions := Step(s.boot, ev, s.now)
	s.boot = next
	told := make([]string, len(actions))
	for i, a := range actions {
		told[i] = tell(a)
	}
	return fmt.Sprintf("t=%s %s: %s\n", s.now.Sub(start), next.Phase, strings.Join(told, "; "))
}

func event(word, rest string) (Event, error) {
	failure := map[string]Failure{"away": Away, "refused": Refused, "superseded": Superseded, "invalid": Invalid, "useless": Useless}
	switch word {
	case "port":
		n, err := strconv.Atoi(rest)
		return PortHeld{n}, err
	case "port-failed":
		return PortFailed{rest}, nil
	case "registered":
		return Registered{callback.Registered{JobName: "worker", TaskIndex: 1}}, nil
	case "registered-without-a-name":
		return Registered{}, nil
	case "registered-as":
		name, err := tf.ParseTaskName(rest)
		return Registered{callback.Registered{JobName: name.JobName, TaskIndex: name.TaskIndex}}, err
	case "assigned":
		return Assigned{assignment(rest)}, nil
	case "call":
		return CallFailed{Failure: failure[rest], Reason: rest}, nil
	case "report":
		if rest == "taken" {
			return Reported{}, nil
		}
		return ReportFailed{Failure: failure[rest], Reason: rest}, nil
	case "child-started":
		return ChildStarted{}, nil
	case "child-failed":
		cause, reason, _ := strings.Cut(rest, " ")
		return ChildFailed{Cause: callback.Cause(cause), Code: 127, Reason: reason}, nil
	case "imported":
		how, reason, _ := strings.Cut(rest, " ")
		return Imported{how, reason}, nil
	case "tensorflow-missing":
		return TensorFlowMissing{rest}, nil
	case "server-started":
		return ServerStarted{}, nil
	case "answered":
		return Answered{}, nil
	case "exited":
		return exited(rest)
	case "tree-empty":
		return TreeEmpty{}, nil
	case "flushed":
		return Flushed{}, nil
	case "signal":
		return Signalled{Signal(rest)}, nil
	}
	return nil, fmt.Errorf("unknown event %q", word)
}

// assignment makes one of a generation: complete, or "none", "hole" or "without" this task.
func assignment(what string) callback.Assignment {
	cluster := tf.ClusterDef{"ps": {"10.0.0.7:4000"}, "worker": {"10.0.0.8:4001", "10.0.0.9:4002"}}
	switch what {
	case "none":
		return callback.Assignment{Why: "2 of 3 tasks have no port yet"}
	case "hole":
		cluster["worker"][0] = ""
	case "without":
		cluster["worker"] = cluster["worker"][:1]
	default:
		generation, _ := strconv.Atoi(what)
		return callback.Assignment{Generation: generation, ClusterDef: cluster}
	}
	return callback.Assignment{Generation: 1, ClusterDef: cluster}
}

// exited reads "CODE [last words]" or "SIGNAL CODE".
func exited(text string) (Event, error) {
	first, rest, _ := strings.Cut(text, " ")
	if strings.HasPrefix(first, "SIG") {
		code, err := strconv.Atoi(rest)
		return ChildExited{Code: code, Signal: first}, err
	}
	code, err := strconv.Atoi(first)
	ev := ChildExited{Code: code}
	if rest != "" {
		ev.LastWords = strings.Split(rest, " / ")
	}
	return ev, err
}

func tell(a Action) string {
	switch a := a.(type) {
	case Start:
		if a.Launch.Server {
			return "start Python " + strings.Join(a.Launch.Argv, " ")
		}
		return "start " + strings.Join(a.Launch.Argv, " ")
	case Configure:
		return fmt.Sprintf("configure %s:%d", a.Server.Config.Task.Type, a.Server.Config.Task.Index)
	case Probe:
		return fmt.Sprintf("probe %s lazily=%t", strings.Join(a.Addresses, " "), a.Lazily)
	case Register:
		return fmt.Sprintf("register port %d", a.Registration.Port)
	case Poll:
		return fmt.Sprintf("poll from generation %d", a.Generation)
	case Report:
		return "report " + tellReport(a.Report)
	case Forward:
		return "forward " + string(a.Signal)
	case Flush:
		return "flush until t=" + a.Until.Sub(start).String()
	case Exit:
		return fmt.Sprintf("exit %d", a.Code)
	case Note:
		if a.Warn {
			return "warn: " + a.Text
		}
		return "note: " + a.Text
	}
	return map[string]string{"boot.HoldPort": "hold a port", "boot.EndTree": "TERM to all", "boot.KillTree": "KILL to all"}[fmt.Sprintf("%T", a)]
}

func tellReport(r callback.PhaseReport) string {
	text := fmt.Sprintf("%s (at t=%s)", r.Phase, r.At.Sub(start))
	switch r.Phase {
	case callback.PhaseImported:
		text += " " + r.Import
	case callback.PhaseEnded:
		text += fmt.Sprintf(" %s %d", r.Cause, r.ExitCode)
	}
	if r.Message != "" {
		text += fmt.Sprintf(" %q", r.Message)
	}
	return text
}
