package mesos

import (
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib"

	"tfmesos/scheduler/offer"
)

// convertOffer keeps of an offer what any task may use. The role is the one the offer is allocated to; without that (a
// master before MULTI_ROLE) it is our own.
func convertOffer(o *mesos.Offer, role string) offer.Offer {
	if allocated := o.GetAllocationInfo().GetRole(); allocated != "" {
		role = allocated
	}
	address := o.GetURL().GetAddress()
	return offer.Offer{
		ID: o.ID.Value, AgentID: o.AgentID.Value, Hostname: o.Hostname, Address: address.GetIP(), Role: role,
		Parts: convertParts(o.Resources, role), Attributes: convertAttributes(o.Attributes),
	}
}

// convertParts sums up what a task of the role may use, by reservation.
func convertParts(resources []mesos.Resource, role string) (parts []offer.Part) {
	for i := range resources {
		r := &resources[i]
		reservation, ok := usable(r, role)
		if !ok {
			continue
		}
		amount := scalar(r.Name, r.Scalar.Value)
		at := -1
		for j := range parts {
			if parts[j].Reservation == reservation {
				at = j
			}
		}
		switch {
		case amount == offer.Resources{}:
		case at < 0:
			parts = append(parts, offer.Part{Reservation: reservation, Resources: amount})
		default:
			parts[at].Resources = parts[at].Resources.Add(amount)
		}
	}
	return parts
}

// usable tells whether a plain task of the role can be given the resource, and under which reservation: nothing that can
// be taken back, is shared, comes from a resource provider, or is a volume or device of its own.
func usable(r *mesos.Resource, role string) (reservation string, ok bool) {
	switch {
	case r.Scalar == nil || r.GetType() != mesos.SCALAR:
		return "", false
	case r.Revocable != nil, r.Shared != nil, r.ProviderID != nil, r.Disk != nil:
		return "", false
	}
	if allocated := r.GetAllocationInfo().GetRole(); allocated != "" && allocated != role {
		return "", false
	}
	return reservationOf(r, role)
}

// reservationOf returns a text that names the reservation, "" if there is none; ok is false if it is not for the role.
// Mesos has two formats, of which a framework without RESERVATION_REFINEMENT gets role and reservation, one with it
// reservations, the last of which counts. What is for a role is for those below it too (Resources::isAllocatableTo).
func reservationOf(r *mesos.Resource, role string) (text string, ok bool) {
	owner := r.GetRole()
	if n := len(r.Reservations); n > 0 {
		owner = r.Reservations[n-1].GetRole()
	}
	if owner == "" || owner == "*" {
		return "", r.Reservation == nil && len(r.Reservations) == 0
	}
	if owner != role && !strings.HasPrefix(role, owner+"/") {
		return "", false
	}
	named := mesos.Resource{Type: mesos.SCALAR.Enum(), Role: r.Role, Reservation: r.Reservation, Reservations: r.Reservations}
	bytes, err := named.Marshal()
	return string(bytes), err == nil
}

// maxScalar is more than any agent has, and far from overflowing offer.Milli.
const maxScalar = 1e12

// scalar returns an amount of one resource; other names than those tasks ask for, and what is no amount, count nothing.
func scalar(name string, value float64) (r offer.Resources) {
	if !(value > 0 && value <= maxScalar) { // NaN too
		return r
	}
	amount := offer.FromFloat(value)
	switch name {
	case "cpus":
		r.CPUs = amount
	case "mem":
		r.Mem = amount
	case "disk":
		r.Disk = amount
	case "gpus":
		r.GPUs = amount
	}
	return r
}

// convertAttributes reads what an agent says of itself. Of an unknown type it says nothing.
func convertAttributes(attributes []mesos.Attribute) (converted []offer.Attribute) {
	for i := range attributes {
		a := &attributes[i]
		out := offer.Attribute{Name: a.Name}
		switch {
		case a.Text != nil:
			if a.Text.Value != "" {
				out.Values = []string{a.Text.Value}
			}
		case a.Scalar != nil:
			out.Values = []string{offer.Number(a.Scalar.Value)}
		case a.Set != nil:
			out.Values = append(out.Values, a.Set.Item...)
		case a.Ranges != nil:
			for _, r := range a.Ranges.Range {
				out.Ranges = append(out.Ranges, offer.Range{Begin: r.Begin, End: r.End})
			}
		}
		converted = append(converted, out)
	}
	return converted
}

// resources are the parts of offers as TaskInfo has them: each with its reservation as it was offered, and allocated to the
// role that the offers were.
func resources(parts []offer.Part, role string) (list []mesos.Resource, err error) {
	for _, part := range parts {
		var reserved mesos.Resource
		if part.Reservation != "" {
			if err := reserved.Unmarshal([]byte(part.Reservation)); err != nil {
				return nil, err
			}
		}
		for _, one := range []struct {
			name   string
			amount offer.Milli
		}{{"cpus", part.Resources.CPUs}, {"mem", part.Resources.Mem}, {"disk", part.Resources.Disk}, {"gpus", part.Resources.GPUs}} {
			if one.amount <= 0 {
				continue
			}
			resource := mesos.Resource{Name: one.name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: one.amount.Float()},
				Role: reserved.Role, Reservation: reserved.Reservation, Reservations: reserved.Reservations}
			if role != "" {
				resource.AllocationInfo = &mesos.Resource_AllocationInfo{Role: &role}
			}
			list = append(list, resource)
		}
	}
	return list, nil
}
