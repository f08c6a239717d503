package mesos

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/backoff"
)

func TestSubscribeSaysWhoWeAre(t *testing.T) {
	m := newFakeMaster(t, nil)
	config := testConfig(m.URL)
	config.Framework.Hostname, config.Framework.WebUIURL, config.Framework.GPUs = "host", "http://host:11000/", true
	start(t, config, "")
	got := next(t, m.streams, "SUBSCRIBE")
	info := got.Subscribe.FrameworkInfo
	if got.path != apiPath || got.contentType != mediaType || got.accept != mediaType || got.streamID != "" {
		t.Errorf("SUBSCRIBE goes to %s as %q for %q with the stream id %q", got.path, got.contentType, got.accept, got.streamID)
	}
	if got.FrameworkID != nil || info.ID != nil {
		t.Errorf("a first SUBSCRIBE has the framework id %v and %v", got.FrameworkID, info.ID)
	}
	if info.Name != "ctr" || info.User != "nobody" || info.GetHostname() != "host" || info.GetWebUiURL() != "http://host:11000/" ||
		!info.GetCheckpoint() || info.GetFailoverTimeout() != 60 || info.Role != nil || !cmp.Equal(info.Roles, []string{"ml"}) {
		t.Errorf("framework_info is %v", info)
	}
	var capabilities []string
	for _, c := range info.Capabilities {
		capabilities = append(capabilities, c.Type.String())
	}
	if want := []string{"MULTI_ROLE", "PARTITION_AWARE", "TASK_KILLING_STATE", "GPU_RESOURCES"}; !cmp.Equal(capabilities, want) {
		t.Errorf("capabilities are %v, want %v", capabilities, want)
	}
}

func TestKnownFault003PrincipalIsTheOneOfTheCredentialsOrAbsent(t *testing.T) {
	m := newFakeMaster(t, nil)
	config := testConfig(m.URL)
	start(t, config, "")
	if got := next(t, m.streams, "SUBSCRIBE"); got.authorized || got.Subscribe.FrameworkInfo.Principal != nil {
		t.Errorf("without a principal the header is there (%v), or framework_info has one: %v", got.authorized, got.Subscribe.FrameworkInfo.Principal)
	}
	config.Principal = "tf" // so that the id is good for a master that asks for credentials one day
	start(t, config, "")
	if got := next(t, m.streams, "SUBSCRIBE"); got.authorized || got.Subscribe.FrameworkInfo.GetPrincipal() != "tf" {
		t.Errorf("without a secret the header is there (%v), or framework_info has the principal %q", got.authorized, got.Subscribe.FrameworkInfo.GetPrincipal())
	}
	config.Secret = "x"
	start(t, config, "")
	got := next(t, m.streams, "SUBSCRIBE")
	if got.user != "tf" || got.secret != "x" || got.Subscribe.FrameworkInfo.GetPrincipal() != "tf" {
		t.Errorf("the credentials are %s:%s and the principal %q", got.user, got.secret, got.Subscribe.FrameworkInfo.GetPrincipal())
	}
}

func TestAKnownFrameworkIDStandsInBothPlaces(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "F0")
	s := next(t, m.streams, "SUBSCRIBE")
	if s.FrameworkID.GetValue() != "F0" || s.Subscribe.FrameworkInfo.GetID().GetValue() != "F0" {
		t.Errorf("SUBSCRIBE has the framework id %v and %v", s.FrameworkID, s.Subscribe.FrameworkInfo.ID)
	}
	s.subscribed("F1", 0)
	if got := event[cluster.Subscribed](t, r); got != (cluster.Subscribed{FrameworkID: "F1", Master: m.host()}) {
		t.Errorf("delivered %+v", got)
	}
	close(s.chunks)
	event[cluster.Disconnected](t, r)
	s = next(t, m.streams, "SUBSCRIBE")
	if s.FrameworkID.GetValue() != "F1" || s.Subscribe.FrameworkInfo.GetID().GetValue() != "F1" {
		t.Errorf("the next SUBSCRIBE has the framework id %v and %v, not what SUBSCRIBED brought", s.FrameworkID, s.Subscribe.FrameworkInfo.ID)
	}
}

func TestKnownFault062AStreamCutIntoBytesIsReadInOrder(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	s := next(t, m.streams, "SUBSCRIBE")
	for _, b := range record(subscribedEvent("F", 0)) {
		s.chunks <- []byte{b}
	}
	event[cluster.Subscribed](t, r)
	s.chunks <- append(append(record(rescind("O1")), record(rescind("O2"))...), "0\n"...)
	s.send(rescind("O3"))
	for _, want := range []string{"O1", "O2", "O3"} {
		if got := event[cluster.Rescinded](t, r); got.OfferID != want {
			t.Errorf("got the RESCIND of %s, want %s", got.OfferID, want)
		}
	}
}

func TestKnownFault062ABrokenStreamIsOpenedAnew(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	for _, broken := range []string{"abc\n", "99999999999\n", "3\n\xff\xff\xff", "2\n\x12\x7f", "10\nhalf", ""} {
		s := m.subscribe(t, r)
		if broken != "" {
			s.chunks <- []byte(broken)
		}
		s.chunks <- nil
		if got := event[cluster.Disconnected](t, r); got.Why == "" {
			t.Errorf("after %q the client does not say why it is disconnected", broken)
		}
	}
	m.subscribe(t, r)
}

func TestAnEventMayBeLargerThanFourMiB(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	s := m.subscribe(t, r)
	s.send(&scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{Offers: manyOffers(30000)}}, rescind("O"))
	if got := event[cluster.Offered](t, r); len(got.Offers) != 30000 {
		t.Errorf("got %d offers of 30000", len(got.Offers))
	}
	event[cluster.Rescinded](t, r)
}

func TestKnownFault057RedirectWithoutAScheme(t *testing.T) {
	leader := newFakeMaster(t, nil)
	for _, location := range []string{"//" + leader.host(), "//" + leader.host() + "/api/v1/scheduler", leader.URL + "/api/v1/scheduler"} {
		standby := newFakeMaster(t, redirectTo(location))
		config := testConfig(standby.URL)
		config.Principal, config.Secret = "tf", "x"
		r := start(t, config, "")
		s := leader.subscribe(t, r)
		if s.user != "tf" || s.secret != "x" || s.path != apiPath {
			t.Errorf("Location %s: SUBSCRIBE reaches the leader at %s with the credentials %s:%s", location, s.path, s.user, s.secret)
		}
		if err := r.Call(context.Background(), cluster.Revive{}); err != nil {
			t.Errorf("Location %s: a call after the redirect: %v", location, err)
		}
		leader.call(t, scheduler.Call_REVIVE)
		if n := len(standby.requests); n != 1 {
			t.Errorf("Location %s: the standby got %d requests, want only the first SUBSCRIBE", location, n)
		}
	}
}

func redirectTo(location string) func(http.ResponseWriter, *scheduler.Call) bool {
	return func(w http.ResponseWriter, _ *scheduler.Call) bool {
		w.Header()["Location"] = []string{location}
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
}

func TestKnownFault057ARedirectedCallSubscribesAtTheNewLeader(t *testing.T) {
	second := newFakeMaster(t, nil)
	first := newFakeMaster(t, func(w http.ResponseWriter, call *scheduler.Call) bool {
		return call.Type != scheduler.Call_SUBSCRIBE && redirectTo("//"+second.host()+"/api/v1/scheduler")(w, call)
	})
	r := start(t, testConfig(first.URL), "")
	s := first.subscribe(t, r)
	callError(t, r.Call(context.Background(), cluster.Revive{}), http.StatusTemporaryRedirect)
	next(t, s.gone, "end of the stream at the former leader")
	event[cluster.Disconnected](t, r)
	if s := next(t, second.streams, "SUBSCRIBE at the new leader"); s.FrameworkID.GetValue() != "F" {
		t.Errorf("SUBSCRIBE at the new leader has the framework id %v", s.FrameworkID)
	}
}

func TestKnownFault057ARedirectLoopEndsWithBackoff(t *testing.T) {
	var m *fakeMaster
	m = newFakeMaster(t, func(w http.ResponseWriter, call *scheduler.Call) bool { return redirectTo("//"+m.host())(w, call) })
	r := start(t, testConfig(m.URL), "", func(c *timing) { c.backoff = backoff.Policy{First: time.Hour, Max: time.Hour} })
	if got := event[cluster.Disconnected](t, r); !strings.Contains(got.Why, "redirected 6 times") {
		t.Errorf("why: %q", got.Why)
	}
	if n := len(m.requests); n != maxHops+1 {
		t.Errorf("the master got %d requests before the client waited, want %d", n, maxHops+1)
	}
}

func TestKnownFault058AMasterWithoutALeaderIsWaitedFor(t *testing.T) {
	left := 8
	m := newFakeMaster(t, func(w http.ResponseWriter, _ *scheduler.Call) bool {
		left--
		switch {
		case left < 0:
			return false
		case left < 2:
			http.Error(w, "not yet", http.StatusNotFound)
		case left == 2:
			w.WriteHeader(http.StatusOK) // no stream id: something that is no master
		default:
			http.Error(w, "No leader elected", http.StatusServiceUnavailable)
		}
		return true
	})
	r := start(t, testConfig(m.URL), "")
	for _, want := range []string{"503 Service Unavailable: No leader elected", "is it a Mesos master", "404 Not Found: not yet"} {
		if got := event[cluster.Disconnected](t, r); !strings.Contains(got.Why, want) {
			t.Errorf("why: %q, want %q, and each reason once", got.Why, want)
		}
	}
	m.subscribe(t, r)
}

func TestKnownFault058AMasterThatDoesNotListenIsWaitedFor(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	r := start(t, testConfig(listener.Addr().String()), "")
	if got := event[cluster.Disconnected](t, r); !strings.Contains(got.Why, "connection refused") || strings.Contains(got.Why, "Post") {
		t.Errorf("why: %q", got.Why)
	}
}

func TestSilenceEndsASubscription(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	s := next(t, m.streams, "SUBSCRIBE")
	s.subscribed("F", 0.01)
	event[cluster.Subscribed](t, r)
	if got := event[cluster.Disconnected](t, r); got.Why != errSilent.Error() {
		t.Errorf("why: %q", got.Why)
	}
	next(t, s.gone, "end of the silent stream")
}

func TestHeadersWithoutSubscribedAreSilenceToo(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "", func(c *timing) { c.subscribe = 50 * time.Millisecond })
	s := next(t, m.streams, "SUBSCRIBE")
	s.send(&scheduler.Event{Type: scheduler.Event_HEARTBEAT}, rescind("O"))
	if got := event[cluster.Disconnected](t, r); got.Why != errSilent.Error() {
		t.Errorf("why: %q", got.Why)
	}
}

func TestAMasterThatTakesConnectionsAndSaysNothingIsLeft(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r := start(t, testConfig(listener.Addr().String()), "", func(c *timing) { c.answer = 50 * time.Millisecond })
	if got := event[cluster.Disconnected](t, r); !strings.Contains(got.Why, errNoAnswer.Error()) {
		t.Errorf("why: %q", got.Why)
	}
}

func TestRefusalsOfSubscribeEndRun(t *testing.T) {
	for _, code := range []int{400, 401, 403, 405, 415, 501} {
		m := newFakeMaster(t, func(w http.ResponseWriter, _ *scheduler.Call) bool {
			http.Error(w, "because\x1b[31m\nof this", code)
			return true
		})
		config := testConfig(m.URL)
		config.Principal, config.Secret = "tf", "pa55"
		r := start(t, config, "F")
		got := event[cluster.Refused](t, r)
		if !strings.Contains(got.Message, "because [31m of this") && !strings.Contains(got.Message, "because[31m of this") || strings.Contains(got.Message, "pa55") {
			t.Errorf("%d: the refusal says %q", code, got.Message)
		}
		err := next(t, r.ended, "end of Run")
		callError(t, err, code)
		if !errors.Is(err, ErrRefused) || len(m.requests) != 1 {
			t.Errorf("%d: Run ends with %v after %d requests", code, err, len(m.requests))
		}
	}
}

func TestErrorEventsEndRun(t *testing.T) {
	for message, want := range map[string]error{
		"Framework has been removed":                    ErrFrameworkRemoved,
		"Framework failed over":                         ErrFailedOver,
		"Role 'x' is not in the master's --roles":       ErrRefused,
		"Changing framework's principal is not allowed": ErrRefused,
	} {
		m := newFakeMaster(t, nil)
		r := start(t, testConfig(m.URL), "F")
		s := next(t, m.streams, "SUBSCRIBE")
		s.send(&scheduler.Event{Type: scheduler.Event_ERROR, Error: &scheduler.Event_Error{Message: message}})
		if got := event[cluster.Refused](t, r); !strings.HasPrefix(got.Message, message) {
			t.Errorf("%q is delivered as %q", message, got.Message)
		}
		if err := next(t, r.ended, "end of Run"); !errors.Is(err, want) || !strings.Contains(err.Error(), message) {
			t.Errorf("after %q Run ends with %v, want %v", message, err, want)
		}
		next(t, s.gone, "end of the stream")
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	m := newFakeMaster(t, nil)
	c, err := New(testConfig(m.URL))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	events := make(chan cluster.Event, 10)
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, "", func(e cluster.Event) { events <- e }) }()
	s := next(t, m.streams, "SUBSCRIBE")
	s.subscribed("F", 15)
	next(t, events, "Subscribed")
	cancel()
	if err := next(t, ended, "end of Run"); !errors.Is(err, context.Canceled) || len(events) > 0 {
		t.Errorf("Run ends with %v and %d more events", err, len(events))
	}
	if err := c.Call(context.Background(), cluster.Revive{}); !errors.Is(err, ErrNotSubscribed) {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestKnownFault088NoProxyStandsBeforeTheMaster(t *testing.T) {
	c, err := New(testConfig("127.0.0.1:5050"))
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*http.Client{"stream": c.streams, "calls": c.calls} {
		if client.Transport.(*http.Transport).Proxy != nil {
			t.Errorf("the connection for the %s asks for a proxy", name)
		}
	}
}
