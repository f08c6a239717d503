//go:build integration

package conformance_test

import "github.com/mesos/mesos-go/api/v1/lib/scheduler"

var reconcileStories = []told{
	{"explicit-reconciliation", func(s *story) { explicit(s, modern) }, both},
	{"explicit-reconciliation-of-an-old-framework", func(s *story) { explicit(s) }, both},
	{"implicit-reconciliation", implicit, both},
}

func explicit(s *story, changes ...change) {
	c := s.subscribe(changes...)
	c.launch("sleep 1000", "one")
	c.acked()
	ask := func(name string, pairs ...string) {
		s.t.Helper()
		s.note("%s:", name)
		c.reconcile(pairs...)
		for range len(pairs) / 2 {
			c.update()
		}
	}
	ask("known, with its agent", "one", c.agent)
	ask("known, without", "one", "")
	ask("known, with another agent", "one", "another")
	ask("unknown, on our agent", "x", c.agent)
	ask("unknown, on another", "x", "another")
	ask("unknown, on none", "x", "")
	ask("three at once", "x", c.agent, "one", c.agent, "y", "")
	c.quiet()
}

func implicit(s *story) {
	c := s.subscribe(modern)
	s.note("with no task:")
	c.reconcile()
	c.quiet()
	c.launch("sleep 1000", "b", "a")
	for range 2 {
		status := c.running()
		c.ack(status)
	}
	s.note("with two:")
	c.reconcile()
	states := map[string]string{}
	for range 2 {
		event := c.next(scheduler.Event_UPDATE)
		states[event.Update.Status.TaskID.Value] = brief(event)
	}
	s.note("%s", states["a"])
	s.note("%s", states["b"])
	c.quiet()
}
