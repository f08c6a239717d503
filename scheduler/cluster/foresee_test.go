package cluster

import (
	"fmt"
	"strings"
	"testing"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// agentOf has cpus, some of them free, and mem for all; gpus and down may be none.
func agentOf(name string, free, total, gpus float64, down string) offer.Agent {
	parts := func(cpus float64) []offer.Part {
		return []offer.Part{{Resources: offer.Resources{CPUs: offer.FromFloat(cpus), Mem: 1 << 40, GPUs: offer.FromFloat(gpus)}}}
	}
	return offer.Agent{Offer: offer.Offer{AgentID: name, Hostname: name + ".lab", Parts: parts(free)}, Total: parts(total), Down: down}
}

func TestWhatWouldHappenIsForeseen(t *testing.T) {
	agents := []offer.Agent{agentOf("b", 1, 4, 0, ""), agentOf("a", 2, 2, 0, ""), agentOf("gpu", 64, 64, 2, ""), agentOf("off", 64, 64, 0, "draining")}
	for _, c := range []struct {
		workers int
		cpus    float64
		gpus    offer.Milli
		want    string
	}{
		{3, 1, 0, "a.lab 2, b.lab 1"},
		{2, 1, 1000, "gpu.lab 2"},
		{1, 4, 0, "not now: 2 agents: 2 too little cpus (largest 2 of 4)"},
		{7, 1, 0, "never: 2 agents: 2 with room, but not for all tasks at once"},
		{1, 5, 0, "never: 2 agents: 2 too little cpus (largest 4 of 5)"},
		{1, 1, 3000, "never: 3 agents: 3 too little gpus (largest 2 of 3)"},
	} {
		spec := &Spec{Jobs: []Job{{Name: tf.Worker, Num: c.workers, Resources: offer.Resources{CPUs: offer.FromFloat(c.cpus), Mem: 1000, GPUs: c.gpus}}}}
		f := Foresee(spec, agents)
		var places []string
		for _, p := range f.Places {
			places = append(places, fmt.Sprintf("%s %d", p.Hostname, len(p.Tasks)))
		}
		got := strings.Join(places, ", ")
		if len(f.Short) > 0 {
			when := map[bool]string{false: "not now: ", true: "never: "}[f.Never]
			got += when + f.Short[0].Of("agent")
		}
		if got != c.want {
			t.Errorf("%d workers with %g cpus and %s gpus:\ngot  %s\nwant %s", c.workers, c.cpus, c.gpus, got, c.want)
		}
	}
}
