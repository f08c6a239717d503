//go:build integration

package conformance_test

import (
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

var subscriptionStories = []told{
	{"subscribed", subscribedWhole, []codec{protobuf}},
	{"subscribed-in-json", subscribedWhole, []codec{jsonText}},
	{"the-first-events", theFirstEvents, both},
	{"frameworks-that-are-refused", frameworksThatAreRefused, both},
	{"a-takeover", aTakeover, both},
	{"a-lost-stream", aLostStream, both},
	{"no-failover-timeout", noFailoverTimeout, both},
	{"an-unknown-id", anUnknownID, both},
	{"teardown", teardown, both},
	{"update-framework", updateFramework, both},
}

func subscribedWhole(s *story) {
	s.whole = true
	c := s.connect(modern)
	event := c.write(scheduler.Event_SUBSCRIBED)
	c.id = event.Subscribed.FrameworkID.Value
	s.alias("F", c.id)
	s.alias("M", event.Subscribed.MasterInfo.ID)
}

// theFirstEvents: a heartbeat follows SUBSCRIBED at once. (An offer, if one was wanted, could come between them.)
func theFirstEvents(s *story) {
	s.suppressed = []string{"*"}
	c := s.connect(modern)
	for range 2 {
		select {
		case event := <-c.events:
			if event.Subscribed != nil {
				c.id = event.Subscribed.FrameworkID.Value
			}
			s.event(event)
		case <-time.After(patience):
			s.t.Fatal("no event comes")
		}
	}
}

func frameworksThatAreRefused(s *story) {
	try := func(name string, changes ...change) {
		s.t.Helper()
		s.note("%s:", name)
		c := s.connect(changes...)
		event := c.next(scheduler.Event_ERROR, scheduler.Event_SUBSCRIBED)
		s.event(event)
		if event != nil && event.Type == scheduler.Event_SUBSCRIBED {
			c.id = event.Subscribed.FrameworkID.Value
			return
		}
		c.write(scheduler.Event_ERROR)
	}
	try("a failover timeout beyond all time", failover(1e300))
	try("a negative failover timeout", failover(-1))
	try("an id with a slash", withID("a/b"))
	try("an empty role", role(""))
	try("a role with a dash", role("a/-b"))
	try("a role with a slash before it", role("/a"))
	try("a role with a slash behind it", role("a/"))
	try("a role with two slashes", role("a//b"))
	try("a role that is a dot", role("."))
	try("a role that is two dots", role("a/.."))
	try("a role with a star in it", role("a/*"))
	try("a role with a blank", roles("a b"))
	try("a hierarchical role", roles("a/b"))
	try("role and roles", roles("a"), role("a"))
	try("roles without the capability", func(info *mesos.FrameworkInfo) { info.Roles = []string{"a"} })
	try("a role twice", roles("a", "a"))
	try("no roles", roles())
}

func aTakeover(s *story) {
	old := s.subscribe(modern)
	stale := old.wholeOffer()
	c := s.subscribe(modern, withID(old.id))
	s.note("the same id: %v", c.id == old.id)
	s.note("the old stream:")
	for event := old.next(scheduler.Event_ERROR, scheduler.Event_RESCIND, scheduler.Event_UPDATE); event != nil; event = old.next(scheduler.Event_ERROR, scheduler.Event_RESCIND) {
		s.event(event)
	}
	s.note("the new stream:")
	status, text := old.try(&scheduler.Call{Type: scheduler.Call_REVIVE})
	s.names[old.streamID] = "STREAM1"
	s.note("a call with the old stream id: %d %q", status, text)
	fresh := c.wholeOffer()
	c.accept([]mesos.Offer{stale}, c.task("stale", "true"))
	c.update()
	c.accept([]mesos.Offer{fresh}, c.task("fresh", "true"))
	c.acked()
	c.acked()
	c.quiet()
	old.id = ""
}

// gone ends the stream, waits until the master has noticed, and writes down what it says to a call then.
func (c *client) gone(want int) {
	c.t.Helper()
	c.hangUp()
	c.names[c.streamID] = "STREAM"
	for end := time.Now().Add(patience); ; {
		status, text := c.try(&scheduler.Call{Type: scheduler.Call_REVIVE})
		if status == want {
			c.note("a call after the stream has ended: %d %q", status, text)
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("%d is never the answer to a call after the stream has ended, but %d %q", want, status, text)
		}
	}
}

func aLostStream(s *story) {
	c := s.subscribe(modern, failover(3600))
	c.launch("sleep 1000", "one")
	c.acked()
	c.gone(403)
	again := s.subscribe(modern, failover(3600), withID(c.id))
	s.note("the same id: %v", again.id == c.id)
	again.reconcile("one", "")
	again.update()
	again.offered() // its filter is gone with the stream
	again.quiet()
	c.id = ""
}

func noFailoverTimeout(s *story) {
	c := s.subscribe(modern)
	c.launch("sleep 1000", "one")
	c.acked()
	c.gone(400)
	again := s.connect(modern, withID(c.id))
	again.write(scheduler.Event_ERROR)
	again.write(scheduler.Event_ERROR)
	other := s.subscribe(modern)
	other.wholeOffer()
	other.reconcile("one", other.agent)
	other.update()
	c.id = ""
}

func anUnknownID(s *story) {
	id := "from-before-" + s.codec.name + time.Now().Format("150405.000000")
	c := s.subscribe(modern, withID(id))
	s.note("registered under the id it came with: %v", c.id == id)
}

func teardown(s *story) {
	c := s.subscribe(modern, failover(3600))
	c.launch("sleep 1000", "one", "two")
	c.ack(c.running())
	c.ack(c.running())
	c.call(&scheduler.Call{Type: scheduler.Call_TEARDOWN})
	c.write(scheduler.Event_UPDATE, scheduler.Event_ERROR, scheduler.Event_FAILURE)
	status, text := c.try(&scheduler.Call{Type: scheduler.Call_REVIVE})
	s.note("a call after it: %d %q", status, text)
	again := s.connect(modern, withID(c.id))
	again.write(scheduler.Event_ERROR)
	c.id = ""
	other := s.subscribe(modern)
	other.wholeOffer() // what the tasks had is free
}

func updateFramework(s *story) {
	principal := principal
	c := s.subscribe(modern, roles("a"), func(info *mesos.FrameworkInfo) { info.Principal = &principal })
	try := func(name string, suppressed []string, change change) {
		s.t.Helper()
		info := *c.info
		info.ID = &mesos.FrameworkID{Value: c.id}
		change(&info)
		status, text := c.try(&scheduler.Call{Type: scheduler.Call_UPDATE_FRAMEWORK,
			UpdateFramework: &scheduler.Call_UpdateFramework{FrameworkInfo: info, SuppressedRoles: suppressed}})
		s.note("%s: %d %q", name, status, text)
	}
	user, yes, other := "somebody", true, "other"
	try("as it was", nil, func(*mesos.FrameworkInfo) {})
	try("another user", nil, func(info *mesos.FrameworkInfo) { info.User = user })
	try("checkpoint", nil, func(info *mesos.FrameworkInfo) { info.Checkpoint = &yes })
	try("no principal, though the first registration had one", nil, func(info *mesos.FrameworkInfo) { info.Principal = nil })
	try("another principal", nil, func(info *mesos.FrameworkInfo) { info.Principal = &other })
	try("a bad role", nil, func(info *mesos.FrameworkInfo) { info.Roles = []string{"a b"} })
	try("a suppressed role that is none of it", []string{"x"}, func(*mesos.FrameworkInfo) {})
	try("two roles", nil, func(info *mesos.FrameworkInfo) { info.Roles = []string{"a", "b"} })
	c.decline(c.offered(), 3600)
	c.offered()
}
