package offer

import (
	"fmt"
	"slices"
	"strings"
)

// explain says what an ask that found no place lacks: for each resource that is short everywhere it looked, how much
// the best place has of it. Places count with what the gang's other tasks have left of them.
func explain(places []place, ask Ask) string {
	if len(places) == 0 {
		return "no agent has offered anything"
	}
	var short []string
	for i, wanted := range ask.Resources.dimensions() {
		var largest, whole Milli
		enough := false
		for _, p := range places {
			free := p.free.dimensions()[i].amount
			largest, whole = max(largest, free), max(whole, p.whole.dimensions()[i].amount)
			enough = enough || free >= wanted.amount
		}
		switch {
		case enough:
		case whole < wanted.amount:
			short = append(short, fmt.Sprintf("no agent offers %s %s (largest %s)", wanted.name, wanted.amount, whole))
		default:
			short = append(short, fmt.Sprintf("no agent has %s %s left beside the other tasks (largest %s)", wanted.name, wanted.amount, largest))
		}
	}
	if len(short) == 0 {
		what := "at once"
		if slices.ContainsFunc(places, func(p place) bool { return p.whole.Contains(ask.Resources) }) {
			what = "left beside the other tasks"
		}
		short = append(short, fmt.Sprintf("no single agent has %s %s", ask.Resources, what))
	}
	return fmt.Sprintf("%s; %d %s looked at", strings.Join(short, ", "), len(places), plural(len(places), "agent"))
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
