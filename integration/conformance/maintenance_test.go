//go:build integration

package conformance_test

import (
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

var maintenanceStories = []told{
	{"offers-of-a-machine-in-maintenance", offersOfAMachineInMaintenance, both},
	{"inverse-offers", inverseOffers, both},
	{"an-inverse-offer-in-full", anInverseOfferInFull, []codec{protobuf}},
	{"an-inverse-offer-in-full-in-json", anInverseOfferInFull, []codec{jsonText}},
	{"inverse-offers-that-are-unknown", inverseOffersThatAreUnknown, both},
}

// schedule puts the machine into maintenance from the time on, until the story ends.
func (s *story) schedule(start time.Time) {
	s.t.Helper()
	s.master.maintain(s.t, start, time.Hour)
	s.t.Cleanup(func() { s.master.maintain(s.t, time.Time{}, 0) })
}

func offersOfAMachineInMaintenance(s *story) {
	c := s.subscribe(modern)
	c.wholeOffer()
	s.schedule(time.Now().Add(time.Hour))
	c.write(scheduler.Event_RESCIND)
	o := c.offered()
	s.note("for an hour: %v", time.Duration(o.Unavailability.GetDuration().GetNanoseconds()) == time.Hour)
	s.master.maintain(s.t, time.Time{}, 0)
	s.note("after the end of the schedule:")
	c.write(scheduler.Event_RESCIND)
	c.offered()
	c.quiet()
}

func (c *client) inverse() mesos.InverseOffer {
	c.t.Helper()
	event := c.next(scheduler.Event_INVERSE_OFFERS)
	if event == nil {
		c.t.Fatal("the stream ends, want an inverse offer")
	}
	offers := event.InverseOffers.InverseOffers
	c.note("INVERSE_OFFERS: %d", len(offers))
	c.alias("I", offers[0].OfferID.Value)
	return offers[0]
}

// inverseOffers go to who uses the machine.
func inverseOffers(s *story) {
	idle := s.subscribe(modern)
	c := s.subscribe(modern)
	idle.call(&scheduler.Call{Type: scheduler.Call_SUPPRESS})
	for event := idle.next(scheduler.Event_OFFERS); ; event = idle.next(scheduler.Event_OFFERS) {
		idle.decline(event.Offers.Offers[0], 0)
		break
	}
	c.launch("sleep 1000", "one")
	c.acked()
	s.schedule(time.Now().Add(time.Hour))
	first := c.inverse()
	s.note("a second one while it is open, or one for who uses nothing:")
	c.quiet()
	idle.quiet()
	c.call(&scheduler.Call{Type: scheduler.Call_DECLINE_INVERSE_OFFERS, DeclineInverseOffers: &scheduler.Call_DeclineInverseOffers{
		InverseOfferIDs: []mesos.OfferID{first.OfferID}, Filters: refuseFor(0)}})
	second := c.inverse()
	s.note("again, with another id: %v", first.OfferID != second.OfferID)
	c.call(&scheduler.Call{Type: scheduler.Call_ACCEPT_INVERSE_OFFERS, AcceptInverseOffers: &scheduler.Call_AcceptInverseOffers{
		InverseOfferIDs: []mesos.OfferID{second.OfferID}, Filters: refuseFor(0)}})
	s.note("and after it was accepted:")
	third := c.inverse()
	s.master.maintain(s.t, time.Time{}, 0)
	rescinded := c.next(scheduler.Event_RESCIND_INVERSE_OFFER)
	s.note("it is taken back when the schedule ends: %v", rescinded.RescindInverseOffer.InverseOfferID == third.OfferID)
	c.quiet()
}

func anInverseOfferInFull(s *story) {
	c := s.subscribe(modern)
	c.launch("sleep 1000", "one")
	c.acked()
	s.schedule(time.Now().Add(time.Hour))
	event := c.next(scheduler.Event_INVERSE_OFFERS)
	s.alias("I", event.InverseOffers.InverseOffers[0].OfferID.Value)
	s.whole = true
	s.event(event)
	s.whole = false
}

func inverseOffersThatAreUnknown(s *story) {
	c := s.subscribe(modern)
	unknown := []mesos.OfferID{{Value: "x"}}
	status, text := c.try(&scheduler.Call{Type: scheduler.Call_ACCEPT_INVERSE_OFFERS, AcceptInverseOffers: &scheduler.Call_AcceptInverseOffers{InverseOfferIDs: unknown}})
	s.note("ACCEPT_INVERSE_OFFERS: %d %q", status, text)
	status, text = c.try(&scheduler.Call{Type: scheduler.Call_DECLINE_INVERSE_OFFERS, DeclineInverseOffers: &scheduler.Call_DeclineInverseOffers{InverseOfferIDs: unknown}})
	s.note("DECLINE_INVERSE_OFFERS: %d %q", status, text)
	c.quiet()
}
