// Package reconcile is Mesos' task reconciliation (docs/reconciliation.md) as a value.
//
// A Round asks the master about each task that has not ended, again and again with a growing delay, until
// every one has been answered for. It is pure: the caller sends the RECONCILE calls and tells it of updates.
package reconcile

import (
	"maps"
	"slices"
	"time"

	"tfmesos/shared/backoff"
)

// Policy is the delay between two askings; it is truncated, never ends, and has no jitter: one framework asks one master.
var Policy = backoff.Policy{First: time.Second, Max: time.Minute, Factor: 2}

// Round is one run of the algorithm. The zero Round asks for nothing. There is at most one at a time: Start replaces
// whatever was going on.
type Round struct {
	remaining map[string]bool // task_ids without an answer since the start
	attempt   int
	due       time.Time
}

// Start begins a round for the task_ids, due at once.
func Start(taskIDs []string, now time.Time) Round {
	r := Round{remaining: map[string]bool{}, due: now}
	for _, id := range taskIDs {
		r.remaining[id] = true
	}
	return r
}

// Seen returns the round after an update of the task_id has come, of whatever origin.
func (r Round) Seen(taskID string) Round {
	if !r.remaining[taskID] {
		return r
	}
	r.remaining = maps.Clone(r.remaining)
	delete(r.remaining, taskID)
	return r
}

// Tick returns the task_ids to ask about now, sorted, and the round after asking; none before the round is due.
func (r Round) Tick(now time.Time) (Round, []string) {
	if len(r.remaining) == 0 || now.Before(r.due) {
		return r, nil
	}
	r.due = now.Add(Policy.Delay(r.attempt, 1))
	r.attempt++
	return r, r.Remaining()
}

// Due returns when to call Tick next; the zero time if there is nothing left to ask.
func (r Round) Due() time.Time {
	if len(r.remaining) == 0 {
		return time.Time{}
	}
	return r.due
}

// Remaining returns the task_ids without an answer yet, sorted.
func (r Round) Remaining() []string { return slices.Sorted(maps.Keys(r.remaining)) }
