//go:build integration

package placement_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	mesosrig "tfmesos/integration/mesos"
)

// agent starts a Mesos with one agent of these resources and attributes.
func agent(t *testing.T, resources, attributes string) *mesosrig.Rig {
	t.Helper()
	return mesosrig.Start(t, mesosrig.WithResources(resources), mesosrig.WithAttributes(attributes), mesosrig.WithAgentEnv("PATH="+os.Getenv("PATH")))
}

func TestManyTasksOfOneAgentAreLaunchedWithOneCall(t *testing.T) {
	rig := agent(t, "cpus:4;mem:8192", "")
	r := start(t, rig.Master(), "jobs: [{name: worker, num: 200, cpus: 0.01, mem: 32, command: sleep 1000}]", "-v")
	r.awaits(`all 200 tasks ready`)
	if n := len(rig.Tasks(t)); n < 200 {
		t.Errorf("%d processes of tasks run, want 200 at least", n)
	}
	text, _ := r.stderr.said()
	if n := len(regexp.MustCompile(`call=cluster\.Accept`).FindAllString(text, -1)); n != 1 {
		t.Errorf("200 tasks are launched with %d ACCEPTs, want 1", n)
	}
	r.stop()
}

func TestTasksRunOnlyWhereTheConstraintsAllow(t *testing.T) {
	rig := agent(t, "cpus:4;mem:4096", "rack:109;os:debian 12;ids:[1-3,7-9];zone:dc1:r7")
	const spec = "jobs: [{name: worker, cpus: 0.1, mem: 32, command: 'true'%s}]\ndeadlines: {resources: 2s}\n"
	for _, c := range []struct{ constraints, attributes, refused string }{
		{`["rack == 109.0", "os == debian 12", "os like debian.*", "zone unlike a"]`, "rack:109;zone:dc1:r7,ids:[2-3,8]", ""},
		{`[gone unlike x]`, "ids:8", ""},
		{`[hostname == localhost]`, "", ""},
		{`["rack == 110"]`, "", "worker:0 waits: 1 offer: 1 rack is not 110"},
		{`["rack like 1[1-9]."]`, "", "1 rack is not like 1[1-9]."},
		{`[os unlike debian12]`, "", "1 os is like debian12"},
		{`[gone unique]`, "", "1 gone is missing"},
		{`[]`, "zone:dc1", "1 zone is not dc1"},
		{`[]`, "rack:109,ids:4", "1 ids is not 4"},
	} {
		r := start(t, rig.Master(), strings.Replace(spec, "%s", ", constraints: "+c.constraints, 1), "--attributes", c.attributes)
		if c.attributes != "" {
			r.awaits(regexp.QuoteMeta("only agents with MESOS_ATTRIBUTES=" + c.attributes + " get tasks"))
		}
		if c.refused == "" {
			r.ends(0)
			continue
		}
		if last := r.ends(3); !strings.Contains(last, c.refused) {
			t.Errorf("%s, %s: the run ends with %q, want it to say %q", c.constraints, c.attributes, last, c.refused)
		}
	}
}

func TestASpecWithConstraintsRunsOnOneMachine(t *testing.T) {
	r := start(t, "", "constraints: [rack == r1]\njobs: [{name: worker, num: 2, command: 'true', constraints: [hostname unique]}]", "--attributes", "what is this")
	r.awaits("constraints do not count on one machine")
	r.ends(0)
}

func TestTwoThatNeedMoreThanHalfRunOneAfterTheOther(t *testing.T) {
	rig := agent(t, "cpus:10;mem:4096", "")
	first := start(t, rig.Master(), "jobs: [{name: worker, num: 3, cpus: 2, mem: 32, command: sleep 1000}]")
	first.awaits("all 3 tasks ready")
	second := start(t, rig.Master(), "jobs: [{name: worker, num: 3, cpus: 2, mem: 32, command: 'true'}]")
	second.awaits("waits: 1 offer: 1 with room, but not for all tasks at once")
	first.stop()
	second.ends(0)
}

func TestAWaitingTaskSaysWhyInStatusAndRedis(t *testing.T) {
	rig := agent(t, "cpus:2;mem:1024", "rack:r1")
	r := start(t, rig.Master(), "jobs: [{name: worker, num: 2, cpus: 1.5, mem: 32, command: 'true'}, {name: ps, mem: 4096, constraints: [rack == r1]}]")
	url := r.awaits(`redis-cli -u (\S+) `)[1]
	r.awaits(`ps:0 +waits: 1 offer`)
	want := map[string]string{"ps:0": "too little mem (largest 1024 of 4096)", "worker:1": "with room, but not for all tasks at once"}
	for _, task := range r.status().Tasks {
		text, short := want[task.Task]
		switch {
		case task.Waiting == nil || task.Waiting.Offers != 1 || task.Waiting.Since == nil || task.Waiting.LastOfferAt == nil:
			t.Errorf("%s waits as in %+v, want one offer with its time", task.Task, task.Waiting)
		case short && (len(task.Waiting.Reasons) != 1 || task.Waiting.Reasons[0].Text != text || task.Waiting.Reasons[0].Count != 1):
			t.Errorf("%s waits for %+v, want %q", task.Task, task.Waiting.Reasons, text)
		case !short && len(task.Waiting.Reasons) > 0:
			t.Errorf("%s has a place, and says %+v", task.Task, task.Waiting.Reasons)
		}
	}
	fields := inRedis(t, url, "HGETALL", "tfmesos:{"+r.name+"}:waiting:ps:0")
	for _, line := range []string{"offers\n1\n", "mem\n1 too small, largest 1024 of 4096\n", "since\n20", "last_offer_at\n20"} {
		if !strings.Contains(fields, line) {
			t.Errorf("Redis has of ps:0\n%swant in it %q", fields, line)
		}
	}
	r.stop()
}

func TestWhatIsReservedForTheRoleOrOneAboveItIsUsed(t *testing.T) {
	rig := agent(t, "cpus(lab):1;cpus(lab/ml):1;cpus(other):4;cpus:1;mem(lab/ml):64;mem:64", "")
	r := start(t, rig.Master(), "jobs: [{name: worker, cpus: 3, mem: 128, command: 'true'}]", "--role", "lab/ml")
	r.ends(0)
	r = start(t, rig.Master(), "jobs: [{name: worker, cpus: 3.001, mem: 128, command: 'true'}]\ndeadlines: {resources: 1s}", "--role", "lab/ml")
	if last := r.ends(3); !strings.Contains(last, "too little cpus (largest 3 of 3.001)") {
		t.Errorf("the run ends with %q, want it to say that 3 CPUs can be had", last)
	}
}
