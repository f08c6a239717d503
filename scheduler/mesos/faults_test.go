package mesos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/local"
	"tfmesos/scheduler/local/faulttest"
)

func TestC01TheLeaderIsFoundThroughAStandbyAndFollowedWhenItChanges(t *testing.T) {
	first, second := startLocal(t, time.Second), startLocal(t, time.Second)
	one, two := faulttest.New(t, first.Addr()), faulttest.New(t, second.Addr())
	first.Become(local.StandingBy(two.Addr()))
	r := start(t, faultyConfig(one.Addr()), "")
	subscribed := until[cluster.Subscribed](t, r)
	if subscribed.Master != two.Addr() {
		t.Errorf("subscribed at %s, want the leader, %s", subscribed.Master, two.Addr())
	}
	if err := r.Call(context.Background(), cluster.Revive{}); err != nil || len(one.Calls(scheduler.Call_REVIVE)) != 0 {
		t.Errorf("a call ends with %v, and %d came to the standby", err, len(one.Calls(scheduler.Call_REVIVE)))
	}
	first.Become(local.Leading)
	second.Become(local.StandingBy(one.Addr()))
	if again := until[cluster.Subscribed](t, r); again.FrameworkID != subscribed.FrameworkID || again.Master != one.Addr() {
		t.Errorf("after the change of the leader: %+v, want %s at %s", again, subscribed.FrameworkID, one.Addr())
	}
}

func TestC02AnElectionIsWaitedFor(t *testing.T) {
	f := startFaulty(t, time.Second)
	id, _ := f.subscribed()
	for mode, want := range map[local.Mode]string{
		local.NoLeader: "No leader elected", local.Recovering: "Master has not finished recovery", local.NoRoutes: "404 Not Found",
	} {
		f.mesos.Become(mode)
		for why := ""; !strings.Contains(why, want); {
			why = until[cluster.Disconnected](t, f.running).Why
		}
		f.mesos.Become(local.Leading)
		if again, _ := f.subscribed(); again != id {
			t.Errorf("after %q the framework is %s, want %s", want, again, id)
		}
	}
}

func TestC02AWrongSecretIsRefusedOnceAlsoByAStandby(t *testing.T) {
	m := startLocal(t, time.Second)
	p := faulttest.New(t, m.Addr())
	m.Become(local.StandingBy(p.Addr()))
	config := faultyConfig(p.Addr())
	config.Secret = "wrong"
	r := start(t, config, "")
	callError(t, next(t, r.ended, "end of Run"), 401)
	if n := len(p.All()); n != 1 {
		t.Errorf("the master got %d requests with a wrong secret, want 1", n)
	}
}

// TestC03… lets the client believe that it is subscribed at a master that has forgotten it.
func TestC03ACallToAMasterThatForgotLeadsToANewSubscription(t *testing.T) {
	f := startFaulty(t, time.Hour)
	id, stream := f.subscribed()
	held := make(chan struct{})
	f.proxy.Do(func(c faulttest.Call) faulttest.Fate { // the end of the stream is not to be the first to tell
		if c.Message.Type == scheduler.Call_SUBSCRIBE {
			return faulttest.Fate{Until: held}
		}
		return faulttest.Fate{Status: 400, Text: "Framework cannot be found"}
	})
	callError(t, f.Call(context.Background(), cluster.Revive{}), 400)
	if why := until[cluster.Disconnected](t, f.running).Why; !strings.Contains(why, "Framework cannot be found") {
		t.Errorf("why: %q", why)
	}
	next(t, stream.Gone, "end of the old stream")
	if err := f.Call(context.Background(), cluster.Revive{}); !errors.Is(err, ErrNotSubscribed) {
		t.Errorf("a call before the next subscription: %v", err)
	}
	f.proxy.Do(func(faulttest.Call) faulttest.Fate { return faulttest.Fate{} })
	close(held)
	if again, _ := f.subscribed(); again != id {
		t.Errorf("the framework is %s, want %s", again, id)
	}
	f.call(cluster.Revive{})
}

func TestC04EachStreamHasItsOwnIDAndSubscribeHasNone(t *testing.T) {
	f := startFaulty(t, time.Second)
	seen := map[string]bool{}
	for i := range 4 {
		_, stream := f.subscribed()
		f.call(cluster.Revive{})
		revives := f.proxy.Calls(scheduler.Call_REVIVE)
		id := revives[len(revives)-1].StreamID
		if len(revives) != i+1 || id == "" || seen[id] || stream.Subscribe.StreamID != "" {
			t.Errorf("subscription %d: the stream id %q, on SUBSCRIBE %q", i, id, stream.Subscribe.StreamID)
		}
		seen[id] = true
		stream.Break()
	}
}

func TestC05ACallWaitsForTheAnswerToTheOneBefore(t *testing.T) {
	f := startFaulty(t, time.Second)
	f.subscribed()
	accept := f.accept("one")
	held, arrived := make(chan struct{}), make(chan struct{})
	f.proxy.Do(func(c faulttest.Call) faulttest.Fate {
		if c.Message.Type == scheduler.Call_ACCEPT {
			close(arrived)
			return faulttest.Fate{Until: held}
		}
		return faulttest.Fate{}
	})
	ended := make(chan error, 2)
	go func() { ended <- f.Call(context.Background(), accept) }()
	next(t, arrived, "ACCEPT")
	go func() {
		ended <- f.Call(context.Background(), cluster.Reconcile{Tasks: []cluster.TaskRef{{TaskID: "one", AgentID: accept.AgentID}}})
	}()
	select {
	case err := <-ended:
		t.Errorf("a call behind one without an answer has ended, with %v", err)
	case <-time.After(20 * time.Millisecond): // nothing tells that something does not happen; longer would only find more
	}
	if n := len(f.proxy.Calls(scheduler.Call_RECONCILE)); n != 0 {
		t.Error("RECONCILE has overtaken the ACCEPT before it")
	}
	close(held)
	for range 2 {
		if err := next(t, ended, "answer"); err != nil {
			t.Error(err)
		}
	}
	if u := f.updated("one"); u.State == cluster.TaskStateGone || u.State == cluster.TaskStateUnknown {
		t.Errorf("RECONCILE behind ACCEPT is answered with %s: the task would be launched again", u.State)
	}
}

func TestC06AStreamThatFallsSilentIsLeft(t *testing.T) {
	f := startFaulty(t, 20*time.Millisecond)
	id, stream := f.subscribed()
	stream.Mute()
	if why := until[cluster.Disconnected](t, f.running).Why; why != errSilent.Error() {
		t.Errorf("why: %q", why)
	}
	next(t, stream.Gone, "end of the silent stream")
	again, _ := f.subscribed()
	if again != id {
		t.Errorf("the framework is %s, want %s", again, id)
	}
	f.call(cluster.Revive{})
}

func TestC06AMasterWhoseAnswerToSubscribeNeverComesIsLeft(t *testing.T) {
	f := startFaulty(t, time.Second, func(c *timing) { c.answer = 300 * time.Millisecond })
	_, stream := f.subscribed()
	never := make(chan struct{})
	f.proxy.Do(func(faulttest.Call) faulttest.Fate { return faulttest.Fate{Until: never} })
	stream.Break()
	for why := ""; !strings.Contains(why, errNoAnswer.Error()); {
		why = until[cluster.Disconnected](t, f.running).Why
	}
	f.proxy.Do(func(faulttest.Call) faulttest.Fate { return faulttest.Fate{} })
	f.subscribed()
}

func TestC08AnEventOfFiveMiBIsOneLikeOthers(t *testing.T) {
	f := startFaulty(t, time.Second)
	_, stream := f.subscribed()
	running, data := mesos.TASK_RUNNING, make([]byte, 5<<20)
	stream.Send(&scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{
		Status: mesos.TaskStatus{TaskID: mesos.TaskID{Value: "huge"}, State: &running, Data: data}}})
	stream.Send(rescind("O"))
	if u := until[cluster.Updated](t, f.running); u.TaskID != "huge" || u.State != cluster.TaskStateRunning {
		t.Errorf("the update is %+v", u)
	}
	if got := until[cluster.Rescinded](t, f.running); got.OfferID != "O" {
		t.Errorf("after it comes %+v", got)
	}
}

func TestC09AnAnswerThatIsLostIsNoSignThatTheCallWas(t *testing.T) {
	f := startFaulty(t, time.Second)
	f.subscribed()
	accept := f.accept("one")
	f.proxy.Do(func(c faulttest.Call) faulttest.Fate {
		return faulttest.Fate{AnswerLost: c.Message.Type == scheduler.Call_ACCEPT}
	})
	if failed := callError(t, f.Call(context.Background(), accept), 0); !failed.Temporary() {
		t.Errorf("the call ends with %v, as if the master had refused it", failed)
	}
	if u := f.updated("one"); u.State != cluster.TaskStateRunning {
		t.Errorf("the task is %s: the master had taken the call", u.State)
	}
	if n := len(f.proxy.Calls(scheduler.Call_ACCEPT)); n != 1 {
		t.Errorf("ACCEPT was sent %d times, want once: who asks again launches twice", n)
	}
}

func TestC09ACallThatIsLostIsToldAsOneWithoutAnAnswer(t *testing.T) {
	f := startFaulty(t, time.Second)
	f.subscribed()
	accept := f.accept("one")
	f.proxy.Do(func(c faulttest.Call) faulttest.Fate {
		return faulttest.Fate{Lost: c.Message.Type == scheduler.Call_ACCEPT}
	})
	if failed := callError(t, f.Call(context.Background(), accept), 0); !failed.Temporary() {
		t.Errorf("the call ends with %v", failed)
	}
	if n := len(f.proxy.Calls(scheduler.Call_ACCEPT)); n != 1 {
		t.Errorf("ACCEPT was sent %d times, want once", n)
	}
	f.call(cluster.Reconcile{Tasks: []cluster.TaskRef{{TaskID: "one", AgentID: accept.AgentID}}})
	if u := f.updated("one"); u.State != cluster.TaskStateGone {
		t.Errorf("the master knows the task as %s, want GONE: it never got the call", u.State)
	}
}

func TestAnAcknowledgementThatComesTwiceDoesNoHarm(t *testing.T) {
	f := startFaulty(t, time.Second)
	f.subscribed()
	f.proxy.Do(func(c faulttest.Call) faulttest.Fate {
		return faulttest.Fate{Twice: c.Message.Type == scheduler.Call_ACKNOWLEDGE}
	})
	f.call(f.accept("one"))
	if u := f.updated("one"); u.State != cluster.TaskStateRunning {
		t.Fatalf("the task is %s", u.State)
	}
	f.call(cluster.Kill{TaskID: "one", Grace: time.Hour})
	for _, want := range []cluster.State{cluster.TaskStateKilling, cluster.TaskStateKilled} {
		if u := f.updated("one"); u.State != want {
			t.Errorf("the task is %s, want %s", u.State, want)
		}
	}
}

func TestKnownFault031WhatThisVersionDoesNotKnowIsPassedOver(t *testing.T) {
	f := startFaulty(t, time.Second)
	_, stream := f.subscribed()
	f.mesos.Maintain(time.Now().Add(time.Hour), time.Hour) // brings INVERSE_OFFERS
	until[cluster.Rescinded](t, f.running)
	stream.Send(&scheduler.Event{Type: 99})
	stream.Send(&scheduler.Event{Type: scheduler.Event_OFFERS})
	stream.Send(&scheduler.Event{Type: scheduler.Event_UPDATE})
	stream.Raw(faulttest.Record([]byte{0x08, 0x05, 0xfa, 0x3f, 0x01, 'x'})) // HEARTBEAT with a field 1023
	state, reason, source := mesos.TaskState(77), mesos.TaskStatus_Reason(999), mesos.TaskStatus_Source(55)
	stream.Send(&scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{
		Status: mesos.TaskStatus{TaskID: mesos.TaskID{Value: "odd"}, State: &state, Reason: &reason, Source: &source}}})
	if u := until[cluster.Updated](t, f.running); u.TaskID != "odd" || u.State != "TASK_77" || u.Reason != "999" || u.Source != "55" {
		t.Errorf("values without a name are %+v, want their numbers", u)
	}
	f.mesos.Maintain(time.Time{}, 0)
	until[cluster.Rescinded](t, f.running)
	f.call(f.accept("one"))
	if u := f.updated("one"); u.State != cluster.TaskStateRunning {
		t.Errorf("the task is %s", u.State)
	}
	if n := len(f.proxy.Streams); n != 0 {
		t.Errorf("the client has subscribed %d times more", n)
	}
}

func TestKnownFault062AStreamThatBreaksAnywhereIsOpenedAnew(t *testing.T) {
	f := startFaulty(t, time.Second)
	id, stream := f.subscribed()
	for _, fault := range []func(*faulttest.Stream){
		(*faulttest.Stream).Break, (*faulttest.Stream).BreakInside, (*faulttest.Stream).End,
		func(s *faulttest.Stream) { s.Raw([]byte("12")); s.End() },
		func(s *faulttest.Stream) { s.Raw([]byte("12\nhalf")); s.End() },
		func(s *faulttest.Stream) { s.Raw([]byte("no length\n")) },
	} {
		fault(stream)
		until[cluster.Disconnected](t, f.running)
		var again string
		if again, stream = f.subscribed(); again != id {
			t.Errorf("the framework is %s, want %s", again, id)
		}
	}
	f.call(f.accept("one"))
	if u := f.updated("one"); u.State != cluster.TaskStateRunning {
		t.Errorf("the task is %s", u.State)
	}
}

func TestATaskIsFoundAgainAfterTheEndOfItsMaster(t *testing.T) {
	f := startFaulty(t, time.Second)
	id, _ := f.subscribed()
	f.call(f.accept("one"))
	f.updated("one")
	f.mesos.Become(local.Recovering)
	until[cluster.Disconnected](t, f.running)
	f.mesos.Become(local.Leading)
	if again, _ := f.subscribed(); again != id {
		t.Errorf("the framework is %s, want %s", again, id)
	}
	f.call(cluster.Reconcile{Tasks: []cluster.TaskRef{{TaskID: "one"}}})
	if u := f.updated("one"); u.State != cluster.TaskStateRunning {
		t.Errorf("the new master knows the task as %s", u.State)
	}
}

func TestC16WhoIsTakenOverDoesNotComeBack(t *testing.T) {
	f := startFaulty(t, time.Second)
	id, _ := f.subscribed()
	other := start(t, faultyConfig(f.proxy.Addr()), id)
	until[cluster.Subscribed](t, other)
	if err := next(t, f.ended, "end of Run"); !errors.Is(err, ErrFailedOver) {
		t.Errorf("the first scheduler ends with %v", err)
	}
	if err := other.Call(context.Background(), cluster.Revive{}); err != nil || len(f.proxy.Calls(scheduler.Call_SUBSCRIBE)) != 2 {
		t.Errorf("the second one calls with %v, after %d SUBSCRIBEs", err, len(f.proxy.Calls(scheduler.Call_SUBSCRIBE)))
	}
}
