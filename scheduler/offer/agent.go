package offer

// Agent is what the master knows of an agent, for one role.
type Agent struct {
	// Offer is what could be offered of it now; it has no ID.
	Offer
	// Total is what could be if nothing ran there.
	Total []Part
	// Others is what is reserved for other roles.
	Others Resources
	// Down says why nothing is offered of it: inactive, deactivated or draining; empty if it is in use.
	Down string
}

// Idle returns the offer of the agent if nothing ran there.
func (a Agent) Idle() Offer {
	o := a.Offer
	o.Parts = a.Total
	return o
}

// Minus returns the parts without what is in use of them, and never less than nothing.
func Minus(parts, used []Part) []Part {
	var left []Part
	for _, p := range parts {
		for _, u := range used {
			if u.Reservation == p.Reservation {
				p.Resources = p.Resources.Sub(u.Resources.min(p.Resources))
			}
		}
		left = append(left, p)
	}
	return left
}
