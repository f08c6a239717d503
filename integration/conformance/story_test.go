//go:build integration

package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// story is what a master has said, as text that is the same each time.
type story struct {
	t       *testing.T
	master  master
	codec   codec
	clients []*client
	lines   []string
	names   map[string]string // of ids
	records sync.Map          // the bytes of each event
	// suppressed are roles that the next SUBSCRIBE wants no offers for.
	suppressed []string
	// whole asks for all of an event, not only for what matters most.
	whole bool
}

// note writes a line down.
func (s *story) note(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// alias gives an id a name: F1 is the first framework, A1 the first agent, O1 the first offer.
func (s *story) alias(kind, id string) {
	if s.names[id] != "" {
		return
	}
	n := 1
	for _, name := range s.names {
		if strings.HasPrefix(name, kind) {
			n++
		}
	}
	s.names[id] = fmt.Sprint(kind, n)
}

// text is all that was written down, with names for ids and without what differs from run to run.
func (s *story) text() string {
	text := strings.Join(s.lines, "\n") + "\n"
	ids := slices.Collect(maps.Keys(s.names))
	slices.SortFunc(ids, func(a, b string) int { return len(b) - len(a) }) // the id of an agent begins with that of its master
	for _, id := range ids {
		text = strings.ReplaceAll(text, id, s.names[id])
	}
	text = strings.ReplaceAll(text, s.master.addr, "MASTER")
	return text
}

// end tears the frameworks of the story down, so that the next one finds the whole agent.
func (s *story) end() {
	for _, c := range s.clients {
		if c.id != "" {
			c.try(&scheduler.Call{Type: scheduler.Call_TEARDOWN}) // one that has ended is refused
		}
	}
}

// file is the path of a file that a task of the story can make.
func (s *story) file() string { return filepath.Join(s.t.TempDir(), "ready") }

// await waits until a task has made the file: what a program is doing is no event of Mesos.
func (s *story) await(file string) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // a file of another process is no event
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the task does not get as far as making %s", file)
		}
	}
}

// event writes an event down, or that the stream has ended.
func (s *story) event(event *scheduler.Event) {
	s.t.Helper()
	switch {
	case event == nil:
		s.note("the stream ends")
	case s.whole:
		data, err := json.Marshal(event)
		if err != nil {
			s.t.Fatal(err)
		}
		if record, ok := s.records.Load(event); ok && s.codec.name == jsonText.name {
			data = record.([]byte)
		}
		s.note("%s\n%s", event.Type, indented(s.t, data))
	default:
		s.note("%s", brief(event))
	}
}

// brief has what matters most of an event.
func brief(event *scheduler.Event) string {
	words := []string{event.Type.String()}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch event.Type {
	case scheduler.Event_OFFERS:
		for _, o := range event.Offers.Offers {
			for _, r := range o.Resources {
				add("%s:%g", r.Name, r.Scalar.GetValue())
			}
			if o.AllocationInfo != nil {
				add("for %s", o.AllocationInfo.GetRole())
			}
			if o.Unavailability != nil {
				add("unavailable")
			}
		}
	case scheduler.Event_UPDATE:
		status := event.Update.Status
		add("%s %s %s", status.TaskID.Value, status.GetState(), status.GetSource())
		if status.Reason != nil {
			add("%s", status.GetReason())
		}
		if status.AgentID != nil {
			add("agent=%q", status.AgentID.Value)
		}
		if status.UUID != nil {
			add("uuid")
		}
		if status.Message != nil {
			add("%q", status.GetMessage())
		}
	case scheduler.Event_ERROR:
		add("%q", event.Error.Message)
	case scheduler.Event_RESCIND:
		add("%s", event.Rescind.OfferID.Value)
	case scheduler.Event_UPDATE_OPERATION_STATUS:
		status := event.UpdateOperationStatus.Status
		add("%s %s %q", status.GetOperationID().GetValue(), status.State, status.GetMessage())
	case scheduler.Event_FAILURE:
		add("agent=%q executor=%q", event.Failure.GetAgentID().GetValue(), event.Failure.GetExecutorID().GetValue())
	}
	return strings.Join(words, " ")
}

// volatile are fields whose value differs from run to run. That they are there is written down.
var volatile = regexp.MustCompile(`"(timestamp|uuid|port|pid|nanoseconds|start_time|id|executor_pid)": ("[^"]*"|[-0-9.e+]+)`)

// indented is JSON in lines, its keys sorted.
func indented(t *testing.T, data []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	out, _ := json.MarshalIndent(value, "  ", "  ")
	return "  " + volatile.ReplaceAllString(string(out), `"$1": …`)
}
