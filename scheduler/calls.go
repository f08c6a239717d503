package scheduler

import (
	"context"
	"sync"
	"time"

	"tfmesos/scheduler/cluster"
)

// flushLimit bounds how long the calls of an ended cluster, TEARDOWN among them, may take.
const flushLimit = 3 * time.Second

// teardownRetry is the delay between two attempts of the one call that must not be lost.
const teardownRetry = 200 * time.Millisecond

// callQueue sends calls one after the other: the master keeps no order between connections, so each waits for the answer
// to the one before.
type callQueue struct {
	mu      sync.Mutex
	calls   []cluster.Call
	ready   chan struct{} // has one element while calls may be there
	pending int           // calls put and not sent yet
	idle    chan struct{} // closed and replaced whenever pending falls to 0
}

func newCallQueue() *callQueue {
	return &callQueue{ready: make(chan struct{}, 1), idle: make(chan struct{})}
}

func (q *callQueue) put(calls ...cluster.Call) {
	if len(calls) == 0 {
		return
	}
	q.mu.Lock()
	q.calls = append(q.calls, calls...)
	q.pending += len(calls)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *callQueue) next() (cluster.Call, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 {
		return nil, false
	}
	call := q.calls[0]
	q.calls = q.calls[1:]
	return call, true
}

func (q *callQueue) sent() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending--
	if q.pending == 0 {
		close(q.idle)
		q.idle = make(chan struct{})
	}
}

// run sends calls until ctx ends; what is queued then is tried with the ended ctx and so given up.
func (q *callQueue) run(ctx context.Context, send func(context.Context, cluster.Call) error) error {
	for {
		call, ok := q.next()
		if !ok {
			select {
			case <-q.ready:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		err := send(ctx, call)
		for _, last := call.(cluster.Teardown); last && err != nil && ctx.Err() == nil; err = send(ctx, call) {
			select {
			case <-time.After(teardownRetry):
			case <-ctx.Done():
			}
		}
		q.sent()
	}
}

// flush waits until every call is sent, within the limit.
func (q *callQueue) flush(ctx context.Context) {
	q.mu.Lock()
	idle, pending := q.idle, q.pending
	q.mu.Unlock()
	if pending == 0 {
		return
	}
	select {
	case <-idle:
	case <-time.After(flushLimit):
	case <-ctx.Done():
	}
}
