package spec

import (
	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
)

// constraints reads a list of them, nil for null.
func (r *reader) constraints(g group) []offer.Constraint {
	v, found := g.get("constraints")
	if !found || v.kind == nothing {
		return nil
	}
	if v.kind != list {
		r.wrong(v, "want a list, as in [hostname unique]")
		return nil
	}
	var all []offer.Constraint
	for i := range v.items {
		item := v.item(i)
		c, err := offer.ParseConstraint(item.text)
		switch {
		case item.kind != scalar:
			r.wrong(item, offer.ConstraintRule)
		case err != nil:
			r.wrong(item, err.Error())
		default:
			all = append(all, c)
		}
	}
	return all
}

// attributes reads those that agents must have, as they come in MESOS_ATTRIBUTES.
func (r *reader) attributes(flags group) []offer.Constraint {
	v, found := flags.get("attributes")
	if !found {
		return nil
	}
	all, err := offer.Attributes(v.text)
	if err != nil {
		v.path += ", MESOS_ATTRIBUTES" // which may have been set for an agent
		r.wrong(v, err.Error())
	}
	return all
}

func placement(n *node) (string, string) {
	switch {
	case n.kind == scalar && n.text == "pack":
		return "", ""
	case n.kind == scalar && n.text == cluster.PlacementSpread:
		return n.text, ""
	}
	return "", "want spread or pack"
}
