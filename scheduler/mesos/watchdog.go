package mesos

import (
	"math"
	"time"
)

// watchdog calls a function once nothing was heard for its limit. It is used by one goroutine.
type watchdog struct {
	timer *time.Timer
	limit time.Duration // 0: silence is fine
}

// watch starts a watchdog.
func watch(limit time.Duration, bark func()) *watchdog {
	return &watchdog{timer: time.AfterFunc(limit, bark), limit: limit}
}

// heard starts the wait anew.
func (w *watchdog) heard() {
	if w.limit > 0 {
		w.timer.Reset(w.limit)
	}
}

// expect changes the limit.
func (w *watchdog) expect(limit time.Duration) {
	w.limit = limit
	w.timer.Stop()
	w.heard()
}

func (w *watchdog) stop() { w.timer.Stop() }

// silence returns how long a stream may be silent, or 0 for ever, which is so when the master announces no heartbeats.
func silence(interval *float64, factor time.Duration) time.Duration {
	if interval == nil || !(*interval > 0) {
		return 0
	}
	limit := *interval * float64(factor) * float64(time.Second)
	if limit > math.MaxInt64/2 {
		return 0
	}
	return max(1, time.Duration(limit))
}
