package local

import "sync"

// mailbox is a queue without bound between goroutines, so that who holds the
// state's mutex never waits for a slow reader. What it holds is bounded by what
// one scheduler on this host asks for.
type mailbox[T any] struct {
	ready chan struct{} // capacity 1: something was put, or the box was closed

	mu     sync.Mutex
	items  []T
	closed bool
}

func newMailbox[T any]() *mailbox[T] {
	return &mailbox[T]{ready: make(chan struct{}, 1)}
}

// put adds an item. After close it is dropped.
func (b *mailbox[T]) put(item T) {
	b.mu.Lock()
	if !b.closed {
		b.items = append(b.items, item)
	}
	b.mu.Unlock()
	b.signal()
}

// close ends the box: take gives what is in it, then nothing more.
func (b *mailbox[T]) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.signal()
}

func (b *mailbox[T]) signal() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take empties the box. If open is false, these were the last items.
func (b *mailbox[T]) take() (items []T, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	items, b.items = b.items, nil
	return items, !b.closed
}
