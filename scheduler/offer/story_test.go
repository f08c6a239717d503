package offer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tfmesos/shared/tf"
)

// TestStories plays testdata/stories. The input of match has a line for each offer and ask,
//
//	offer o1 a1 cpus=4 mem=8192        (role=… when it is not *)
//	ask worker:0*3 cpus=1 mem=1024     (three tasks from worker:0 on)
//
// and the output says what becomes of each. Run with -rewrite after a change and read the difference.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if td.Cmd != "match" {
				t.Fatalf("%s: unknown command %q", td.Pos, td.Cmd)
			}
			var offers []Offer
			var asks []Ask
			for line := range strings.Lines(td.Input) {
				words := strings.Fields(line)
				switch words[0] {
				case "offer":
					offers = append(offers, readOffer(t, words[1:]))
				case "ask":
					asks = append(asks, readAsks(t, words[1:])...)
				default:
					t.Fatalf("%s: unknown line %q", td.Pos, line)
				}
			}
			return show(Match(offers, asks))
		})
	})
}

func readOffer(t *testing.T, words []string) Offer {
	o := Offer{ID: words[0], AgentID: words[1], Hostname: words[1] + ".lab", Address: "10.1.0." + words[1][1:], Role: "*"}
	amounts := words[2:]
	if role, found := strings.CutPrefix(words[2], "role="); found {
		o.Role, amounts = role, words[3:]
	}
	o.Resources = readResources(t, amounts)
	return o
}

func readAsks(t *testing.T, words []string) []Ask {
	first, times, many := strings.Cut(words[0], "*")
	name, err := tf.ParseTaskName(first)
	if err != nil {
		t.Fatal(err)
	}
	n := 1
	if many {
		if n, err = strconv.Atoi(times); err != nil {
			t.Fatal(err)
		}
	}
	var asks []Ask
	for i := range n {
		asks = append(asks, Ask{Task: tf.TaskName{JobName: name.JobName, TaskIndex: name.TaskIndex + i}, Resources: readResources(t, words[1:])})
	}
	return asks
}

func readResources(t *testing.T, words []string) Resources {
	var r Resources
	into := map[string]*Milli{"cpus": &r.CPUs, "mem": &r.Mem, "disk": &r.Disk, "gpus": &r.GPUs}
	for _, word := range words {
		name, text, _ := strings.Cut(word, "=")
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || into[name] == nil {
			t.Fatalf("%q is no amount of a resource", word)
		}
		*into[name] = FromFloat(v)
	}
	return r
}

func show(m Matching) string {
	var b strings.Builder
	for _, a := range m.Accepts {
		fmt.Fprintf(&b, "accept %s of %s", strings.Join(a.OfferIDs, "+"), a.AgentID)
		if a.Role != "*" {
			fmt.Fprintf(&b, " for role %s", a.Role)
		}
		fmt.Fprint(&b, ":")
		for _, task := range a.Tasks {
			fmt.Fprintf(&b, " %s", task)
		}
		fmt.Fprintln(&b)
	}
	if len(m.Declines) > 0 {
		fmt.Fprintf(&b, "decline %s\n", strings.Join(m.Declines, " "))
	}
	for _, u := range m.Unmet {
		fmt.Fprintf(&b, "%s waits: %s\n", u.Task, u.Reason)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
