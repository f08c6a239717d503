package local

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = []string{value} }
}

func without(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }

func TestRequestsThatAreNotInOrderAreRefused(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	id := &mesos.FrameworkID{Value: c.id}
	revive := &scheduler.Call{Type: scheduler.Call_REVIVE, FrameworkID: id}
	sub := func(principal, id string) *scheduler.Call {
		info := &mesos.FrameworkInfo{User: "u", Name: "n", Principal: &principal}
		if id != "" {
			info.ID = &mesos.FrameworkID{Value: id}
		}
		return &scheduler.Call{Type: scheduler.Call_SUBSCRIBE, Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: info}}
	}
	gone := subscribe(t, m, modern, failover(3600))
	gone.hangUp()
	eventually(t, "the framework is disconnected", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.frameworks[gone.id].stream == nil
	})
	noStream := without("Mesos-Stream-Id")
	for name, test := range map[string]struct {
		call   *scheduler.Call
		change []func(*http.Request)
		status int
		text   string
	}{
		"no credentials":    {revive, []func(*http.Request){without("Authorization")}, 401, "401 Unauthorized."},
		"wrong secret":      {revive, []func(*http.Request){func(r *http.Request) { r.SetBasicAuth("tester", "s3cre") }}, 401, "401 Unauthorized."},
		"wrong principal":   {revive, []func(*http.Request){func(r *http.Request) { r.SetBasicAuth("", "s3cret") }}, 401, "401 Unauthorized."},
		"path":              {revive, []func(*http.Request){func(r *http.Request) { r.URL.Path = "/state" }}, 404, "The local Mesos has only /api/v1/scheduler"},
		"method":            {revive, []func(*http.Request){func(r *http.Request) { r.Method = "GET" }}, 405, "405 Method Not Allowed. Expecting one of { 'POST' }, but received 'GET'."},
		"no content type":   {revive, []func(*http.Request){without("Content-Type")}, 400, "Expecting 'Content-Type' to be present"},
		"content type":      {revive, []func(*http.Request){header("Content-Type", "application/json; charset=utf-8")}, 415, "Expecting 'Content-Type' of application/json or application/x-protobuf"},
		"not JSON":          {revive, []func(*http.Request){header("Content-Type", "application/json")}, 400, "Failed to parse body into JSON"},
		"no type":           {&scheduler.Call{FrameworkID: id}, nil, 400, "Failed to validate scheduler::Call: Expecting 'type' to be present"},
		"no framework":      {&scheduler.Call{Type: scheduler.Call_REVIVE}, nil, 400, "Failed to validate scheduler::Call: Expecting 'framework_id' to be present"},
		"no body":           {&scheduler.Call{Type: scheduler.Call_ACCEPT, FrameworkID: id}, nil, 400, "Failed to validate scheduler::Call: Expecting 'accept' to be present"},
		"short uuid":        {&scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE, FrameworkID: id, Acknowledge: &scheduler.Call_Acknowledge{UUID: []byte{1}}}, nil, 400, "Failed to validate scheduler::Call: Not a valid UUID"},
		"unknown framework": {&scheduler.Call{Type: scheduler.Call_REVIVE, FrameworkID: &mesos.FrameworkID{Value: "x"}}, nil, 400, "Framework cannot be found"},
		"not subscribed":    {&scheduler.Call{Type: scheduler.Call_REVIVE, FrameworkID: &mesos.FrameworkID{Value: gone.id}}, nil, 403, "Framework is not subscribed"},
		"no stream":         {revive, []func(*http.Request){noStream}, 400, "All non-subscribe calls should include the 'Mesos-Stream-Id' header"},
		"other stream": {revive, []func(*http.Request){header("Mesos-Stream-Id", "x")}, 400,
			"The stream ID 'x' included in this request didn't match the stream ID currently associated with framework ID " + c.id},
		"stream on SUBSCRIBE": {sub("tester", ""), nil, 400, "Subscribe calls should not include the 'Mesos-Stream-Id' header"},
		"accept":              {sub("tester", ""), []func(*http.Request){noStream, header("Accept", "text/html")}, 406, "Expecting 'Accept' to allow 'application/x-protobuf' or 'application/json'"},
		"ids differ":          {sub("tester", "F"), []func(*http.Request){noStream}, 400, "Failed to validate scheduler::Call: 'framework_id' differs from 'subscribe.framework_info.id'"},
		"other principal": {sub("other", ""), []func(*http.Request){noStream}, 400,
			"Failed to validate scheduler::Call: Authenticated principal 'tester' does not match principal 'other' set in `FrameworkInfo`"},
		"not implemented": {&scheduler.Call{Type: scheduler.Call_REQUEST, FrameworkID: id, Request: &scheduler.Call_Request{}}, nil, 501, "The local Mesos does not implement REQUEST"},
		"unknown type":    {&scheduler.Call{Type: 99, FrameworkID: id}, nil, 400, "Failed to validate scheduler::Call: Expecting 'type' to be present"},
	} {
		t.Run(name, func(t *testing.T) {
			response := c.post(test.call, test.change...)
			if text := body(response); response.StatusCode != test.status || !strings.HasPrefix(text, test.text) {
				t.Errorf("%d %q, want %d %q", response.StatusCode, text, test.status, test.text)
			}
			if got, want := response.Header.Get("WWW-Authenticate"), `Basic realm="mesos-master-scheduler"`; test.status == 401 && got != want {
				t.Errorf("WWW-Authenticate is %q, want %q", got, want)
			}
		})
	}
	c.offer()
	c.quiet() // none of them has done anything to it
}

func TestMalformedProtobufIsRefused(t *testing.T) {
	for _, data := range [][]byte{{0xff}, {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, bytes.Repeat([]byte{0x0b}, 100)} {
		if call, err := protobuf.decode(data); err == nil {
			t.Errorf("%x is read as %v", data, call)
		}
	}
	panics := codec{unmarshal: func([]byte, *scheduler.Call) error { panic("index out of range") }}
	if _, err := panics.decode(nil); err == nil {
		t.Error("a panic of the decoder is no error")
	}
}

func TestFrameworksThatAMasterDoesNotTakeGetOneErrorAndTheEnd(t *testing.T) {
	m := startMesos(t)
	multi := capable(mesos.FrameworkInfo_Capability_MULTI_ROLE)
	roles := func(names ...string) func(*mesos.FrameworkInfo) {
		return func(info *mesos.FrameworkInfo) { info.Roles = names }
	}
	for name, test := range map[string]struct {
		change []func(*mesos.FrameworkInfo)
		want   string
	}{
		"huge failover timeout": {[]func(*mesos.FrameworkInfo){failover(1e300)}, "The framework failover_timeout (1e+300) is invalid"},
		"id":                    {[]func(*mesos.FrameworkInfo){withID("a/b")}, "'a/b' contains invalid characters"},
		"empty role":            {[]func(*mesos.FrameworkInfo){role("")}, "'FrameworkInfo.role' is not a valid role: Role names cannot be the empty string"},
		"dash":                  {[]func(*mesos.FrameworkInfo){role("a/-b")}, "'FrameworkInfo.role' is not a valid role: Role component '-b' is invalid because it starts with a dash"},
		"slash":                 {[]func(*mesos.FrameworkInfo){role("/a")}, "'FrameworkInfo.role' is not a valid role: Role '/a' cannot start with a slash"},
		"two slashes":           {[]func(*mesos.FrameworkInfo){role("a//b")}, "'FrameworkInfo.role' is not a valid role: Role 'a//b' cannot contain two adjacent slashes"},
		"dot":                   {[]func(*mesos.FrameworkInfo){role(".")}, "'FrameworkInfo.role' is not a valid role: Role '.' cannot include '.' as a component"},
		"space": {[]func(*mesos.FrameworkInfo){multi, roles("a b")},
			"'FrameworkInfo.roles' contains invalid role: Role component 'a b' is invalid because it contains backspace or whitespace"},
		"role with multi-role":     {[]func(*mesos.FrameworkInfo){multi, role("a")}, "'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE capable"},
		"roles without multi-role": {[]func(*mesos.FrameworkInfo){roles("a")}, "'FrameworkInfo.roles' must not be set when the framework is not MULTI_ROLE capable"},
		"a role twice":             {[]func(*mesos.FrameworkInfo){multi, roles("a", "a")}, "'FrameworkInfo.roles' contains duplicate items: { a }"},
	} {
		c := connect(t, m, test.change...)
		if got := c.expect(scheduler.Event_ERROR).Error.Message; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if event := c.next(); event != nil {
			t.Errorf("%s: the stream goes on with %v", name, event)
		}
	}
}

func TestSubscribedSaysWhoTheMasterIs(t *testing.T) {
	m := startMesos(t, func(c *Config) { c.HeartbeatInterval = 20 * time.Millisecond })
	c := connect(t, m, modern)
	subscribed := (<-c.events).Subscribed
	info := subscribed.MasterInfo
	_, port, _ := net.SplitHostPort(m.Addr())
	if subscribed.GetHeartbeatIntervalSeconds() != 0.02 || fmt.Sprint(info.GetPort()) != port || info.Address.GetIP() != "127.0.0.1" || info.IP != 16777343 || info.GetVersion() != "1.11.0" {
		t.Errorf("SUBSCRIBED is %+v, want the interval and the address of the master", subscribed)
	}
	for beats := 0; beats < 3; { // the first at once, more as time goes
		if event := <-c.events; event.Type == scheduler.Event_HEARTBEAT {
			beats++
		}
	}
}

func TestJSONIsSpokenToo(t *testing.T) {
	m := startMesos(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "POST", "http://"+m.Addr()+schedulerPath, strings.NewReader(`{"type":"SUBSCRIBE","subscribe":{"framework_info":{"user":"u","name":"n"}}}`))
	r.SetBasicAuth("tester", "s3cret")
	r.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	buffer := make([]byte, 4096)
	n, err := response.Body.Read(buffer)
	if text := string(buffer[:n]); err != nil || response.Header.Get("Content-Type") != "application/json" || !strings.Contains(text, `"type":"SUBSCRIBED"`) {
		t.Errorf("%s %v: %s, want SUBSCRIBED", response.Status, err, text)
	}
}

func TestATakeoverEndsTheOldStreamAndItsOffers(t *testing.T) {
	m := startMesos(t)
	old := subscribe(t, m, modern)
	stale := old.offer()
	c := subscribe(t, m, modern, withID(old.id))
	if c.id != old.id {
		t.Errorf("id %s, want %s again", c.id, old.id)
	}
	if got := old.expect(scheduler.Event_ERROR).Error.Message; got != "Framework failed over" {
		t.Errorf("the old stream is told %q", got)
	}
	if event := old.next(); event != nil {
		t.Errorf("the old stream goes on with %v", event)
	}
	fresh := c.offer()
	c.accept([]mesos.Offer{stale}, c.task("one", "true"))
	if status := c.status("one", mesos.TASK_DROPPED); status.GetReason() != mesos.REASON_INVALID_OFFERS {
		t.Errorf("on a stale offer: %+v", status)
	}
	c.accept([]mesos.Offer{fresh}, c.task("two", "true"))
	c.acked("two", mesos.TASK_RUNNING)
}

func TestADisconnectedFrameworkHasItsFailoverTimeout(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern, failover(3600))
	c.launch("sleep 1000", "one")
	c.acked("one", mesos.TASK_RUNNING)
	c.hangUp()
	again := subscribe(t, m, modern, failover(0.02), withID(c.id))
	again.reconcile("", "")
	again.status("one", mesos.TASK_RUNNING)
	again.hangUp()
	eventually(t, "the framework and its task are gone", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.frameworks)+len(m.tasks) == 0
	})
	dead := connect(t, m, modern, withID(c.id))
	if got := dead.expect(scheduler.Event_ERROR).Error.Message; got != "Framework has been removed" {
		t.Errorf("the id of a removed framework gets %q", got)
	}
}

func TestWithoutFailoverTimeoutTasksEndWithTheStream(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	c.launch("sleep 1000", "one")
	c.acked("one", mesos.TASK_RUNNING)
	c.hangUp()
	other := subscribe(t, m, modern, failover(3600))
	for have := 0.0; have < 4; { // all it used comes to another
		have += cpus(other.offer())
	}
}

func TestAnUnknownIDIsTakenAsByAMasterThatForgot(t *testing.T) {
	if c := subscribe(t, startMesos(t), modern, withID("from-before")); c.id != "from-before" {
		t.Errorf("registered as %s", c.id)
	}
}

func TestTeardownEndsEverythingOfAFramework(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern, failover(3600))
	c.launch("sleep 1000", "one", "two")
	c.acked("one", mesos.TASK_RUNNING)
	c.acked("two", mesos.TASK_RUNNING)
	c.call(&scheduler.Call{Type: scheduler.Call_TEARDOWN})
	for event := c.next(); event != nil; event = c.next() {
		if event.Type != scheduler.Event_OFFERS {
			t.Errorf("the stream has %v before its end, want nothing", event)
		}
	}
	eventually(t, "the tasks are gone", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.tasks) == 0
	})
	if got := connect(t, m, modern, withID(c.id)).expect(scheduler.Event_ERROR).Error.Message; got != "Framework has been removed" {
		t.Errorf("the id gets %q", got)
	}
}

func TestReconciliationAnswersByWhatIsKnown(t *testing.T) {
	for _, test := range []struct {
		name               string
		change             func(*mesos.FrameworkInfo)
		unknown, atAnAgent mesos.TaskState
	}{
		{"partition aware", modern, mesos.TASK_UNKNOWN, mesos.TASK_GONE},
		{"old", func(*mesos.FrameworkInfo) {}, mesos.TASK_LOST, mesos.TASK_LOST},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := subscribe(t, startMesos(t), test.change)
			o := c.offer()
			c.reconcile("x", "")
			c.status("x", test.unknown)
			c.reconcile("x", "another-agent")
			c.status("x", test.unknown)
			c.reconcile("x", o.AgentID.Value)
			if got := c.status("x", test.atAnAgent); got.GetReason() != mesos.REASON_RECONCILIATION || got.UUID != nil || got.GetAgentID().GetValue() != o.AgentID.Value {
				t.Errorf("the answer is %+v", got)
			}
			c.accept([]mesos.Offer{o}, c.task("b", "sleep 1000"), c.task("a", "sleep 1000"))
			c.acked("b", mesos.TASK_RUNNING)
			c.acked("a", mesos.TASK_RUNNING)
			c.reconcile("", "")
			c.status("a", mesos.TASK_RUNNING)
			c.status("b", mesos.TASK_RUNNING)
			c.quiet()
			c.call(&scheduler.Call{Type: scheduler.Call_TEARDOWN})
		})
	}
}
