package local

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/offer"
)

const (
	refuseDefault = 5 * time.Second
	refuseMax     = 365 * 24 * time.Hour
)

// What an offer has at least, one or the other.
var (
	allocatableCPU = offer.FromFloat(0.01)
	allocatableMem = offer.FromFloat(32)
)

// openOffer is an offer without an answer.
type openOffer struct {
	id        string
	framework *framework
	role      string
	resources offer.Resources
}

// filter holds back offers to a role that are no more than what it refused.
type filter struct {
	role    string
	refused offer.Resources
	until   time.Time
}

// free is what is neither in use nor offered. Devices that are withheld are in use.
func (m *Mesos) free() offer.Resources {
	free := m.total
	for _, t := range m.tasks {
		if !t.ended {
			free = free.Sub(t.resources)
		}
	}
	free.GPUs = offer.FromFloat(float64(m.devices.idle()))
	for _, o := range m.offers {
		free = free.Sub(o.resources)
	}
	return free
}

// allocate offers all that is free to the one that has waited longest for an offer.
func (m *Mesos) allocate(now time.Time) {
	free := m.free()
	if free.CPUs < allocatableCPU && free.Mem < allocatableMem {
		return
	}
	f, role := m.nextToOffer(free, now)
	if f == nil {
		return
	}
	m.turn++
	f.turns[role] = m.turn
	o := &openOffer{id: fmt.Sprintf("%s-O%d", m.id, m.sequence.offer), framework: f, role: role, resources: free}
	m.sequence.offer++
	m.offers[o.id] = o
	m.send(f, &scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{Offers: []mesos.Offer{m.message(o)}}})
}

func (m *Mesos) nextToOffer(free offer.Resources, now time.Time) (next *framework, nextRole string) {
	for _, id := range slices.Sorted(maps.Keys(m.frameworks)) {
		f := m.frameworks[id]
		if f.stream == nil || m.total.GPUs > 0 && !f.can(mesos.FrameworkInfo_Capability_GPU_RESOURCES) {
			continue
		}
		for _, role := range f.roles {
			if f.suppressed[role] || f.filtered(role, free, now) {
				continue
			}
			if next == nil || f.turns[role] < next.turns[nextRole] {
				next, nextRole = f, role
			}
		}
	}
	return next, nextRole
}

func (f *framework) filtered(role string, free offer.Resources, now time.Time) bool {
	return slices.ContainsFunc(f.filters, func(r filter) bool {
		return r.role == role && r.until.After(now) && r.refused.Contains(free)
	})
}

func (f *framework) forgetFilters(due func(time.Time) bool) {
	f.filters = slices.DeleteFunc(f.filters, func(r filter) bool { return due(r.until) })
}

// refuse remembers what f does not want, for at least the given time.
func (f *framework) refuse(role string, refused offer.Resources, filters *mesos.Filters, atLeast time.Duration) {
	if wait := max(filterTime(filters), atLeast); wait > 0 {
		f.filters = append(f.filters, filter{role, refused, time.Now().Add(wait)})
	}
}

// filterTime is how long the filters of a call hold.
func filterTime(filters *mesos.Filters) time.Duration {
	if filters != nil && filters.RefuseSeconds != nil && *filters.RefuseSeconds >= 0 { // neither negative nor NaN
		return min(seconds(*filters.RefuseSeconds), refuseMax)
	}
	return refuseDefault
}

// decline ignores offers that are gone, which is no fault of the framework.
func (m *Mesos) decline(f *framework, call *scheduler.Call_Decline) {
	for _, id := range call.OfferIDs {
		if o := m.offers[id.Value]; o != nil && o.framework == f {
			delete(m.offers, o.id)
			f.refuse(o.role, o.resources, call.Filters, m.timing.refuseMin)
		}
	}
}

// revive and suppress do nothing at all if one of the roles is none of f's.
func (f *framework) revive(roles []string) {
	roles, ok := f.named(roles)
	if !ok {
		return
	}
	for _, role := range roles {
		delete(f.suppressed, role)
	}
	f.filters = slices.DeleteFunc(f.filters, func(r filter) bool { return slices.Contains(roles, r.role) })
	f.askAgain = time.Time{}
}

func (f *framework) suppress(roles []string) {
	roles, ok := f.named(roles)
	if !ok {
		return
	}
	for _, role := range roles {
		f.suppressed[role] = true
	}
}

// named returns the roles of a call: none means all.
func (f *framework) named(roles []string) (all []string, ok bool) {
	if len(roles) == 0 {
		return f.roles, true
	}
	for _, role := range roles {
		if !slices.Contains(f.roles, role) {
			return nil, false
		}
	}
	return roles, true
}

// dropOffers forgets the offers of f, without RESCIND as on a real master.
func (m *Mesos) dropOffers(f *framework) {
	m.dropInverse(f)
	maps.DeleteFunc(m.offers, func(_ string, o *openOffer) bool { return o.framework == f })
}

// message is the offer as the API has it.
func (m *Mesos) message(o *openOffer) mesos.Offer {
	out := mesos.Offer{
		ID: mesos.OfferID{Value: o.id}, FrameworkID: mesos.FrameworkID{Value: o.framework.id}, AgentID: mesos.AgentID{Value: m.agentID},
		Hostname: "localhost", URL: m.agentURL(), Unavailability: m.maintenance.planned,
	}
	if o.framework.can(mesos.FrameworkInfo_Capability_MULTI_ROLE) {
		out.AllocationInfo = &mesos.Resource_AllocationInfo{Role: &o.role}
	}
	r := o.resources
	for _, scalar := range []struct {
		name   string
		amount offer.Milli
	}{{"cpus", r.CPUs}, {"mem", r.Mem}, {"disk", r.Disk}, {"gpus", r.GPUs}} {
		if scalar.amount <= 0 {
			continue
		}
		resource := mesos.Resource{Name: scalar.name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: scalar.amount.Float()}, AllocationInfo: out.AllocationInfo}
		if !o.framework.can(mesos.FrameworkInfo_Capability_RESERVATION_REFINEMENT) {
			unreserved := "*"
			resource.Role = &unreserved
		}
		out.Resources = append(out.Resources, resource)
	}
	for _, name := range slices.Sorted(maps.Keys(m.config.Attributes)) {
		out.Attributes = append(out.Attributes, mesos.Attribute{Name: name, Type: mesos.TEXT, Text: &mesos.Value_Text{Value: m.config.Attributes[name]}})
	}
	return out
}

func (m *Mesos) agentURL() *mesos.URL {
	path := "/slave(1)"
	return &mesos.URL{Scheme: "http", Address: m.address(), Path: &path}
}

func (m *Mesos) address() mesos.Address {
	_, text, _ := net.SplitHostPort(m.Addr()) // the address of a TCP listener has a port
	port, _ := strconv.Atoi(text)
	hostname, ip := "localhost", "127.0.0.1"
	return mesos.Address{Hostname: &hostname, IP: &ip, Port: int32(port)}
}
