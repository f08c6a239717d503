//go:build integration

package placement_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	mesosrig "tfmesos/integration/mesos"
)

// onHosts starts agents on hosts of their own, with 2 CPUs each.
func onHosts(t *testing.T, attributes map[string]string) *mesosrig.Rig {
	t.Helper()
	options := []mesosrig.Option{mesosrig.WithResources("cpus:2;mem:8192"), mesosrig.WithAgentEnv("PATH=" + os.Getenv("PATH"))}
	for _, ip := range slices.Sorted(maps.Keys(attributes)) {
		options = append(options, mesosrig.WithAgent(mesosrig.AgentConfig{IP: ip, Attributes: attributes[ip]}))
	}
	return mesosrig.Start(t, options...)
}

// threeAgents are in two zones.
func threeAgents(t *testing.T) *mesosrig.Rig {
	t.Helper()
	return onHosts(t, map[string]string{"127.0.0.2": "rack:r1;zone:a", "127.0.0.3": "rack:r2;zone:a", "127.0.0.4": "rack:r3;zone:b"})
}

// perHost counts the tasks of a run at each host.
func (r *run) perHost() map[string]int {
	r.Helper()
	hosts := map[string]int{}
	for _, task := range r.status().Tasks {
		hosts[task.Hostname]++
	}
	return hosts
}

func TestTasksAreWhereTheSpecWantsThem(t *testing.T) {
	rig := threeAgents(t)
	const two, three, four = "127.0.0.2", "127.0.0.3", "127.0.0.4"
	for _, c := range []struct {
		spec string
		want map[string]int // nil: some one host
	}{
		{"jobs: [{name: worker, num: 3}]", nil},
		{"placement: spread\njobs: [{name: worker, num: 3}]", map[string]int{two: 1, three: 1, four: 1}},
		{"jobs: [{name: worker, num: 3, constraints: [hostname unique]}]", map[string]int{two: 1, three: 1, four: 1}},
		{"constraints: [rack == r2]\njobs: [{name: worker, num: 3}]", map[string]int{three: 3}},
		{"constraints: [zone unique]\njobs: [{name: worker}, {name: chief, constraints: [rack like r1|r3]}]", nil},
		{"jobs: [{name: worker, num: 3, constraints: [zone max_per 2, rack unlike r1]}]", map[string]int{three: 2, four: 1}},
		{"placement: spread\njobs: [{name: worker, num: 4, cpus: 1, constraints: ['rack like r[12]']}]", map[string]int{two: 2, three: 2}},
	} {
		spec := strings.NewReplacer("name: worker", "name: worker, mem: 32", "name: chief", "name: chief, mem: 32").Replace(c.spec)
		if !strings.Contains(spec, "cpus") {
			spec = strings.ReplaceAll(spec, "mem: 32", "mem: 32, cpus: 0.1")
		}
		r := start(t, rig.Master(), "command: 'true'\n"+spec)
		r.ends(0)
		got := r.perHost()
		switch {
		case strings.Contains(spec, "zone unique"):
			if len(got) != 2 || got[four] != 1 {
				t.Errorf("%s: the tasks are on %v, want one in each zone", c.spec, got)
			}
		case strings.Contains(spec, "zone max_per"):
			if got[two] > 0 || got[three] == 0 || got[four] == 0 || got[three] > 2 || got[four] > 2 {
				t.Errorf("%s: the tasks are on %v, want at most two in a zone and none at r1", c.spec, got)
			}
		case c.want == nil && len(got) != 1 || c.want != nil && !maps.Equal(got, c.want):
			t.Errorf("%s: the tasks are on %v, want %v", c.spec, got, c.want)
		}
	}
}

func TestWhatFitsNowhereSaysWhichConstraintIsFull(t *testing.T) {
	rig := threeAgents(t)
	r := start(t, rig.Master(), "jobs: [{name: worker, num: 4, cpus: 0.1, mem: 32, command: 'true', constraints: [hostname unique]}]\ndeadlines: {resources: 4s}")
	if last := r.ends(3); !strings.Contains(last, "3 offers: 3 hostname has 1 already") {
		t.Errorf("four tasks for three hosts end with %q", last)
	}
	out := command(t, r.env, 3, "plan", "--master", rig.Master(), r.spec)
	if !strings.Contains(out, "can never start here") || !strings.Contains(out, "3 agents: 3 hostname has 1 already") {
		t.Errorf("plan of four tasks for three hosts says\n%s", out)
	}
}

func TestEachAgentIsAskedOnceForAllItsTasks(t *testing.T) {
	rig := threeAgents(t)
	r := start(t, rig.Master(), "placement: spread\njobs: [{name: worker, num: 200, cpus: 0.01, mem: 32, command: sleep 1000}]", "-v")
	r.awaits(`all 200 tasks ready`)
	hosts := r.perHost()
	if counts := slices.Sorted(maps.Values(hosts)); !slices.Equal(counts, []int{66, 67, 67}) {
		t.Errorf("200 tasks are spread as %v over three hosts", hosts)
	}
	text, _ := r.stderr.said()
	if n := len(regexp.MustCompile(`call=cluster\.Accept`).FindAllString(text, -1)); n != 3 {
		t.Errorf("they are launched with %d ACCEPTs, want one for each agent", n)
	}
	r.stop()
}

// TestGangsThatHoldHalfOfWhatEachNeedsBothRun lets two wait for what a third one has. When that ends, Mesos gives each of them an agent,
// and each needs both.
func TestGangsThatHoldHalfOfWhatEachNeedsBothRun(t *testing.T) {
	rig := onHosts(t, map[string]string{"127.0.0.2": "", "127.0.0.3": ""})
	before := start(t, rig.Master(), "jobs: [{name: worker, num: 4, cpus: 1, mem: 32, command: sleep 1000}]")
	before.awaits("all 4 tasks ready")
	var runs []*run
	for range 2 {
		r := start(t, rig.Master(), "jobs: [{name: worker, num: 3, cpus: 1, mem: 32, command: 'true'}]", "-v")
		r.awaits(`waits: 2 offers: 2 too little cpus`)
		runs = append(runs, r)
	}
	before.stop()
	for _, r := range runs {
		r.ends(0)
	}
}
