package local

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

var discard = slog.New(slog.DiscardHandler)

// sorted returns the values of a map in the order of their keys as texts.
func sorted[K comparable, V any](all map[K]V) (values []V) {
	byText := map[string]V{}
	for k, v := range all {
		byText[fmt.Sprint(k)] = v
	}
	for _, k := range slices.Sorted(maps.Keys(byText)) {
		values = append(values, byText[k])
	}
	return values
}

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

func testConfig(t testing.TB) Config {
	return Config{
		WorkDir: filepath.Join(t.TempDir(), "sandboxes"), Principal: "tester", Secret: "s3cret",
		Resources: Resources{CPUs: 4, Mem: 1024, Disk: 100},
		Env:       []string{"PATH=/usr/local/bin:/usr/bin:/bin", "FROM=agent", "OVER=agent"},
		Logger:    discard,
	}
}

// startMesos starts a Mesos that is closed, with all its tasks, at the test's end.
func startMesos(t *testing.T, change ...func(*Config)) *Mesos {
	t.Helper()
	config := testConfig(t)
	for _, f := range change {
		f(&config)
	}
	m, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeMesos(t, m, 0) })
	return m
}

func closeMesos(t *testing.T, m *Mesos, grace time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		t.Error(err)
	}
}

// set changes the timing of a running Mesos.
func (m *Mesos) set(change func(*timing)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.timing)
}

// client is a scheduler of the tests.
type client struct {
	t         *testing.T
	m         *Mesos
	transport *http.Transport
	http      *http.Client
	stream    io.Closer
	streamID  string
	id        string // of the framework
	agent     string // of the last offer
	events    chan *scheduler.Event
	fences    int
}

func capable(types ...mesos.FrameworkInfo_Capability_Type) func(*mesos.FrameworkInfo) {
	return func(info *mesos.FrameworkInfo) {
		for _, c := range types {
			info.Capabilities = append(info.Capabilities, mesos.FrameworkInfo_Capability{Type: c})
		}
	}
}

var modern = capable(mesos.FrameworkInfo_Capability_PARTITION_AWARE, mesos.FrameworkInfo_Capability_TASK_KILLING_STATE)

func failover(seconds float64) func(*mesos.FrameworkInfo) {
	return func(info *mesos.FrameworkInfo) { info.FailoverTimeout = &seconds }
}

func withID(id string) func(*mesos.FrameworkInfo) {
	return func(info *mesos.FrameworkInfo) { info.ID = &mesos.FrameworkID{Value: id} }
}

func role(name string) func(*mesos.FrameworkInfo) {
	return func(info *mesos.FrameworkInfo) { info.Role = &name }
}

// connect subscribes without looking at the answer's events.
func connect(t *testing.T, m *Mesos, change ...func(*mesos.FrameworkInfo)) *client {
	t.Helper()
	info := &mesos.FrameworkInfo{User: "nobody", Name: "test"}
	for _, f := range change {
		f(info)
	}
	transport := &http.Transport{}
	c := &client{t: t, m: m, transport: transport, http: &http.Client{Transport: transport}, events: make(chan *scheduler.Event, 1000)}
	t.Cleanup(c.transport.CloseIdleConnections)
	response := c.post(&scheduler.Call{Type: scheduler.Call_SUBSCRIBE, FrameworkID: info.ID, Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: info}})
	if response.StatusCode != http.StatusOK {
		t.Fatalf("SUBSCRIBE: %s: %s", response.Status, body(response))
	}
	c.stream, c.streamID = response.Body, response.Header.Get("Mesos-Stream-Id")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(c.events)
		readEvents(response.Body, c.events)
	}()
	t.Cleanup(func() { c.hangUp(); <-done })
	return c
}

// subscribe connects and expects to be welcome.
func subscribe(t *testing.T, m *Mesos, change ...func(*mesos.FrameworkInfo)) *client {
	t.Helper()
	c := connect(t, m, change...)
	c.id = c.expect(scheduler.Event_SUBSCRIBED).Subscribed.FrameworkID.Value
	return c
}

func (c *client) hangUp() { _ = c.stream.Close() }

// readEvents reads RecordIO until the stream ends.
func readEvents(stream io.Reader, events chan<- *scheduler.Event) {
	in := bufio.NewReader(stream)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		size, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
		if err != nil {
			panic(fmt.Sprintf("no RecordIO: %q", line))
		}
		record := make([]byte, size)
		if _, err := io.ReadFull(in, record); err != nil {
			return
		}
		event := new(scheduler.Event)
		if err := event.Unmarshal(record); err != nil {
			panic(err)
		}
		events <- event
	}
}

func body(r *http.Response) string {
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return string(text)
}

func (c *client) post(call *scheduler.Call, change ...func(*http.Request)) *http.Response {
	c.t.Helper()
	data, err := call.Marshal()
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, "http://"+c.m.Addr()+"/api/v1/scheduler", bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	r.SetBasicAuth("tester", "s3cret")
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Accept", "application/x-protobuf")
	if c.streamID != "" {
		r.Header.Set("Mesos-Stream-Id", c.streamID)
	}
	for _, f := range change {
		f(r)
	}
	response, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return response
}

// call makes a call that must be taken.
func (c *client) call(call *scheduler.Call) {
	c.t.Helper()
	call.FrameworkID = &mesos.FrameworkID{Value: c.id}
	response := c.post(call)
	if text := body(response); response.StatusCode != http.StatusAccepted || text != "" {
		c.t.Fatalf("%s: %s: %q, want 202 and nothing", call.Type, response.Status, text)
	}
}

// next is the next event that is no heartbeat; nil if the stream has ended.
func (c *client) next() *scheduler.Event {
	c.t.Helper()
	for {
		select {
		case event, open := <-c.events:
			if !open || event.Type != scheduler.Event_HEARTBEAT {
				return event
			}
		case <-time.After(patience):
			c.t.Fatal("no event comes")
		}
	}
}

func (c *client) expect(want scheduler.Event_Type) *scheduler.Event {
	c.t.Helper()
	event := c.next()
	if event == nil {
		c.t.Fatalf("the stream has ended, want %s", want)
	}
	if event.Type != want {
		c.t.Fatalf("got %s %+v, want %s", event.Type, event, want)
	}
	return event
}

// offer is the next event, an offer.
func (c *client) offer() mesos.Offer {
	c.t.Helper()
	offers := c.expect(scheduler.Event_OFFERS).Offers.Offers
	if len(offers) != 1 {
		c.t.Fatalf("%d offers in an event, want 1", len(offers))
	}
	c.agent = offers[0].AgentID.Value
	return offers[0]
}

// status skips offers up to the next update, which must be of the state.
func (c *client) status(task string, want mesos.TaskState) *mesos.TaskStatus {
	c.t.Helper()
	for {
		event := c.next()
		if event != nil && event.Type == scheduler.Event_OFFERS {
			continue
		}
		if event == nil || event.Type != scheduler.Event_UPDATE {
			c.t.Fatalf("got %+v, want %s of %s", event, want, task)
		}
		status := &event.Update.Status
		if status.TaskID.Value != task || status.GetState() != want {
			c.t.Fatalf("got %s of %s (%s), want %s of %s", status.GetState(), status.TaskID.Value, status.GetMessage(), want, task)
		}
		return status
	}
}

// acked is status, acknowledged.
func (c *client) acked(task string, want mesos.TaskState) *mesos.TaskStatus {
	c.t.Helper()
	status := c.status(task, want)
	c.ack(status)
	return status
}

func (c *client) ack(status *mesos.TaskStatus) {
	c.t.Helper()
	c.call(&scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE, Acknowledge: &scheduler.Call_Acknowledge{
		AgentID: *status.AgentID, TaskID: status.TaskID, UUID: status.UUID,
	}})
}

// quiet checks that nothing is on its way: the answer to a question is next.
func (c *client) quiet() {
	c.t.Helper()
	c.fences++
	id := fmt.Sprintf("fence-%d", c.fences)
	c.reconcile(id, "")
	event := c.next()
	if event == nil || event.Type != scheduler.Event_UPDATE || event.Update.Status.TaskID.Value != id {
		c.t.Fatalf("got %+v, want nothing", event)
	}
}

func (c *client) reconcile(task, agent string) {
	c.t.Helper()
	call := &scheduler.Call_Reconcile{}
	if task != "" {
		asked := scheduler.Call_Reconcile_Task{TaskID: mesos.TaskID{Value: task}}
		if agent != "" {
			asked.AgentID = &mesos.AgentID{Value: agent}
		}
		call.Tasks = append(call.Tasks, asked)
	}
	c.call(&scheduler.Call{Type: scheduler.Call_RECONCILE, Reconcile: call})
}

func (c *client) kill(task string, grace time.Duration) {
	c.t.Helper()
	c.call(&scheduler.Call{Type: scheduler.Call_KILL, Kill: &scheduler.Call_Kill{
		TaskID: mesos.TaskID{Value: task}, AgentID: &mesos.AgentID{Value: c.agent},
		KillPolicy: &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: int64(grace)}},
	}})
}

func refuseFor(seconds float64) *mesos.Filters { return &mesos.Filters{RefuseSeconds: &seconds} }

func (c *client) decline(o mesos.Offer, seconds float64) {
	c.t.Helper()
	c.call(&scheduler.Call{Type: scheduler.Call_DECLINE, Decline: &scheduler.Call_Decline{OfferIDs: []mesos.OfferID{o.ID}, Filters: refuseFor(seconds)}})
}

// accept launches the tasks on the offers, and wants the rest not soon back.
func (c *client) accept(offers []mesos.Offer, tasks ...mesos.TaskInfo) {
	c.t.Helper()
	call := &scheduler.Call_Accept{Filters: refuseFor(3600), Operations: []mesos.Offer_Operation{
		{Type: mesos.Offer_Operation_LAUNCH, Launch: &mesos.Offer_Operation_Launch{TaskInfos: tasks}},
	}}
	for _, o := range offers {
		call.OfferIDs = append(call.OfferIDs, o.ID)
	}
	c.call(&scheduler.Call{Type: scheduler.Call_ACCEPT, Accept: call})
}

// launch takes the next offer for tasks of one CPU each.
func (c *client) launch(script string, ids ...string) {
	c.t.Helper()
	o := c.offer()
	var tasks []mesos.TaskInfo
	for _, id := range ids {
		tasks = append(tasks, c.task(id, script))
	}
	c.accept([]mesos.Offer{o}, tasks...)
}

func (c *client) task(id, script string) mesos.TaskInfo {
	return mesos.TaskInfo{
		Name: id, TaskID: mesos.TaskID{Value: id}, AgentID: mesos.AgentID{Value: c.agent},
		Resources: []mesos.Resource{scalar("cpus", 1), scalar("mem", 32)},
		Command:   &mesos.CommandInfo{Value: &script},
	}
}

func scalar(name string, value float64) mesos.Resource {
	return mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: value}}
}

func cpus(o mesos.Offer) (sum float64) {
	for _, r := range o.Resources {
		if r.Name == "cpus" {
			sum += r.Scalar.Value
		}
	}
	return sum
}
