package local

import "time"

// runClock does what is due by time, until m.stop is closed.
func (m *Mesos) runClock() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(m.tick(time.Now()))
		select {
		case <-timer.C:
		case <-m.wake:
		case <-m.stop:
			return
		}
	}
}

// tick does what is due at now and returns how long nothing more will be.
func (m *Mesos) tick(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := now.Add(time.Hour)
	due := func(at time.Time) bool {
		if at.IsZero() {
			return false
		}
		if at.After(now) && at.Before(next) {
			next = at
		}
		return !at.After(now)
	}
	for _, f := range m.frameworks {
		if due(f.removeAt) {
			m.remove(f, "its failover timeout has passed")
		}
		f.forgetFilters(due)
		due(f.askAgain)
	}
	for _, t := range m.tasks {
		if due(t.killAt) {
			m.killHard(t)
		}
		if due(t.resendAt) {
			m.forward(t, now)
			due(t.resendAt)
		}
	}
	if !m.closed {
		m.allocate(now)
		m.askBack(now)
	}
	return next.Sub(now)
}
