package offer

// Part is what of an offer has one reservation.
type Part struct {
	// Reservation names it for whoever reads offers and launches tasks; this package only hands it on. Empty: reserved
	// for nobody.
	Reservation string
	Resources   Resources
}

// merge adds parts to those there are, what is reserved first: what is not is of use to others too.
func merge(parts, more []Part) []Part {
	for _, m := range more {
		known := false
		for i := range parts {
			if known = parts[i].Reservation == m.Reservation; known {
				parts[i].Resources = parts[i].Resources.Add(m.Resources)
				break
			}
		}
		switch {
		case known:
		case m.Reservation == "":
			parts = append(parts, m)
		default:
			parts = append([]Part{m}, parts...)
		}
	}
	return parts
}

// take removes what is wanted from the parts, from the first on, and returns what it took of each.
func take(parts []Part, wanted Resources) (taken []Part) {
	for i := range parts {
		some := parts[i].Resources.min(wanted)
		if some == (Resources{}) {
			continue
		}
		parts[i].Resources, wanted = parts[i].Resources.Sub(some), wanted.Sub(some)
		taken = append(taken, Part{parts[i].Reservation, some})
	}
	return taken
}

// Sum returns all parts together.
func Sum(parts []Part) (r Resources) {
	for _, p := range parts {
		r = r.Add(p.Resources)
	}
	return r
}
