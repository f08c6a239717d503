package local

import (
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

func (c *client) inverse() mesos.InverseOffer {
	c.t.Helper()
	for {
		switch event := c.next(); {
		case event == nil:
			c.t.Fatal("the stream has ended, want an inverse offer")
		case event.Type == scheduler.Event_INVERSE_OFFERS:
			return event.InverseOffers.InverseOffers[0]
		case event.Type != scheduler.Event_OFFERS:
			c.t.Fatalf("got %+v, want an inverse offer", event)
		}
	}
}

func (c *client) declineInverse(o mesos.InverseOffer, seconds float64) {
	c.t.Helper()
	c.call(&scheduler.Call{Type: scheduler.Call_DECLINE_INVERSE_OFFERS, DeclineInverseOffers: &scheduler.Call_DeclineInverseOffers{
		InverseOfferIDs: []mesos.OfferID{o.OfferID}, Filters: refuseFor(seconds)}})
}

func TestMaintenanceIsAnnouncedInOffersAndAskedForInInverseOnes(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	stale := c.offer()
	start := time.Now().Add(time.Hour)
	m.Maintain(start, time.Minute)
	if got := c.expect(scheduler.Event_RESCIND).Rescind.OfferID; got != stale.ID {
		t.Errorf("%v is taken back, want %v", got, stale.ID)
	}
	fresh := c.offer()
	if u := fresh.Unavailability; u == nil || u.Start.Nanoseconds != start.UnixNano() || u.Duration.GetNanoseconds() != int64(time.Minute) {
		t.Errorf("the offer says that the machine is away %+v, want a minute from %v on", u, start)
	}
	first := c.inverse()
	c.quiet() // one is open, so there is no other
	c.declineInverse(first, 0)
	second := c.inverse()
	if first.OfferID == second.OfferID {
		t.Error("a new inverse offer has the id of an old one")
	}
	c.declineInverse(second, 3600)
	c.quiet()
	c.call(&scheduler.Call{Type: scheduler.Call_REVIVE})
	third := c.inverse()
	m.Maintain(time.Time{}, 0)
	if got := c.expect(scheduler.Event_RESCIND).Rescind.OfferID; got != fresh.ID {
		t.Errorf("%v is taken back, want %v", got, fresh.ID)
	}
	if got := c.expect(scheduler.Event_RESCIND_INVERSE_OFFER).RescindInverseOffer.InverseOfferID; got != third.OfferID {
		t.Errorf("%v is taken back, want %v", got, third.OfferID)
	}
	if o := c.offer(); o.Unavailability != nil {
		t.Errorf("after the end of the plan the machine is still away %+v", o.Unavailability)
	}
	c.quiet()
}

func TestWhoUsesNothingIsNotAskedToLeave(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	c.decline(c.offer(), 3600)
	m.Maintain(time.Now(), time.Minute)
	c.quiet()
}
