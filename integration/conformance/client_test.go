//go:build integration

package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// codec is one of the encodings of the API.
type codec struct {
	name, mediaType string
	encode          func(*scheduler.Call) ([]byte, error)
	decode          func([]byte) (*scheduler.Event, error)
}

var (
	protobuf = codec{"protobuf", "application/x-protobuf",
		func(call *scheduler.Call) ([]byte, error) { return call.Marshal() },
		func(data []byte) (*scheduler.Event, error) {
			event := &scheduler.Event{}
			return event, event.Unmarshal(data)
		}}
	jsonText = codec{"json", "application/json",
		func(call *scheduler.Call) ([]byte, error) { return json.Marshal(call) }, decodeJSON}
	both = []codec{protobuf, jsonText}
)

// decodeJSON leaves out what mesos-go's decoder stumbles over: capabilities of the master that it does not know.
func decodeJSON(data []byte) (*scheduler.Event, error) {
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	if subscribed, ok := raw["subscribed"].(map[string]any); ok {
		if info, ok := subscribed["master_info"].(map[string]any); ok {
			delete(info, "capabilities")
		}
	}
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	event := &scheduler.Event{}
	return event, json.Unmarshal(data, event)
}

// client is one subscription.
type client struct {
	*story
	info     *mesos.FrameworkInfo
	http     *http.Client
	stream   io.Closer
	streamID string
	id       string // of the framework
	agent    string // of the last offer
	events   chan *scheduler.Event
	waiting  []*scheduler.Event // came before what was waited for
	fences   int
	offers   *scheduler.Event // the last
}

type change func(*mesos.FrameworkInfo)

func capable(types ...mesos.FrameworkInfo_Capability_Type) change {
	return func(info *mesos.FrameworkInfo) {
		for _, c := range types {
			info.Capabilities = append(info.Capabilities, mesos.FrameworkInfo_Capability{Type: c})
		}
	}
}

// modern is what tfmesos can, but for roles.
var modern = capable(mesos.FrameworkInfo_Capability_PARTITION_AWARE, mesos.FrameworkInfo_Capability_TASK_KILLING_STATE)

func roles(names ...string) change {
	return func(info *mesos.FrameworkInfo) {
		capable(mesos.FrameworkInfo_Capability_MULTI_ROLE)(info)
		info.Roles = names
	}
}

func role(name string) change {
	return func(info *mesos.FrameworkInfo) { info.Role = &name }
}

func withID(id string) change {
	return func(info *mesos.FrameworkInfo) { info.ID = &mesos.FrameworkID{Value: id} }
}

func failover(seconds float64) change {
	return func(info *mesos.FrameworkInfo) { info.FailoverTimeout = &seconds }
}

// connect subscribes and reads no event.
func (s *story) connect(changes ...change) *client {
	s.t.Helper()
	info := &mesos.FrameworkInfo{User: "root", Name: "conformance"}
	for _, f := range changes {
		f(info)
	}
	transport := &http.Transport{DisableCompression: true}
	c := &client{story: s, info: info, http: &http.Client{Transport: transport}, events: make(chan *scheduler.Event, 10000)}
	s.clients = append(s.clients, c)
	response := c.post(&scheduler.Call{Type: scheduler.Call_SUBSCRIBE, FrameworkID: info.ID,
		Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: info, SuppressedRoles: s.suppressed}})
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		s.t.Fatalf("SUBSCRIBE: %s: %s", response.Status, text)
	}
	c.stream, c.streamID = response.Body, response.Header.Get("Mesos-Stream-Id")
	if length := len(c.streamID); length == 0 || length > 128 || response.Header.Get("Content-Type") != s.codec.mediaType || response.ContentLength != -1 {
		s.t.Errorf("SUBSCRIBE is answered with the headers %v", response.Header)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(c.events)
		c.read(bufio.NewReader(response.Body))
	}()
	s.t.Cleanup(func() { c.hangUp(); <-done; transport.CloseIdleConnections() })
	return c
}

// subscribe connects, and expects to be welcome.
func (s *story) subscribe(changes ...change) *client {
	s.t.Helper()
	c := s.connect(changes...)
	event := c.next(scheduler.Event_SUBSCRIBED)
	if event == nil {
		s.t.Fatal("the stream ends before SUBSCRIBED")
	}
	c.id = event.Subscribed.FrameworkID.Value
	s.alias("F", c.id)
	return c
}

func (c *client) hangUp() { _ = c.stream.Close() }

// read reads RecordIO: a length in decimal, one newline, so many bytes, and nothing between records.
func (c *client) read(in *bufio.Reader) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		size, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
		if err != nil {
			c.t.Errorf("the stream is no RecordIO: %q", line)
			return
		}
		record := make([]byte, size)
		if _, err := io.ReadFull(in, record); err != nil {
			return
		}
		event, err := c.codec.decode(record)
		if err != nil {
			c.t.Errorf("%q is no event: %v", record, err)
			return
		}
		c.records.Store(event, record)
		c.events <- event
	}
}

func (c *client) post(call *scheduler.Call) *http.Response {
	c.t.Helper()
	body, err := c.codec.encode(call)
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "http://"+c.master.addr+"/api/v1/scheduler", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.SetBasicAuth(principal, secret)
	request.Header.Set("Content-Type", c.codec.mediaType)
	request.Header.Set("Accept", c.codec.mediaType)
	if c.streamID != "" {
		request.Header.Set("Mesos-Stream-Id", c.streamID)
	}
	response, err := c.http.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	return response
}

// try makes a call and returns its status and text.
func (c *client) try(call *scheduler.Call) (int, string) {
	c.t.Helper()
	if call.FrameworkID == nil {
		call.FrameworkID = &mesos.FrameworkID{Value: c.id}
	}
	response := c.post(call)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// call makes a call that must be taken.
func (c *client) call(call *scheduler.Call) {
	c.t.Helper()
	if status, text := c.try(call); status != http.StatusAccepted || text != "" {
		c.t.Fatalf("%s: %d %q, want 202 and nothing", call.Type, status, text)
	}
}

// next returns the next event of one of the types, or nil at the end of the stream. Others wait until they are asked for, since
// there is no order between offers and updates.
func (c *client) next(types ...scheduler.Event_Type) *scheduler.Event {
	c.t.Helper()
	for i, event := range c.waiting {
		if slices.Contains(types, event.Type) {
			c.waiting = slices.Delete(c.waiting, i, i+1)
			return event
		}
	}
	timeout := time.After(patience)
	for {
		select {
		case event, open := <-c.events:
			switch {
			case !open:
				return nil
			case slices.Contains(types, event.Type):
				return event
			default:
				c.waiting = append(c.waiting, event)
			}
		case <-timeout:
			c.t.Fatalf("none of %v comes within %v, only %v", types, patience, c.waiting)
		}
	}
}

// write writes down the next event of one of the types.
func (c *client) write(types ...scheduler.Event_Type) *scheduler.Event {
	c.t.Helper()
	event := c.next(types...)
	c.event(event)
	return event
}

// update writes down the next update.
func (c *client) update() *mesos.TaskStatus {
	c.t.Helper()
	event := c.write(scheduler.Event_UPDATE)
	if event == nil {
		c.t.Fatal("the stream ends, want an update")
	}
	return &event.Update.Status
}

// nextUpdate is the next update, not written down.
func (c *client) nextUpdate() *scheduler.Event {
	c.t.Helper()
	event := c.next(scheduler.Event_UPDATE)
	if event == nil {
		c.t.Fatal("the stream ends, want an update")
	}
	return event
}

// acked is update, acknowledged. TASK_STARTING is passed over: it has a story of its own.
func (c *client) acked() *mesos.TaskStatus {
	c.t.Helper()
	for {
		event := c.nextUpdate()
		status := &event.Update.Status
		if status.UUID != nil {
			c.ack(status)
		}
		if status.GetState() == mesos.TASK_STARTING {
			continue
		}
		c.event(event)
		return status
	}
}

// unacked is the next update that is not TASK_STARTING, which is acknowledged.
func (c *client) unacked() *mesos.TaskStatus {
	c.t.Helper()
	for {
		event := c.nextUpdate()
		if status := &event.Update.Status; status.GetState() != mesos.TASK_STARTING {
			c.event(event)
			return status
		} else {
			c.ack(status)
		}
	}
}

// running is the next TASK_RUNNING, not written down: that of two tasks may come in any order.
func (c *client) running() *mesos.TaskStatus {
	c.t.Helper()
	for {
		event := c.nextUpdate()
		status := &event.Update.Status
		if status.GetState() == mesos.TASK_RUNNING {
			return status
		}
		c.ack(status)
	}
}

func (c *client) ack(status *mesos.TaskStatus) {
	c.t.Helper()
	c.call(&scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE, Acknowledge: &scheduler.Call_Acknowledge{
		AgentID: *status.AgentID, TaskID: status.TaskID, UUID: status.UUID,
	}})
}

// offer is the next offer, not written down.
func (c *client) offer() mesos.Offer {
	c.t.Helper()
	event := c.next(scheduler.Event_OFFERS)
	if event == nil {
		c.t.Fatal("the stream ends, want an offer")
	}
	c.offers = event
	offers := event.Offers.Offers
	if len(offers) != 1 {
		c.t.Fatalf("%d offers in an event, want 1", len(offers))
	}
	c.agent = offers[0].AgentID.Value
	c.alias("A", c.agent)
	c.alias("O", offers[0].ID.Value)
	return offers[0]
}

// offered is offer, written down.
func (c *client) offered() mesos.Offer {
	c.t.Helper()
	o := c.offer()
	c.event(&scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{Offers: []mesos.Offer{o}}})
	return o
}

// wholeOffer waits until all of the agent is offered at once. What comes before it is declined: the rest of what another story had.
func (c *client) wholeOffer() mesos.Offer {
	c.t.Helper()
	for {
		o := c.offer()
		if amount(o, "cpus") == 4 {
			return o
		}
		c.decline(o, 0)
	}
}

func amount(o mesos.Offer, name string) (sum float64) {
	for _, r := range o.Resources {
		if r.Name == name {
			sum += r.Scalar.GetValue()
		}
	}
	return sum
}

// quiet writes down what has come, offers and heartbeats excepted, before the answer to a question that the master answers after it.
func (c *client) quiet() {
	c.t.Helper()
	c.fences++
	id := "fence-" + strconv.Itoa(c.fences)
	c.reconcile(id, "")
	for {
		event := c.next(scheduler.Event_UPDATE, scheduler.Event_RESCIND, scheduler.Event_FAILURE, scheduler.Event_ERROR,
			scheduler.Event_INVERSE_OFFERS, scheduler.Event_RESCIND_INVERSE_OFFER, scheduler.Event_UPDATE_OPERATION_STATUS)
		if event != nil && event.Type == scheduler.Event_UPDATE && event.Update.Status.TaskID.Value == id {
			return
		}
		c.event(event)
		if event == nil {
			return
		}
	}
}
