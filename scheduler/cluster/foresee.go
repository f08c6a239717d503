package cluster

import (
	"cmp"
	"slices"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// Foresight is where the tasks of a spec would go, as the agents are now.
type Foresight struct {
	// Agents is how many are in use.
	Agents int
	// Places are in the order of hostnames; empty if not all tasks have one.
	Places []ForeseenPlace
	// Short are the tasks that would wait.
	Short []Shortage
	// Never: not even if nothing else ran would all tasks have a place, and Short says why.
	Never bool
}

// ForeseenPlace is an agent with the tasks that would go there.
type ForeseenPlace struct {
	AgentID, Hostname string
	Tasks             []tf.TaskName
}

// Shortage is why a task would wait.
type Shortage struct {
	Task tf.TaskName
	offer.Refusals
}

// Foresee places the tasks of a spec as placeGang would, if each agent offered what is free of it. Who else waits for it, and
// what quota says, it does not know.
func Foresee(spec *Spec, agents []offer.Agent) Foresight {
	gang := offer.Gang{Constraints: spec.Constraints}
	gpus := false
	for _, name := range spec.TaskNames() {
		ask := askOf(spec.Job(name), name)
		gang.Asks = append(gang.Asks, ask)
		gpus = gpus || ask.Resources.GPUs > 0
	}
	var now, ever []offer.Offer
	for _, a := range agents {
		if a.Down != "" || !gpus && offer.Sum(a.Total).GPUs > 0 { // Mesos hides those with GPUs from who wants none
			continue
		}
		now, ever = append(now, a.Offer), append(ever, a.Idle())
	}
	f := Foresight{Agents: len(now)}
	matching := offer.Match(now, gang)
	if len(matching.Unmet) > 0 {
		offers := now
		if best := offer.Match(ever, gang); len(best.Unmet) > 0 {
			f.Never, matching, offers = true, best, ever
		}
		refusals := offer.Explain(offers, gang, matching.Unmet)
		for _, task := range matching.Unmet {
			f.Short = append(f.Short, Shortage{task, refusals[task]})
		}
	}
	for _, a := range matching.Accepts {
		place := ForeseenPlace{AgentID: a.AgentID, Hostname: a.Hostname}
		for _, task := range a.Tasks {
			place.Tasks = append(place.Tasks, task.Task)
		}
		f.Places = append(f.Places, place)
	}
	slices.SortStableFunc(f.Places, func(a, b ForeseenPlace) int { return cmp.Compare(a.Hostname, b.Hostname) })
	return f
}
