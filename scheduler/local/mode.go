package local

import (
	"net/http"
	"time"

	"tfmesos/shared/logkey"
)

// Mode is how a master stands to its peers. The zero value leads.
type Mode struct {
	status int
	text   string
	leader string // host:port, of a standby
}

// What a master can be beside a leader or a standby.
var (
	// Leading answers calls.
	Leading = Mode{}
	// NoLeader waits for an election.
	NoLeader = Mode{status: http.StatusServiceUnavailable, text: "No leader elected"}
	// Recovering leads, and still reads its registry.
	Recovering = Mode{status: http.StatusServiceUnavailable, text: "Master has not finished recovery"}
	// NoRoutes listens, and has not installed its routes yet.
	NoRoutes = Mode{status: http.StatusNotFound}
)

// StandingBy sends everybody to the leader, host:port.
func StandingBy(leader string) Mode {
	return Mode{status: http.StatusTemporaryRedirect, leader: leader}
}

// Become changes how the master stands to its peers; it starts as Leading. Who
// leads no more has ended, for a real master ends itself then, and forgets all
// but what its agent knows: streams break, offers and removed frameworks are
// forgotten, and of the frameworks those without tasks. When it leads again, the
// agent is there at once.
func (m *Mesos) Become(mode Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log.Debug("master changes its mode", logkey.Status, mode.status, logkey.Reason, mode.text)
	if m.mode == Leading && mode != Leading {
		m.forget()
	}
	m.mode = mode
	m.settle()
}

func (m *Mesos) forget() {
	m.id, m.completed = newUUID().String(), nil
	for id, f := range m.frameworks {
		m.dropOffers(f)
		if f.stream != nil {
			f.stream.box.close()
		}
		f.stream, f.filters, f.suppressed, f.removeAt = nil, nil, map[string]bool{}, time.Time{}
		if len(m.tasksOf(f)) == 0 {
			delete(m.frameworks, id)
		}
	}
}

// elsewhere is the answer of a master that does not lead, or nil. m.mu is held.
func (m *Mesos) elsewhere() *refusal {
	if m.mode == Leading {
		return nil
	}
	return &refusal{status: m.mode.status, text: m.mode.text, leader: m.mode.leader}
}
