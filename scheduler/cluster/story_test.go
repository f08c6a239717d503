package cluster

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// TestStories plays the golden stories in testdata/stories. Each command is an event; what is printed are the calls, the notes
// and the tasks that follow. Run with -rewrite after a change and read the difference.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := &story{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string { return s.play(t, td) })
	})
}

type story struct {
	c      *Cluster
	now    time.Time
	offers int
	wake   time.Time
}

func (s *story) play(t *testing.T, td *datadriven.TestData) string {
	switch td.Cmd {
	case "cluster":
		callback := "http://10.0.0.1:11000"
		if td.Input != "" {
			callback = td.Input
		}
		s.c = New(storySpec(t, td), 1, "abc123", Settings{Callbacks: []string{callback}, Sidecar: "/opt/sidecar",
			Secret: []byte("secret"), Grace: 20 * time.Second, OrphanTimeout: 15 * time.Minute, TFImport: "lean"}, s.now)
		return s.decide(Woken{})
	case "restart": // a new scheduler process finds the stored cluster
		next := s.c.Clone()
		next.Resume(next.Settings, s.now)
		s.c = next
		return s.decide(Woken{})
	case "advance":
		step, err := time.ParseDuration(td.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(step)
		return s.decide(Woken{})
	case "environment":
		return s.environment(t, td)
	}
	return s.decide(storyEvent(t, s, td))
}

func storyEvent(t *testing.T, s *story, td *datadriven.TestData) Event {
	arg := func(name string) string {
		if !td.HasArg(name) {
			return ""
		}
		var value string
		td.ScanArgs(t, name, &value)
		return value
	}
	id := func() string { return s.taskID(t, arg("task"), arg("launch")) }
	switch td.Cmd {
	case "subscribed":
		return Subscribed{FrameworkID: "F1", Master: "10.0.0.9:5050"}
	case "disconnected":
		return Disconnected{Why: cmp.Or(arg("why"), "connection refused")}
	case "refused":
		return Refused{Message: "Framework has been removed"}
	case "offer":
		return Offered{Offers: s.storyOffers(t, td)}
	case "rescind":
		return Rescinded{OfferID: arg("id")}
	case "update":
		ev := Updated{TaskID: id(), AgentID: arg("agent"), State: State("TASK_" + arg("state")), Reason: arg("reason"), Message: arg("message")}
		if arg("uuid") != "" {
			ev.UUID = []byte(arg("uuid"))
		}
		if arg("ip") != "" {
			ev.Addresses = strings.Split(arg("ip"), "+")
		}
		return ev
	case "port":
		port, _ := strconv.Atoi(arg("port"))
		return Registered{TaskID: id(), Registration: callback.Registration{Port: port}}
	case "phase":
		code, _ := strconv.Atoi(arg("exit"))
		return PhaseReported{TaskID: id(), Report: callback.PhaseReport{Phase: callback.Phase(arg("is")), At: s.now, ExitCode: code,
			Cause: callback.Cause(arg("cause")), Message: td.Input}}
	case "agent-lost":
		return AgentLost{AgentID: arg("agent")}
	case "revive-failed":
		return CallFailed{Call: Revive{}, Why: "timeout"}
	case "accept-failed":
		return CallFailed{Call: Accept{Launches: []Launch{{TaskID: id()}}}, Why: "timeout"}
	case "answered":
		return Answered{TaskID: id()}
	case "driver-ended":
		code, _ := strconv.Atoi(arg("exit"))
		return DriverEnded{ExitCode: code, Message: td.Input}
	case "stop":
		return Stopped{ExitCode: ExitInterrupted, Reason: "interrupted", Now: td.HasArg("now")}
	}
	t.Fatalf("%s: unknown command %q", td.Pos, td.Cmd)
	return nil
}

// taskID is the current launch's of a task such as worker:1, that of another launch if one is given, or the text itself.
func (s *story) taskID(t *testing.T, task, launch string) string {
	name, err := tf.ParseTaskName(task)
	if err != nil {
		return task
	}
	if launch != "" {
		n, _ := strconv.Atoi(launch)
		return TaskID(s.c.Spec.Name, s.c.Nonce, name, n)
	}
	if s.c.Task(name) == nil {
		t.Fatalf("no task %s", task)
	}
	return s.c.Task(name).TaskID
}

func (s *story) storyOffers(t *testing.T, td *datadriven.TestData) []offer.Offer {
	var offers []offer.Offer
	for _, arg := range td.CmdArgs { // a1=(cpus,mem,gpus,rack)
		s.offers++
		var r [3]float64
		var attributes []offer.Attribute
		for i, text := range arg.Vals {
			v, err := strconv.ParseFloat(text, 64)
			switch {
			case i == 3:
				attributes = append(attributes, offer.Attribute{Name: "rack", Values: []string{text}})
			case err != nil:
				t.Fatal(err)
			default:
				r[i] = v
			}
		}
		offers = append(offers, offer.Offer{ID: fmt.Sprintf("o%d", s.offers), AgentID: arg.Key, Hostname: arg.Key + ".lab", Address: "10.1.0." + arg.Key[1:], Role: "*",
			Parts: []offer.Part{{Resources: offer.Resources{CPUs: offer.FromFloat(r[0]), Mem: offer.FromFloat(r[1]), GPUs: offer.FromFloat(r[2])}}}, Attributes: attributes})
	}
	return offers
}

// storySpec reads jobs as chief=(1,train) or worker=2: how many, and the command if any; and only=(rack,==,r1) for a constraint of all.
func storySpec(t *testing.T, td *datadriven.TestData) Spec {
	spec := Spec{Name: "ctr", Deadlines: DefaultDeadlines}
	for _, arg := range td.CmdArgs {
		if arg.Key == "driver" {
			spec.Driver = arg.Vals
			continue
		}
		if arg.Key == "success" {
			spec.Success = arg.Vals[0]
			continue
		}
		if arg.Key == "only" {
			c, err := offer.ParseConstraint(strings.Join(arg.Vals, " "))
			if err != nil {
				t.Fatal(err)
			}
			spec.Constraints = append(spec.Constraints, c)
			continue
		}
		n, err := strconv.Atoi(arg.Vals[0])
		if err != nil {
			t.Fatal(err)
		}
		job := Job{Name: arg.Key, Num: n, Resources: offer.Resources{CPUs: 1000, Mem: 1024000}}
		if len(arg.Vals) > 1 {
			job.Command = []string{arg.Vals[1]}
		}
		job.Side = arg.Key == "tensorboard"
		if arg.Key == "peer" {
			job.Entrypoint = []string{"python3", "-m", "tfmesos2.server", "{task_id}", "{callback}"}
		}
		if arg.Key == "evaluator" {
			job.Resources.GPUs = 1000
		}
		spec.Jobs = append(spec.Jobs, job)
	}
	return spec
}

func (s *story) decide(ev Event) string {
	s.c = s.c.Clone()
	work := Decide(s.c, ev, s.now)
	s.wake = work.Wake
	var b strings.Builder
	for _, call := range work.Calls {
		fmt.Fprintf(&b, "> %s\n", showCall(call))
	}
	for _, n := range work.Notes {
		fmt.Fprintf(&b, "%s\n", showNote(n))
	}
	for _, p := range work.Probes {
		fmt.Fprintf(&b, "? %s of %s\n", p.Address, p.TaskID)
	}
	if drive := work.Drive; drive != nil {
		fmt.Fprintf(&b, "! %s with %v\n", strings.Join(drive.Argv, " "), drive.Env)
	}
	ready, total := s.c.Ready()
	fmt.Fprintf(&b, "= %s %d/%d", s.c.Phase, ready, total)
	if s.c.Why != "" {
		fmt.Fprintf(&b, " (%s)", s.c.Why)
	}
	if s.c.Ended() {
		fmt.Fprintf(&b, " exit %d", s.c.ExitCode)
	} else if !work.Wake.IsZero() {
		fmt.Fprintf(&b, ", wake in %s", work.Wake.Sub(s.now).Round(time.Millisecond))
	}
	return b.String() + "\n"
}

func showNote(n Note) string {
	text := "- " + n.Kind
	if n.Task.JobName != "" {
		text += " " + n.Task.String()
	}
	if n.To != "" {
		text += fmt.Sprintf(" %s→%s", n.From, n.To)
	}
	if n.Text != "" {
		text += ": " + n.Text
	}
	if n.Bad {
		text += " !"
	}
	return text
}

func showCall(call Call) string {
	switch c := call.(type) {
	case Accept:
		var ids []string
		for _, l := range c.Launches {
			ids = append(ids, l.TaskID)
		}
		return fmt.Sprintf("ACCEPT %s on %s: %s", strings.Join(c.OfferIDs, "+"), c.AgentID, strings.Join(ids, " "))
	case Decline:
		return fmt.Sprintf("DECLINE %s for %gs", strings.Join(c.OfferIDs, "+"), math.Round(c.RefuseSeconds*1000)/1000)
	case Acknowledge:
		return fmt.Sprintf("ACKNOWLEDGE %s of %s at %s", c.UUID, c.TaskID, c.AgentID)
	case Kill:
		return fmt.Sprintf("KILL %s on %s, grace %s", c.TaskID, c.AgentID, c.Grace)
	case Reconcile:
		var refs []string
		for _, r := range c.Tasks {
			refs = append(refs, r.TaskID+"@"+r.AgentID)
		}
		return "RECONCILE " + strings.Join(refs, " ")
	}
	return strings.ToUpper(strings.TrimPrefix(fmt.Sprintf("%T", call), "cluster."))
}

// environment prints what a task would be started with; the token is left out.
func (s *story) environment(t *testing.T, td *datadriven.TestData) string {
	var task string
	td.ScanArgs(t, "task", &task)
	name, err := tf.ParseTaskName(task)
	if err != nil {
		t.Fatal(err)
	}
	d := &decider{Cluster: s.c.Clone(), now: s.now}
	launch := d.describe(s.c.Task(name), s.c.Spec.Job(name), "TOKEN")
	lines := []string{strings.Join(launch.Argv, " ")}
	for _, v := range launch.Env {
		lines = append(lines, v.Name+"="+v.Value)
	}
	return strings.Join(lines, "\n") + "\n"
}
