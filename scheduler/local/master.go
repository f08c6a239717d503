package local

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/shared/logkey"
)

// maxCompleted is how many ids of removed frameworks the master remembers.
const maxCompleted = 50

// framework is a scheduler that is registered.
type framework struct {
	id         string
	info       *mesos.FrameworkInfo
	roles      []string
	suppressed map[string]bool // roles that want no offers
	filters    []filter
	askAgain   time.Time      // it gets no inverse offer before
	turns      map[string]int // of a role: when it was last offered something
	stream     *stream        // nil while it is disconnected
	removeAt   time.Time      // while it is disconnected: when its time to come back ends
	removed    bool           // its tasks end without anybody hearing of them
}

func (f *framework) can(capability mesos.FrameworkInfo_Capability_Type) bool {
	return slices.ContainsFunc(f.info.Capabilities, func(c mesos.FrameworkInfo_Capability) bool { return c.Type == capability })
}

// subscribe registers a framework or connects it again. What speaks against
// that is said on the stream, except for a master that is closing.
func (m *Mesos) subscribe(sub *scheduler.Call_Subscribe, c codec) (*stream, *framework, *refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, refuse(http.StatusServiceUnavailable, "The local Mesos is closing")
	}
	if elsewhere := m.elsewhere(); elsewhere != nil {
		return nil, nil, elsewhere
	}
	s := newStream(c)
	info := sub.FrameworkInfo
	if problem := m.checkSubscribe(info, sub.SuppressedRoles); problem != "" {
		m.log.Warn("subscription refused", logkey.FrameworkID, info.ID.GetValue(), logkey.Reason, problem)
		s.fail(problem)
		return s, nil, nil
	}
	f := m.register(info, sub.SuppressedRoles)
	if f.stream != nil {
		f.stream.fail("Framework failed over")
	}
	m.dropOffers(f)
	f.stream, f.removeAt = s, time.Time{}
	m.send(f, m.subscribed(f))
	m.send(f, heartbeat())
	for _, t := range m.tasksOf(f) {
		m.resend(t)
	}
	m.settle()
	return s, f, nil
}

func (m *Mesos) checkSubscribe(info *mesos.FrameworkInfo, suppressed []string) string {
	if id := info.ID.GetValue(); slices.Contains(m.completed, id) {
		return "Framework has been removed"
	}
	return checkFramework(info, suppressed)
}

// register finds or makes the framework of info and takes over what it says.
func (m *Mesos) register(info *mesos.FrameworkInfo, suppressed []string) *framework {
	id := info.ID.GetValue()
	f := m.frameworks[id]
	if f == nil {
		if id == "" {
			id = fmt.Sprintf("%s-%04d", m.id, m.sequence.framework)
			m.sequence.framework++
		}
		f = &framework{id: id, turns: map[string]int{}}
		m.frameworks[id] = f
	} else {
		info.User, info.Checkpoint = f.info.User, f.info.Checkpoint // as the first registration said
	}
	info.ID = &mesos.FrameworkID{Value: id}
	if info.Principal == nil {
		info.Principal = &m.config.Principal
	}
	f.update(info, suppressed)
	return f
}

func (f *framework) update(info *mesos.FrameworkInfo, suppressed []string) {
	f.info, f.suppressed = info, map[string]bool{}
	f.roles = []string{info.GetRole()}
	if f.can(mesos.FrameworkInfo_Capability_MULTI_ROLE) {
		f.roles = slices.Sorted(slices.Values(info.Roles))
	}
	for _, role := range suppressed {
		f.suppressed[role] = true
	}
}

// updateFramework returns what speaks against the call, or "".
func (m *Mesos) updateFramework(f *framework, call *scheduler.Call_UpdateFramework) string {
	info := call.FrameworkInfo
	if problem := checkFramework(&info, call.SuppressedRoles); problem != "" {
		return "Supplied FrameworkInfo is not valid: " + problem
	}
	const notValid = "FrameworkInfo update is not valid: "
	const unsupported = notValid + "Updating 'FrameworkInfo.%s' is unsupported; attempted to update from '%v' to '%v'"
	switch {
	case info.GetPrincipal() != f.info.GetPrincipal():
		return notValid + "Changing framework's principal is not allowed."
	case info.User != f.info.User:
		return fmt.Sprintf(unsupported, "user", f.info.User, info.User)
	case info.GetCheckpoint() != f.info.GetCheckpoint():
		return fmt.Sprintf(unsupported, "checkpoint", f.info.GetCheckpoint(), info.GetCheckpoint())
	}
	f.update(&info, call.SuppressedRoles)
	return ""
}

func (m *Mesos) subscribed(f *framework) *scheduler.Event {
	interval := m.config.HeartbeatInterval.Seconds()
	return &scheduler.Event{Type: scheduler.Event_SUBSCRIBED, Subscribed: &scheduler.Event_Subscribed{
		FrameworkID: &mesos.FrameworkID{Value: f.id}, HeartbeatIntervalSeconds: &interval, MasterInfo: m.masterInfo(),
	}}
}

func (m *Mesos) masterInfo() *mesos.MasterInfo {
	address := m.address()
	port := uint32(address.Port)
	pid, version := "master@"+m.Addr(), "1.11.0"
	return &mesos.MasterInfo{
		ID:   m.id,
		IP:   binary.LittleEndian.Uint32([]byte{127, 0, 0, 1}), // network order, read as the hosts we know do
		Port: &port, PID: &pid, Hostname: address.Hostname, Version: &version, Address: &address,
		Capabilities: []mesos.MasterInfo_Capability{
			{Type: mesos.MasterInfo_Capability_AGENT_UPDATE}, {Type: mesos.MasterInfo_Capability_AGENT_DRAINING},
			{Type: 3}, // QUOTA_V2, as ClusterD says; mesos-go does not know its name
		},
	}
}

// disconnect is told when the stream s has ended. If another one has taken
// over, or there never was a framework, that changes nothing.
func (m *Mesos) disconnect(f *framework, s *stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f == nil || f.stream != s {
		return
	}
	f.stream, f.filters = nil, nil
	m.dropOffers(f)
	timeout := seconds(f.info.GetFailoverTimeout())
	m.log.Debug("framework disconnected", logkey.FrameworkID, f.id, logkey.Wait, timeout)
	if timeout == 0 {
		m.remove(f, "it has no failover timeout")
	} else {
		f.removeAt = time.Now().Add(timeout)
	}
	m.settle()
}

// remove ends a framework: its tasks are killed, and nobody hears of their end.
func (m *Mesos) remove(f *framework, why string) {
	m.log.Debug("framework removed", logkey.FrameworkID, f.id, logkey.Reason, why)
	m.dropOffers(f)
	if f.stream != nil {
		f.stream.box.close()
	}
	f.stream, f.removed = nil, true
	delete(m.frameworks, f.id)
	m.completed = append(m.completed, f.id)
	if len(m.completed) > maxCompleted {
		m.completed = m.completed[1:]
	}
	for _, t := range m.tasksOf(f) {
		if t.ended {
			delete(m.tasks, t.key())
			continue
		}
		t.updates, t.resendAt = nil, time.Time{}
		m.kill(t, time.Now().Add(t.grace(nil)))
	}
}

// tasksOf returns the tasks of f in the order of their ids.
func (m *Mesos) tasksOf(f *framework) (tasks []*task) {
	for _, t := range m.tasks {
		if t.framework == f {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(a, b *task) int { return cmp.Compare(a.id(), b.id()) })
	return tasks
}

// maxSeconds is the longest time of the API.
const maxSeconds = float64(math.MaxInt64) / float64(time.Second)

// seconds converts a duration of the API. As a real master does, it takes
// what is no time at all for none.
func seconds(v float64) time.Duration {
	if !(v > 0) { // NaN too
		return 0
	}
	return time.Duration(min(v*float64(time.Second), math.MaxInt64/2))
}
