package mesos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// oneOfEach has a call of every type, Teardown last.
var oneOfEach = []cluster.Call{
	cluster.Accept{OfferIDs: []string{"O1"}, AgentID: "A", Role: "ml", Launches: []cluster.Launch{{
		TaskID: "ctr.a1b2c3.ps-0.1", Task: tf.TaskName{JobName: "ps"}, Parts: []offer.Part{{Resources: offer.Resources{CPUs: 500}}}, Argv: []string{"sidecar"}}}},
	cluster.Decline{OfferIDs: []string{"O2"}, RefuseSeconds: 5},
	cluster.Acknowledge{TaskID: "T", AgentID: "A", UUID: []byte("0123456789abcdef")},
	cluster.Reconcile{},
	cluster.Kill{TaskID: "T", AgentID: "A", Grace: time.Second},
	cluster.Suppress{},
	cluster.Revive{},
	cluster.Teardown{},
}

func TestKnownFault004EveryCallHasTheCredentialsAndTheStreamID(t *testing.T) {
	m := newFakeMaster(t, func(w http.ResponseWriter, call *scheduler.Call) bool { return false })
	config := testConfig(m.URL)
	config.Principal, config.Secret = "tf", "x"
	r := start(t, config, "")
	s := m.subscribe(t, r)
	connections := map[string]bool{}
	for _, call := range oneOfEach {
		if err := r.Call(context.Background(), call); err != nil {
			t.Errorf("%T: %v", call, err)
		}
	}
	m.call(t, scheduler.Call_SUBSCRIBE)
	for _, call := range oneOfEach {
		got := next(t, m.requests, "call")
		if want := strings.ToUpper(strings.TrimPrefix(fmt.Sprintf("%T", call), "cluster.")); got.Type.String() != want {
			t.Errorf("%T comes as %s, or out of order", call, got.Type)
		}
		if got.user != "tf" || got.secret != "x" || got.streamID != s.id || got.FrameworkID.GetValue() != "F" || got.contentType != mediaType {
			t.Errorf("%s has %s:%s, the stream id %q and the framework id %v", got.Type, got.user, got.secret, got.streamID, got.FrameworkID)
		}
		connections[got.connection] = true
	}
	if len(connections) != 1 || connections[s.connection] {
		t.Errorf("calls used the connections %v (the stream has %s), want one of their own", connections, s.connection)
	}
}

func TestNothingIsCalledWithoutASubscription(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "F")
	next(t, m.streams, "SUBSCRIBE") // answered with headers only
	if err := r.Call(context.Background(), cluster.Revive{}); !errors.Is(err, ErrNotSubscribed) {
		t.Errorf("a call before SUBSCRIBED: %v", err)
	}
}

func TestKnownFault060EachSubscriptionHasItsStreamID(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	for range 3 {
		s := m.subscribe(t, r)
		if err := r.Call(context.Background(), cluster.Revive{}); err != nil {
			t.Error(err)
		}
		if got := m.call(t, scheduler.Call_REVIVE); got.streamID != s.id {
			t.Errorf("the call has the stream id %q, the subscription %q", got.streamID, s.id)
		}
		s.chunks <- nil
		event[cluster.Disconnected](t, r)
	}
}

func TestWhichAnswersToACallEndTheSubscription(t *testing.T) {
	for _, c := range []struct {
		code      int
		message   string
		drop      bool
		temporary bool
	}{
		{400, "The stream ID 'x' included in this request didn't match the stream ID currently associated with framework ID F", true, false},
		{400, "Framework cannot be found", true, false},
		{400, "Failed to validate scheduler::Call: Expecting 'uuid' to be 16 bytes", false, false},
		{403, "Framework is not subscribed", true, false},
		{401, "", true, false},
		{307, "", true, true},
		{503, "Master has not finished recovery", false, true},
		{404, "", false, true},
		{501, "", false, false},
	} {
		m := newFakeMaster(t, func(w http.ResponseWriter, call *scheduler.Call) bool {
			if call.Type != scheduler.Call_KILL {
				return false
			}
			http.Error(w, c.message, c.code)
			return true
		})
		r := start(t, testConfig(m.URL), "")
		s := m.subscribe(t, r)
		failed := callError(t, r.Call(context.Background(), cluster.Kill{TaskID: "T"}), c.code)
		if failed.Call != "KILL" || failed.Message != c.message || failed.Temporary() != c.temporary {
			t.Errorf("%d %s: the error is %+v, temporary: %v", c.code, c.message, failed, failed.Temporary())
		}
		if c.drop {
			next(t, s.gone, "end of the stream")
			if got := event[cluster.Disconnected](t, r); !strings.Contains(got.Why, "call KILL") {
				t.Errorf("why: %q", got.Why)
			}
			m.subscribe(t, r)
		} else if err := r.Call(context.Background(), cluster.Revive{}); err != nil {
			t.Errorf("after %d %s another call fails: %v", c.code, c.message, err)
		}
	}
}

func TestACallWithoutAnAnswerIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	m := newFakeMaster(t, func(_ http.ResponseWriter, call *scheduler.Call) bool {
		if call.Type == scheduler.Call_ACCEPT {
			<-release
		}
		return false
	})
	defer close(release)
	r := start(t, testConfig(m.URL), "", func(c *timing) { c.call = 50 * time.Millisecond })
	m.subscribe(t, r)
	failed := callError(t, r.Call(context.Background(), oneOfEach[0]), 0)
	if !failed.Temporary() || !errors.Is(failed, context.DeadlineExceeded) {
		t.Errorf("the call ends with %v", failed)
	}
	if err := r.Call(context.Background(), cluster.Revive{}); err != nil {
		t.Errorf("the call after it: %v", err)
	}
}

func TestATeardownEndsRunWithoutAnError(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	m.subscribe(t, r)
	if err := r.Call(context.Background(), cluster.Teardown{}); err != nil {
		t.Fatal(err)
	}
	if err := next(t, r.ended, "end of Run"); err != nil {
		t.Errorf("Run ends with %v", err)
	}
	if n := len(m.streams); n != 0 {
		t.Errorf("the client subscribed again %d times after its TEARDOWN", n)
	}
	if err := r.Call(context.Background(), cluster.Revive{}); !errors.Is(err, ErrNotSubscribed) {
		t.Errorf("a call after the TEARDOWN: %v", err)
	}
}

func TestAStreamThatClosesBeforeTheTeardownIsAnsweredIsNotLost(t *testing.T) {
	var s *stream
	m := newFakeMaster(t, func(_ http.ResponseWriter, call *scheduler.Call) bool {
		if call.Type == scheduler.Call_TEARDOWN {
			s.chunks <- nil
			<-s.gone
		}
		return false
	})
	r := start(t, testConfig(m.URL), "")
	s = m.subscribe(t, r)
	if err := r.Call(context.Background(), cluster.Teardown{}); err != nil {
		t.Fatal(err)
	}
	if err := next(t, r.ended, "end of Run"); err != nil || len(r.events) > 0 || len(m.streams) > 0 {
		t.Errorf("Run ends with %v, %d more events and %d more subscriptions", err, len(r.events), len(m.streams))
	}
}

func TestATaskWithoutAProgramIsNotSent(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	m.subscribe(t, r)
	err := r.Call(context.Background(), cluster.Accept{OfferIDs: []string{"O"}, Launches: []cluster.Launch{{TaskID: "T"}}})
	if err == nil || !strings.Contains(err.Error(), "no program") || len(m.requests) != 1 {
		t.Errorf("the call returns %v after %d requests", err, len(m.requests))
	}
}
