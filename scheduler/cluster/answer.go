package cluster

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/backoff"
)

const (
	// reviveEvery is the least time between two REVIVEs.
	reviveEvery = time.Second
	// suppressAgain is how long offers may come after a SUPPRESS before it is taken for lost.
	suppressAgain = 5 * time.Second
	// refuseUseless is for offers that hold nothing that waits, in seconds. What an agent has more than that comes through.
	refuseUseless = 120.0
	// refuseLong is for offers that nobody waits for, in seconds; a REVIVE clears it.
	refuseLong = 3600.0
)

var (
	// holdFor is how long an offer is kept while the rest of the gang's place is missing: 8 to 16 s.
	holdFor = backoff.Policy{First: 16 * time.Second, Max: 16 * time.Second}
	// refuseFor is how long Mesos is to offer it to others then: 3 to 6 s. That is less than a hold, so that parts of a place
	// that come one after the other meet. Both differ from gang to gang: of two that hold half a place each, one lets go
	// while the other holds on, or both do and one asks again first.
	refuseFor = backoff.Policy{First: 6 * time.Second, Max: 6 * time.Second}
	// watchFor is how long no offer may come before one more REVIVE: 15 to 30 s at first.
	watchFor = backoff.Policy{First: 30 * time.Second, Max: 5 * time.Minute, Factor: 2}
)

// fraction draws a number from [0, 1): another one each time, and others in each process.
func (d *decider) fraction() float64 {
	d.Draws++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", d.Draws, d.Settings.Secret))
	return (float64(sum[0]) + float64(sum[1])/256) / 256
}

// offered keeps new offers; placeGang answers them.
func (d *decider) offered(ev Offered) {
	until := d.now.Add(holdFor.Delay(0, d.fraction()))
	d.SeenAt = d.now
	type source struct{ agent, role string }
	fresh := map[source]bool{}
	held := map[string]bool{}
	for _, o := range d.Offers {
		held[o.ID] = true
	}
	for _, o := range ev.Offers {
		fresh[source{o.AgentID, o.Role}] = true
	}
	d.Seen = slices.DeleteFunc(d.Seen, func(o offer.Offer) bool { return fresh[source{o.AgentID, o.Role}] && !held[o.ID] })
	for _, o := range ev.Offers {
		if held[o.ID] {
			continue
		}
		held[o.ID] = true
		d.Offers = append(d.Offers, HeldOffer{Offer: o, Until: until})
		d.Seen = append(d.Seen, o)
	}
	d.watch()
	if len(d.waiting()) == 0 {
		d.Seen = nil
		if !d.now.Before(d.SuppressAt.Add(suppressAgain)) {
			d.Suppress = false
		}
	}
}

func (d *decider) rescinded(ev Rescinded) {
	d.Offers = slices.DeleteFunc(d.Offers, func(o HeldOffer) bool { return o.ID == ev.OfferID })
}

// expire gives back what has been held long enough for others to have their turn.
func (d *decider) expire() {
	var ids []string
	d.Offers = slices.DeleteFunc(d.Offers, func(o HeldOffer) bool {
		old := !d.now.Before(o.Until)
		if old {
			ids = append(ids, o.ID)
		}
		return old
	})
	d.declineForOthers(ids)
}

// release gives back what a gang that does not fit yet has no use for now.
func (d *decider) release(m offer.Matching) {
	d.Offers = slices.DeleteFunc(d.Offers, func(o HeldOffer) bool { return !slices.Contains(m.Holds, o.ID) })
	d.decline(m.Useless, refuseUseless)
	d.declineForOthers(m.Spares)
}

func (d *decider) declineForOthers(ids []string) {
	if len(ids) > 0 {
		d.decline(ids, refuseFor.Delay(0, d.fraction()).Seconds())
	}
}

func (d *decider) decline(ids []string, seconds float64) {
	if len(ids) > 0 {
		d.call(Decline{OfferIDs: ids, RefuseSeconds: seconds})
	}
}

func (d *decider) declineAll(seconds float64) {
	ids := make([]string, 0, len(d.Offers))
	for _, o := range d.Offers {
		ids = append(ids, o.ID)
	}
	d.Offers = nil
	d.decline(ids, seconds)
}

func (d *decider) suppress() {
	if d.Connected && !d.Suppress {
		d.Suppress, d.SuppressAt, d.WatchAt = true, d.now, time.Time{}
		d.call(Suppress{})
	}
}

// watch sets the time at which a silence is taken for a lost REVIVE.
func (d *decider) watch() { d.WatchAt = d.now.Add(watchFor.Delay(d.Watches, d.fraction())) }

// revive asks for offers, if something waits that they may be held back from.
func (d *decider) revive() {
	due := d.reviveDue()
	if due.IsZero() || d.now.Before(due) {
		return
	}
	if !d.Suppress && !d.Filtered {
		d.Watches++
	}
	d.Suppress, d.Filtered, d.ReviveAt = false, false, d.now.Add(reviveEvery)
	d.watch()
	d.call(Revive{})
}

// reviveDue is when the next REVIVE is to be sent; zero if none is.
func (d *decider) reviveDue() time.Time {
	switch {
	case !d.Connected || d.Phase == PhaseEnding || len(d.waiting()) == 0:
		return time.Time{}
	case d.Suppress, d.Filtered:
		return latest(d.ReviveAt, d.StartedAt) // not zero
	case d.WatchAt.IsZero():
		return time.Time{}
	}
	return latest(d.WatchAt, d.ReviveAt)
}
