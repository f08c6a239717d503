//go:build integration

package placement_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	mesosrig "tfmesos/integration/mesos"
)

// held starts two runs on one agent: the second holds the offer that has room for one of its two tasks, while the first has the rest.
func held(t *testing.T, options ...mesosrig.Option) (rig *mesosrig.Rig, first, second *run) {
	t.Helper()
	options = append(options, mesosrig.WithResources("cpus:4;mem:4096"), mesosrig.WithAgentEnv("PATH="+os.Getenv("PATH")))
	rig = mesosrig.Start(t, options...)
	first = start(t, rig.Master(), "jobs: [{name: worker, cpus: 2, mem: 32, command: sleep 1000}]")
	first.awaits("all 1 tasks ready")
	second = start(t, rig.Master(), "jobs: [{name: worker, num: 2, cpus: 1.5, mem: 32, command: 'true'}]")
	second.awaits("waits: 1 offer")
	return rig, first, second
}

func TestC35OffersThatTheMasterTakesBackCostNothing(t *testing.T) {
	_, first, second := held(t, mesosrig.WithMasterFlag("offer_timeout", "1secs"))
	begin := second.status().Tasks[1].Waiting.LastOfferAt
	for deadline := time.Now().Add(patience); !second.status().Tasks[1].Waiting.LastOfferAt.After(begin.Add(2 * time.Second)); {
		if time.Now().After(deadline) {
			t.Fatal("no offer comes again")
		}
	}
	first.stop()
	second.ends(0) // the next one may be taken back while it is being used: then the launch is made again
}

func TestC20OffersOfBeforeTheMasterWasRestartedAreNotUsed(t *testing.T) {
	rig, first, second := held(t)
	rig.StopMaster(t, syscall.SIGKILL)
	rig.StartMaster(t)
	for _, r := range []*run{first, second} {
		r.awaits(`(?s)the master is out of reach.* registered with master`)
	}
	first.stop()
	second.ends(0)
	if text, _ := second.stderr.said(); strings.Contains(text, "launching it again") {
		t.Error("a launch went to an offer that was void")
	}
}
