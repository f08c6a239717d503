package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// Call is a call as the proxy got it.
type Call struct {
	// Message is the call, decoded.
	Message *scheduler.Call
	// StreamID is its Mesos-Stream-Id, empty for SUBSCRIBE.
	StreamID string
}

// Fate is what happens to a call. The zero value lets it through.
type Fate struct {
	// Lost: the master never gets it, and the connection breaks.
	Lost bool
	// AnswerLost: the master gets it, and the connection breaks before its answer.
	AnswerLost bool
	// Twice: the master gets it two times, one after the other.
	Twice bool
	// Until delays it until the channel is closed; nil does not.
	Until <-chan struct{}
	// Status, if not 0, is the answer, with Text; the master never gets the call.
	Status int
	Text   string
}

// Proxy stands before a master.
type Proxy struct {
	// Streams gets each subscription that the master takes.
	Streams chan *Stream

	server *httptest.Server
	http   *http.Client
	ended  chan struct{}

	mu       sync.Mutex
	master   string
	fate     func(Call) Fate
	withheld []scheduler.Event_Type
	calls    []Call
}

// New starts a proxy before the master at host:port. It ends with the test.
func New(t testing.TB, master string) *Proxy {
	transport := &http.Transport{DisableCompression: true}
	p := &Proxy{Streams: make(chan *Stream, 1000), master: master, ended: make(chan struct{}), fate: func(Call) Fate { return Fate{} },
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() {
		close(p.ended)
		p.server.CloseClientConnections()
		p.server.Close()
		transport.CloseIdleConnections()
	})
	return p
}

// Addr is where the proxy listens, host:port.
func (p *Proxy) Addr() string { return strings.TrimPrefix(p.server.URL, "http://") }

// Do decides what happens to each call from now on.
func (p *Proxy) Do(fate func(Call) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate = fate
}

// To sends what comes from now on to another master.
func (p *Proxy) To(master string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.master = master
}

// Withhold keeps events of these types, in protobuf, from every stream from now on.
func (p *Proxy) Withhold(types ...scheduler.Event_Type) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withheld = types
}

// withholds tells whether an event is kept back.
func (p *Proxy) withholds(data []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.withheld) == 0 {
		return false
	}
	event := &scheduler.Event{}
	return event.Unmarshal(data) == nil && slices.Contains(p.withheld, event.Type)
}

// Calls are the calls of a type that have come, in their order.
func (p *Proxy) Calls(kind scheduler.Call_Type) (some []Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if c.Message.Type == kind {
			some = append(some, c)
		}
	}
	return some
}

// All are all calls that have come, in their order.
func (p *Proxy) All() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Call(nil), p.calls...)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the scheduler has gone
	}
	call := Call{Message: decode(r.Header.Get("Content-Type"), body), StreamID: r.Header.Get("Mesos-Stream-Id")}
	p.mu.Lock()
	p.calls = append(p.calls, call)
	fate := p.fate(call)
	p.mu.Unlock()
	if fate.Until != nil {
		select {
		case <-fate.Until:
		case <-p.ended:
			panic(http.ErrAbortHandler)
		}
	}
	switch {
	case fate.Lost:
		panic(http.ErrAbortHandler)
	case fate.Status != 0:
		http.Error(w, fate.Text, fate.Status)
		return
	case fate.Twice:
		if first := p.forward(r, body); first != nil {
			_, _ = io.Copy(io.Discard, first.Body) // only the second answer is wanted
			first.Body.Close()
		}
	}
	answer := p.forward(r, body)
	if answer == nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	if fate.AnswerLost {
		_, _ = io.Copy(io.Discard, answer.Body) // the master has done its part
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	if answer.Header.Get("Content-Type") == "" {
		w.Header()["Content-Type"] = nil
	}
	w.WriteHeader(answer.StatusCode)
	if call.Message.Type == scheduler.Call_SUBSCRIBE && answer.StatusCode == http.StatusOK {
		s := newStream(p, call, w)
		p.Streams <- s
		s.copy(r.Context(), answer.Body)
		return
	}
	_, _ = io.Copy(w, answer.Body) // who has gone needs no answer
}

// forward sends a request to the master; nil means that it gives no answer.
func (p *Proxy) forward(r *http.Request, body []byte) *http.Response {
	p.mu.Lock()
	master := p.master
	p.mu.Unlock()
	ctx := r.Context()
	if r.Header.Get("Mesos-Stream-Id") != "" {
		ctx = context.WithoutCancel(ctx) // a call that was sent arrives, whether or not anybody waits for the answer
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, "http://"+master+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil
	}
	request.Header = r.Header.Clone()
	answer, err := p.http.Do(request)
	if err != nil {
		return nil
	}
	return answer
}

// decode reads a call in either encoding. What is none is a call of no type.
func decode(contentType string, body []byte) *scheduler.Call {
	call := &scheduler.Call{}
	unmarshal := call.Unmarshal
	if contentType == "application/json" {
		unmarshal = func(data []byte) error { return json.Unmarshal(data, call) }
	}
	if unmarshal(body) != nil {
		return &scheduler.Call{}
	}
	return call
}
