package mesos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
	"go.uber.org/goleak"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/backoff"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// fakeMaster is an HTTP server whose test decides on each answer and each byte of a stream.
type fakeMaster struct {
	*httptest.Server
	requests chan request // all that came, SUBSCRIBE too
	streams  chan *stream // SUBSCRIBEs that were taken
	// refuse answers a request instead of the fake and reports that it did.
	refuse func(w http.ResponseWriter, call *scheduler.Call) bool
}

type request struct {
	*scheduler.Call
	path, streamID, user, secret, contentType, accept, connection string
	authorized                                                    bool
}

// stream is a subscription as the master sees it.
type stream struct {
	request
	id     string
	chunks chan []byte // each written and flushed by itself; nil cuts the connection; closing ends the answer
	gone   <-chan struct{}
}

func newFakeMaster(t *testing.T, refuse func(http.ResponseWriter, *scheduler.Call) bool) *fakeMaster {
	m := &fakeMaster{requests: make(chan request, 1000), streams: make(chan *stream, 100), refuse: refuse}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *fakeMaster) host() string { return strings.TrimPrefix(m.URL, "http://") }

func (m *fakeMaster) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	call := &scheduler.Call{}
	if err == nil {
		err = call.Unmarshal(body)
	}
	if err != nil || r.Method != http.MethodPost {
		http.Error(w, fmt.Sprint("not a call: ", r.Method, err), http.StatusBadRequest)
		return
	}
	got := request{Call: call, path: r.URL.Path, streamID: r.Header.Get("Mesos-Stream-Id"), connection: r.RemoteAddr,
		contentType: r.Header.Get("Content-Type"), accept: r.Header.Get("Accept")}
	got.user, got.secret, got.authorized = r.BasicAuth()
	m.requests <- got
	switch {
	case m.refuse != nil && m.refuse(w, call):
	case call.Type == scheduler.Call_SUBSCRIBE:
		m.stream(w, r, got)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (m *fakeMaster) stream(w http.ResponseWriter, r *http.Request, got request) {
	s := &stream{request: got, id: "stream-" + r.RemoteAddr, chunks: make(chan []byte, 1000), gone: r.Context().Done()}
	w.Header().Set("Mesos-Stream-Id", s.id)
	w.Header().Set("Content-Type", mediaType)
	flush := http.NewResponseController(w).Flush
	_ = flush()
	m.streams <- s
	for {
		select {
		case <-r.Context().Done():
			return
		case chunk, open := <-s.chunks:
			switch {
			case !open:
				return
			case chunk == nil:
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(chunk)
			_ = flush()
		}
	}
}

// send writes events, each as a record in one chunk.
func (s *stream) send(events ...*scheduler.Event) {
	for _, e := range events {
		s.chunks <- record(e)
	}
}

// subscribed sends SUBSCRIBED with a heartbeat interval in seconds; 0 announces none.
func (s *stream) subscribed(id string, interval float64) {
	s.send(subscribedEvent(id, interval))
}

func subscribedEvent(id string, interval float64) *scheduler.Event {
	e := &scheduler.Event{Type: scheduler.Event_SUBSCRIBED, Subscribed: &scheduler.Event_Subscribed{FrameworkID: &mesos.FrameworkID{Value: id}}}
	if interval > 0 {
		e.Subscribed.HeartbeatIntervalSeconds = &interval
	}
	return e
}

func record(e *scheduler.Event) []byte {
	data, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return append(fmt.Appendf(nil, "%d\n", len(data)), data...)
}

func rescind(id string) *scheduler.Event {
	return &scheduler.Event{Type: scheduler.Event_RESCIND, Rescind: &scheduler.Event_Rescind{OfferID: mesos.OfferID{Value: id}}}
}

// next waits for what must come over a channel.
func next[T any](t *testing.T, from <-chan T, what string) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
	}
	return got
}

// running is a client whose Run is on.
type running struct {
	*Client
	events chan cluster.Event
	ended  chan error
}

func testConfig(master string) Config {
	return Config{
		Master: master, Logger: slog.New(slog.DiscardHandler),
		Framework: Framework{Name: "ctr", User: "nobody", Role: "ml", FailoverTimeout: time.Minute},
	}
}

// start runs a client that is as hasty as tests are, until the test ends.
func start(t *testing.T, config Config, frameworkID string, change ...func(*timing)) *running {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	c.timing.backoff = backoff.Policy{First: time.Millisecond, Max: 20 * time.Millisecond, Factor: 2}
	for _, f := range change {
		f(&c.timing)
	}
	r := &running{Client: c, events: make(chan cluster.Event, 10000), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.ended <- c.Run(ctx, frameworkID, func(e cluster.Event) { r.events <- e })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// event waits for the next event, which must be of type E.
func event[E cluster.Event](t *testing.T, r *running) E {
	t.Helper()
	got := next(t, r.events, fmt.Sprintf("%T event", *new(E)))
	e, ok := got.(E)
	if !ok {
		t.Fatalf("got the event %#v, want a %T", got, e)
	}
	return e
}

// subscribe takes the client's SUBSCRIBE and answers with SUBSCRIBED.
func (m *fakeMaster) subscribe(t *testing.T, r *running) *stream {
	t.Helper()
	s := next(t, m.streams, "SUBSCRIBE")
	s.subscribed("F", 0)
	event[cluster.Subscribed](t, r)
	return s
}

// call waits for the next request of a type.
func (m *fakeMaster) call(t *testing.T, kind scheduler.Call_Type) request {
	t.Helper()
	for {
		if got := next(t, m.requests, kind.String()); got.Type == kind {
			return got
		}
	}
}

// callError demands that the error is a CallError of the code.
func callError(t *testing.T, err error, code int) *CallError {
	t.Helper()
	var failed *CallError
	if !errors.As(err, &failed) || failed.Code != code {
		t.Fatalf("the call returns %v, want a CallError of %d", err, code)
	}
	return failed
}
