//go:build integration

package conformance_test

import (
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

var taskStories = []told{
	{"a-task-that-ends", aTaskThatEnds, both},
	{"task-starting", taskStarting, []codec{protobuf}},
	{"how-commands-end", howCommandsEnd, both},
	{"only-the-first-update-is-in-flight", onlyTheFirstUpdateIsInFlight, both},
	{"an-update-comes-again", anUpdateComesAgain, []codec{protobuf}},
	{"an-update-comes-again-to-the-next-stream", anUpdateComesAgainToTheNextStream, []codec{protobuf}},
	{"a-kill", aKill, both},
	{"a-kill-of-who-knows-no-killing", aKillOfWhoKnowsNoKilling, both},
	{"a-kill-that-does-not-wait", aKillThatDoesNotWait, both},
	{"a-kill-of-what-is-not-there", aKillOfWhatIsNotThere, both},
	{"an-id-that-runs", anIDThatRuns, both},
	{"an-update-in-full", anUpdateInFull, []codec{protobuf}},
	{"an-update-in-full-in-json", anUpdateInFull, []codec{jsonText}},
}

func aTaskThatEnds(s *story) {
	c := s.subscribe(modern)
	c.launch("exit 0", "one")
	c.acked()
	c.acked()
	c.quiet()
	s.note("it is forgotten once its end is acknowledged:")
	c.reconcile("one", c.agent)
	c.update()
}

func taskStarting(s *story) {
	c := s.subscribe(modern)
	c.launch("exit 0", "one")
	for {
		status := c.update()
		c.ack(status)
		if status.GetState() == mesos.TASK_FINISHED {
			return
		}
	}
}

func howCommandsEnd(s *story) {
	no := false
	command := func(value string, args ...string) *mesos.CommandInfo {
		return &mesos.CommandInfo{Value: &value, Arguments: args, Shell: &no}
	}
	shell := func(value string) *mesos.CommandInfo { return &mesos.CommandInfo{Value: &value} }
	for _, test := range []struct {
		name    string
		command *mesos.CommandInfo
	}{
		{"a status", shell("exit 7")},
		{"a signal", shell("kill -9 $$")},
		{"arguments", command("/bin/sh", "sh", "-c", "exit 3")},
		{"a program of the PATH", command("true")},
	} {
		c := s.subscribe(modern)
		o := c.wholeOffer()
		task := c.task("one", "")
		task.Command = test.command
		s.note("%s:", test.name)
		c.accept([]mesos.Offer{o}, task)
		c.acked()
		c.acked()
		c.call(&scheduler.Call{Type: scheduler.Call_TEARDOWN})
		c.id = ""
	}
}

func onlyTheFirstUpdateIsInFlight(s *story) {
	c := s.subscribe(modern)
	c.launch("exit 0", "one")
	running := c.unacked()
	wrong := *running
	wrong.UUID = append([]byte{running.UUID[0] ^ 1}, running.UUID[1:]...)
	c.ack(&wrong)
	s.note("after an acknowledgement of another update, what is asked for is known as")
	c.reconcile("one", c.agent)
	c.update()
	c.ack(running)
	s.note("after that of the right one:")
	finished := c.update()
	c.ack(running) // again: no longer in flight
	c.reconcile("one", c.agent)
	c.update()
	c.ack(finished)
	c.quiet()
}

func sameUUID(a, b *mesos.TaskStatus) bool { return string(a.UUID) == string(b.UUID) }

func anUpdateComesAgain(s *story) {
	c := s.subscribe(modern)
	c.launch("sleep 1000", "one")
	first := c.unacked()
	began := time.Now()
	again := c.unacked()
	s.note("the same update: %v, after 10 s: %v", sameUUID(first, again), time.Since(began) > 9*time.Second)
	c.ack(again)
	c.kill("one", c.agent, time.Hour)
	c.acked()
	c.acked()
}

func anUpdateComesAgainToTheNextStream(s *story) {
	c := s.subscribe(modern, failover(3600))
	c.launch("sleep 1000", "one")
	first := c.unacked()
	next := s.subscribe(modern, failover(3600), withID(c.id))
	again := next.unacked()
	s.note("the same update: %v", sameUUID(first, again))
	c.id = ""
}

func aKill(s *story) {
	c := s.subscribe(modern)
	ready := s.file()
	c.launch("trap 'exit 5' TERM; echo > "+ready+"; sleep 1000 & wait", "one")
	c.acked()
	s.await(ready)
	c.kill("one", c.agent, time.Hour)
	c.acked()
	killed := c.next(scheduler.Event_UPDATE).Update.Status
	c.ack(&killed)
	s.note("%s %v", killed.GetState(), killed.GetSource())
	c.kill("one", c.agent, time.Hour) // it has ended, and that is known
	c.update()
}

func aKillOfWhoKnowsNoKilling(s *story) {
	c := s.subscribe(capable(mesos.FrameworkInfo_Capability_PARTITION_AWARE))
	c.launch("sleep 1000", "one")
	c.acked()
	c.kill("one", c.agent, time.Hour)
	c.acked()
	c.quiet()
}

func aKillThatDoesNotWait(s *story) {
	c := s.subscribe(modern)
	ready := s.file()
	c.launch("trap '' TERM; echo > "+ready+"; while :; do sleep 1000; done", "one")
	c.acked()
	s.await(ready)
	c.kill("one", "", time.Hour)
	c.acked()
	c.kill("one", "", time.Millisecond)
	c.acked()
	c.quiet()
}

func aKillOfWhatIsNotThere(s *story) {
	c := s.subscribe(modern)
	c.launch("sleep 1000", "one")
	c.acked()
	s.note("unknown, on our agent:")
	c.kill("two", c.agent, 0)
	c.update()
	s.note("unknown, on another:")
	c.kill("two", "another", 0)
	c.update()
	s.note("unknown, on no agent:")
	c.kill("two", "", 0)
	c.update()
	s.note("known, but on another agent:")
	c.kill("one", "another", 0)
	c.quiet()
	c.reconcile("one", "")
	c.update()
}

func anIDThatRuns(s *story) {
	c := s.subscribe(modern)
	o := c.wholeOffer()
	c.acceptFor(0, []mesos.Offer{o}, mesos.Offer_Operation{Type: mesos.Offer_Operation_LAUNCH, Launch: &mesos.Offer_Operation_Launch{TaskInfos: []mesos.TaskInfo{c.task("one", "sleep 1000")}}})
	c.acked()
	c.accept([]mesos.Offer{c.offer()}, c.task("one", "true"))
	c.update()
	c.quiet()
}

func anUpdateInFull(s *story) {
	c := s.subscribe(modern)
	c.launch("sleep 1000", "one")
	for {
		event := c.next(scheduler.Event_UPDATE)
		status := &event.Update.Status
		c.ack(status)
		if status.GetState() == mesos.TASK_RUNNING {
			if id := status.ContainerStatus.GetContainerID(); id != nil {
				s.alias("C", id.Value)
			}
			s.whole = true
			s.event(event)
			c.reconcile("one", c.agent)
			c.update()
			return
		}
	}
}
