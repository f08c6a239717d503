package scheduler

import (
	"sync"

	"tfmesos/scheduler/cluster"
)

// letter is an event with whoever waits for it to be stored; done is nil if nobody does.
type letter struct {
	event cluster.Event
	done  chan<- error
}

// inbox is an unbounded queue: the reader of the master's stream must never block (a slow subscriber makes the master
// keep its events in memory, MESOS-7748).
type inbox struct {
	mu      sync.Mutex
	letters []letter
	ready   chan struct{} // has one element while letters may be there
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

func (b *inbox) put(l letter) {
	b.mu.Lock()
	b.letters = append(b.letters, l)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	letters := b.letters
	b.letters = nil
	return letters
}
