package offer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tfmesos/shared/tf"
)

// TestStories plays testdata/stories. The input of match has lines such as
//
//	offer o1 a1 cpus=4 mem=8192 rack:r1     (role=… when it is not *; reserved=NAME, and what follows has that reservation)
//	ask worker:0*3 cpus=1 mem=1024          (three tasks from worker:0 on; spread)
//	only rack == r1                         (for all tasks)
//	only worker hostname unique             (for those of a job)
//	running ps:0 a1 rack:r1
//
// and the output says what becomes of each. Run with -rewrite after a change and read the difference.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if td.Cmd != "match" {
				t.Fatalf("%s: unknown command %q", td.Pos, td.Cmd)
			}
			s := &story{T: t, jobs: map[string][]Constraint{}}
			for line := range strings.Lines(td.Input) {
				s.read(strings.Fields(line))
			}
			for i, ask := range s.gang.Asks {
				s.gang.Asks[i].Constraints = s.jobs[ask.Task.JobName]
			}
			for i, r := range s.gang.Running {
				agent := Offer{Hostname: r.AgentID + ".lab", Attributes: s.running[i]}
				s.gang.Running[i].Values = Grouped(&agent, s.gang.counting())
			}
			return s.show(Match(s.offers, s.gang))
		})
	})
}

type story struct {
	*testing.T
	offers  []Offer
	gang    Gang
	jobs    map[string][]Constraint
	running [][]Attribute // of the agents of gang.Running
}

func (s *story) read(words []string) {
	switch words[0] {
	case "offer":
		s.offers = append(s.offers, s.offer(words[1:]))
	case "ask":
		s.asks(words[1:])
	case "only":
		c, err := ParseConstraint(strings.Join(words[1:], " "))
		if err == nil {
			s.gang.Constraints = append(s.gang.Constraints, c)
			return
		}
		if c, err = ParseConstraint(strings.Join(words[2:], " ")); err != nil {
			s.Fatal(err)
		}
		s.jobs[words[1]] = append(s.jobs[words[1]], c)
	case "running":
		s.gang.Running = append(s.gang.Running, Running{Task: s.task(words[1]), AgentID: words[2]})
		s.running = append(s.running, attributes(words[3:]))
	default:
		s.Fatalf("unknown line %q", words)
	}
}

func (s *story) task(text string) tf.TaskName {
	name, err := tf.ParseTaskName(text)
	if err != nil {
		s.Fatal(err)
	}
	return name
}

func attributes(words []string) (all []Attribute) {
	for _, word := range words {
		if name, value, found := strings.Cut(word, ":"); found {
			all = append(all, Attribute{Name: name, Values: members(value, "{", "}")})
		}
	}
	return all
}

func (s *story) offer(words []string) Offer {
	o := Offer{ID: words[0], AgentID: words[1], Hostname: words[1] + ".lab", Address: "10.1.0." + words[1][1:], Role: "*", Attributes: attributes(words[2:])}
	part := Part{}
	for _, word := range words[2:] {
		if strings.Contains(word, ":") {
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "role":
			o.Role = value
		case "reserved":
			o.Parts = append(o.Parts, part)
			part = Part{Reservation: value}
		default:
			part.Resources = part.Resources.Add(s.amount(name, value))
		}
	}
	o.Parts = append(o.Parts, part)
	return o
}

func (s *story) asks(words []string) {
	first, times, many := strings.Cut(words[0], "*")
	name, n := s.task(first), 1
	if many {
		var err error
		if n, err = strconv.Atoi(times); err != nil {
			s.Fatal(err)
		}
	}
	ask := Ask{}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		if ask.Spread = ask.Spread || name == "spread"; name != "spread" {
			ask.Resources = ask.Resources.Add(s.amount(name, value))
		}
	}
	for i := range n {
		ask.Task = tf.TaskName{JobName: name.JobName, TaskIndex: name.TaskIndex + i}
		s.gang.Asks = append(s.gang.Asks, ask)
	}
}

func (s *story) amount(name, text string) (r Resources) {
	into := map[string]*Milli{"cpus": &r.CPUs, "mem": &r.Mem, "disk": &r.Disk, "gpus": &r.GPUs}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || into[name] == nil {
		s.Fatalf("%s=%s is no amount of a resource", name, text)
	}
	*into[name] = FromFloat(v)
	return r
}

func (s *story) show(m Matching) string {
	var b strings.Builder
	for _, a := range m.Accepts {
		fmt.Fprintf(&b, "accept %s of %s", strings.Join(a.OfferIDs, "+"), a.AgentID)
		if a.Role != "*" {
			fmt.Fprintf(&b, " for role %s", a.Role)
		}
		if a.Values != nil {
			fmt.Fprintf(&b, " at %v", a.Values)
		}
		fmt.Fprint(&b, ":")
		for _, task := range a.Tasks {
			fmt.Fprintf(&b, " %s", task.Task)
			for _, p := range task.Parts {
				if p.Reservation != "" {
					fmt.Fprintf(&b, " (%s of %s)", p.Resources, p.Reservation)
				}
			}
		}
		fmt.Fprintln(&b)
	}
	for _, answer := range []struct {
		what string
		ids  []string
	}{{"hold", m.Holds}, {"spare", m.Spares}, {"useless", m.Useless}} {
		if len(answer.ids) > 0 {
			fmt.Fprintf(&b, "%s %s\n", answer.what, strings.Join(answer.ids, " "))
		}
	}
	for _, task := range m.Unmet {
		fmt.Fprintf(&b, "%s waits: %s\n", task, Explain(s.offers, s.gang, m.Unmet)[task])
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
