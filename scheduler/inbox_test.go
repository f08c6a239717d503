package scheduler

import (
	"sync"
	"testing"

	"tfmesos/scheduler/cluster"
)

func TestTheInboxKeepsEverythingInEachSendersOrder(t *testing.T) {
	const senders, each = 4, 1000
	b := newInbox()
	var sending sync.WaitGroup
	for sender := range senders {
		sending.Go(func() {
			for i := range each {
				b.put(letter{event: cluster.Stopped{ExitCode: i, Reason: string(rune('a' + sender))}})
			}
		})
	}
	next := map[string]int{}
	for total := 0; total < senders*each; {
		<-b.ready
		for _, l := range b.take() {
			ev := l.event.(cluster.Stopped)
			if ev.ExitCode != next[ev.Reason] {
				t.Fatalf("sender %s: event %d comes when %d is due", ev.Reason, ev.ExitCode, next[ev.Reason])
			}
			next[ev.Reason]++
			total++
		}
	}
	sending.Wait()
}

func TestPostNeverBlocks(t *testing.T) {
	s := New(Config{}, newCluster(1)) // that nobody runs
	for range 10_000 {
		s.Post(subscribed())
	}
	if n := len(s.inbox.take()); n != 10_000 {
		t.Errorf("%d of 10000 events are kept", n)
	}
}
