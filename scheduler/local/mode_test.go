package local

import (
	"net/http"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

func TestAMasterThatDoesNotLeadSaysWhoDoesOrThatNobodyDoes(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	revive := &scheduler.Call{Type: scheduler.Call_REVIVE, FrameworkID: &mesos.FrameworkID{Value: c.id}}
	c.http = &http.Client{Transport: c.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(r *http.Request) { r.Method = http.MethodGet }
	for _, test := range []struct {
		name           string
		mode           Mode
		change         func(*http.Request)
		status         int
		text, location string
	}{
		{"a standby", StandingBy("10.0.0.1:5050"), header("X-Any", ""), 307, "", "//10.0.0.1:5050/master/api/v1/scheduler"},
		{"a standby, before it looks at the method", StandingBy("10.0.0.1:5050"), get, 307, "", "//10.0.0.1:5050/master/api/v1/scheduler"},
		{"a standby, after it has looked at the credentials", StandingBy("10.0.0.1:5050"), without("Authorization"), 401, "401 Unauthorized.", ""},
		{"no leader", NoLeader, header("X-Any", ""), 503, "No leader elected", ""},
		{"recovering", Recovering, header("X-Any", ""), 503, "Master has not finished recovery", ""},
		{"no routes", NoRoutes, without("Authorization"), 404, "", ""},
		{"leading again, and it has forgotten", Leading, header("X-Any", ""), 400, "Framework cannot be found", ""},
	} {
		m.Become(test.mode)
		response := c.post(revive, test.change)
		if text := body(response); response.StatusCode != test.status || text != test.text || response.Header.Get("Location") != test.location {
			t.Errorf("%s: %d %q, Location %q; want %d %q, %q", test.name, response.StatusCode, text, response.Header.Get("Location"), test.status, test.text, test.location)
		}
	}
}

func TestTasksOutliveTheirMaster(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern, failover(3600))
	c.launch("sleep 1000", "one")
	running := c.status("one", mesos.TASK_RUNNING)
	m.Become(NoLeader)
	for event := c.next(); event != nil; event = c.next() { // the stream ends
		if event.Type == scheduler.Event_ERROR {
			t.Errorf("the end of a master is told as %v", event)
		}
	}
	m.Become(Leading)
	next := subscribe(t, m, modern, failover(3600), withID(c.id))
	if again := next.status("one", mesos.TASK_RUNNING); string(again.UUID) != string(running.UUID) {
		t.Errorf("uuid %x, first %x: the same update has another", again.UUID, running.UUID)
	}
	next.reconcile("one", next.agent)
	next.status("one", mesos.TASK_RUNNING)
	next.call(&scheduler.Call{Type: scheduler.Call_TEARDOWN})
	m.Become(NoLeader)
	m.Become(Leading)
	subscribe(t, m, modern, withID(c.id)) // the next master does not know that it was removed
}
