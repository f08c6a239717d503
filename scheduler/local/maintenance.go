package local

import (
	"fmt"
	"maps"
	"slices"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// maintenance is what is planned for the machine.
type maintenance struct {
	planned *mesos.Unavailability        // nil: nothing
	asked   map[mesos.OfferID]*framework // inverse offers without an answer
}

// Maintain plans maintenance of the agent's machine, as an operator of a real
// master does by its operator API: offers are taken back and made anew with the
// time in which the machine is away, and frameworks that use it get inverse
// offers. A zero start ends the plan.
func (m *Mesos) Maintain(start time.Time, duration time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.settle()
	for _, id := range slices.Sorted(maps.Keys(m.offers)) {
		o := m.offers[id]
		delete(m.offers, id)
		m.send(o.framework, &scheduler.Event{Type: scheduler.Event_RESCIND, Rescind: &scheduler.Event_Rescind{OfferID: mesos.OfferID{Value: id}}})
	}
	for id, f := range m.maintenance.asked {
		m.send(f, &scheduler.Event{Type: scheduler.Event_RESCIND_INVERSE_OFFER, RescindInverseOffer: &scheduler.Event_RescindInverseOffer{InverseOfferID: id}})
	}
	clear(m.maintenance.asked)
	for _, f := range m.frameworks {
		f.askAgain = time.Time{}
	}
	m.maintenance.planned = nil
	if !start.IsZero() {
		m.maintenance.planned = &mesos.Unavailability{
			Start: mesos.TimeInfo{Nanoseconds: start.UnixNano()}, Duration: &mesos.DurationInfo{Nanoseconds: int64(duration)},
		}
	}
}

// askBack makes inverse offers to those who use the machine, or are offered it,
// and have not said lately what they think of that.
func (m *Mesos) askBack(now time.Time) {
	if m.maintenance.planned == nil {
		return
	}
	uses := map[*framework]bool{}
	for _, t := range m.tasks {
		uses[t.framework] = uses[t.framework] || !t.ended
	}
	for _, o := range m.offers {
		uses[o.framework] = true
	}
	for _, f := range m.maintenance.asked {
		uses[f] = false
	}
	for _, id := range slices.Sorted(maps.Keys(m.frameworks)) {
		f := m.frameworks[id]
		if !uses[f] || f.stream == nil || f.askAgain.After(now) {
			continue
		}
		inverse := mesos.InverseOffer{
			OfferID: mesos.OfferID{Value: fmt.Sprintf("%s-O%d", m.id, m.sequence.offer)}, FrameworkID: mesos.FrameworkID{Value: id},
			AgentID: &mesos.AgentID{Value: m.agentID}, Unavailability: *m.maintenance.planned, URL: m.agentURL(),
		}
		m.sequence.offer++
		m.maintenance.asked[inverse.OfferID] = f
		m.send(f, &scheduler.Event{Type: scheduler.Event_INVERSE_OFFERS, InverseOffers: &scheduler.Event_InverseOffers{InverseOffers: []mesos.InverseOffer{inverse}}})
	}
}

// answerInverse takes the answer to inverse offers, yes or no: either way the
// framework is asked again when the time of its filter is over.
func (m *Mesos) answerInverse(f *framework, ids []mesos.OfferID, filters *mesos.Filters) {
	for _, id := range ids {
		if m.maintenance.asked[id] == f {
			delete(m.maintenance.asked, id)
			f.askAgain = time.Now().Add(filterTime(filters))
		}
	}
}

// dropInverse forgets the inverse offers of f, which is no longer there to answer.
func (m *Mesos) dropInverse(f *framework) {
	f.askAgain = time.Time{}
	maps.DeleteFunc(m.maintenance.asked, func(_ mesos.OfferID, asked *framework) bool { return asked == f })
}
