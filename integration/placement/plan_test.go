//go:build integration

package placement_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlanAndAgentsSayWhatTheMasterHas(t *testing.T) {
	rig := agent(t, "cpus:4;mem:1024;cpus(web):2", "rack:r1;ids:[1-3]")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "MESOS_MASTER=" + rig.Master()}
	spec := filepath.Join(t.TempDir(), "spec.yaml")
	plan := func(code int, jobs string, words ...string) {
		t.Helper()
		if err := os.WriteFile(spec, []byte("name: planned\njobs: ["+jobs+"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out := command(t, env, code, "plan", spec)
		for _, word := range words {
			if !strings.Contains(out, word) {
				t.Errorf("plan of %s does not say %q:\n%s", jobs, word, out)
			}
		}
	}
	plan(0, "{name: worker, num: 3, mem: 100, constraints: [rack == r1]}", "worker:0-2")
	plan(3, "{name: worker, num: 5, mem: 100}", "can never start here", "1 agent: 1 with room, but not for all tasks at once; exit code 3")
	plan(3, "{name: worker, mem: 100, constraints: [rack == r2]}", "rack is not r2")
	r := start(t, rig.Master(), "jobs: [{name: worker, num: 3, cpus: 1, mem: 100, command: sleep 1000}]")
	r.awaits("all 3 tasks ready")
	plan(3, "{name: worker, num: 2, mem: 100}", "would wait for resources")
	plan(0, "{name: worker, mem: 100}", "worker:0")
	for _, word := range []string{"localhost  1/4", "724/1024", "rack:r1", "ids:[1-3]", "cpus 2 for other roles"} {
		if out := command(t, env, 0, "agents"); !strings.Contains(out, word) {
			t.Errorf("agents does not say %q:\n%s", word, out)
		}
	}
	if out := command(t, env, 0, "agents", "-o", "json", "--role", "web"); !strings.Contains(out, `"cpus": 3`) {
		t.Errorf("for the role web there are 3 cpus free, agents says\n%s", out)
	}
	r.stop()
}
