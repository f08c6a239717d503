package sidecar

import (
	"context"
	"sync"
	"time"

	"tfmesos/shared/backoff"
	"tfmesos/shared/callback"
	"tfmesos/shared/logkey"
	"tfmesos/sidecar/boot"
)

// Limits of what is kept while nobody takes it, and of one request. Escaped as JSON a line may be six times as long, and a
// request must stay below callback.MaxBody.
const (
	keptLines  = 10_000
	keptBytes  = 8 << 20
	batchLines = 1000
	batchBytes = 32 << 10
	// longestWait is how long a line waits for room.
	longestWait = time.Second
)

// Output is the child's output on its way to the scheduler. When that does not take it the oldest lines are dropped and
// counted.
type Output struct {
	mu      sync.Mutex
	lines   []callback.LogLine
	bytes   int
	dropped int
	sending bool
	away    bool          // the last batch was not taken: nobody waits for room
	room    chan struct{} // closed and replaced when a batch was taken out, or away has changed

	more chan struct{} // holds one when lines have come
	idle chan struct{} // holds one when all were handed over
}

// NewOutput returns an empty Output.
func NewOutput() *Output {
	return &Output{room: make(chan struct{}), more: make(chan struct{}, 1), idle: make(chan struct{}, 1)}
}

// Add takes one line of a stream, "stdout" or "stderr". A program that is faster than the scheduler takes its lines waits
// here, but never for long, and not at all for a scheduler that is away.
func (o *Output) Add(stream, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.awaitRoom()
	o.lines = append(o.lines, callback.LogLine{Stream: stream, Text: text})
	o.bytes += len(text)
	for o.full() {
		o.bytes -= len(o.lines[0].Text)
		o.lines = o.lines[1:]
		o.dropped++
	}
	signal(o.more)
}

func (o *Output) full() bool { return len(o.lines) > keptLines || o.bytes > keptBytes }

// awaitRoom needs o.mu, and gives it up while it waits.
func (o *Output) awaitRoom() {
	if o.away || len(o.lines) < keptLines && o.bytes < keptBytes {
		return
	}
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	for !o.away && (len(o.lines) >= keptLines || o.bytes >= keptBytes) {
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
			o.mu.Lock()
		case <-timer.C:
			o.mu.Lock()
			o.away = true
		}
	}
}

// setAway says whether the scheduler takes output.
func (o *Output) setAway(away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = away
	o.wake()
}

// wake needs o.mu.
func (o *Output) wake() {
	close(o.room)
	o.room = make(chan struct{})
}

// batch takes the next lines out, if there are any.
func (o *Output) batch() (callback.Log, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, size := 0, 0
	for n < min(len(o.lines), batchLines) && (n == 0 || size+len(o.lines[n].Text) <= batchBytes) {
		size += len(o.lines[n].Text)
		n++
	}
	o.sending = n > 0
	if n == 0 {
		signal(o.idle)
		return callback.Log{}, false
	}
	batch := callback.Log{Lines: append([]callback.LogLine(nil), o.lines[:n]...), Dropped: o.dropped}
	o.lines, o.bytes, o.dropped = o.lines[n:], o.bytes-size, 0
	o.wake()
	return batch, true
}

// lost counts lines that the scheduler did not want.
func (o *Output) lost(l callback.Log) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped += l.Dropped + len(l.Lines)
}

func (o *Output) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.lines) == 0 && !o.sending
}

// flush waits until everything was handed over, for so long at most.
func (o *Output) flush(ctx context.Context, longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	for !o.empty() {
		select {
		case <-o.idle:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// ship hands output over until ctx ends: what there is, at once, then what has come in the meantime.
func (l *loop) ship(ctx context.Context) {
	for {
		select {
		case <-l.Output.more:
		case <-ctx.Done():
			return
		}
		for batch, ok := l.Output.batch(); ok && ctx.Err() == nil; batch, ok = l.Output.batch() {
			l.shipBatch(ctx, batch)
		}
	}
}

// shipBatch repeats until the batch is taken or not wanted.
func (l *loop) shipBatch(ctx context.Context, batch callback.Log) {
	retry := backoff.Policy{First: 100 * time.Millisecond, Max: 5 * time.Second, Factor: 2}
	for attempt := 0; ; attempt++ {
		err := l.Scheduler.Log(ctx, batch)
		l.Output.setAway(err != nil)
		if err == nil || ctx.Err() != nil {
			return
		}
		if failure := failureOf(err); failure == boot.Invalid || failure == boot.Superseded {
			l.Log.Warn("the scheduler does not take output", logkey.Error, err)
			l.Output.lost(batch)
			return
		}
		select {
		case <-time.After(retry.Delay(attempt, l.Fraction())):
		case <-ctx.Done():
			return
		}
	}
}
