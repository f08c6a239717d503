//go:build integration

package blackbox_test

import (
	"net"
	"os"
	"testing"
	"time"

	mesosrig "tfmesos/integration/mesos"
)

func TestNoResourcesBeforeTheDeadlineIsExitCode3(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		spec := write(t, "gpus.yaml", "jobs: [{name: worker, gpus: 1, command: 'true'}]\ndeadlines: {resources: 1s}\n", 0o600)
		p.start(t, spec).ends(3, "gpu")
	})
}

func TestTheDeadlineOfTheRunIsExitCode124(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		spec := write(t, "slow.yaml", "jobs: [{name: worker, num: 2, command: sleep 1000}]\ndeadlines: {run: 1s}\n", 0o600)
		r := p.start(t, spec)
		r.awaits("all 2 tasks ready")
		r.endsInTime(time.Now().Add(time.Second), 124, "deadline of 1s")
	})
}

func TestARunWaitsForAMasterThatIsAwayAndSaysSo(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // an address where nobody answers
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	args := []string{"run", "--master", address, "--worker", "1", "--", "true"}
	r := local().launch(t, freshName(), t.TempDir(), args)
	r.awaits("the master is out of reach: .*" + address + ".*connection refused")
	since := time.Now()
	r.ctrlC()
	if code := r.exit(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if took := r.ended.Sub(since); took > slack {
		t.Errorf("the end took %s, though nothing was started", took)
	}
	r.leavesNothing()
}

func TestARunStartsWhenTheMasterComes(t *testing.T) {
	t.Parallel()
	p := onMesos(t, os.Getenv("PATH"))
	p.rig.StopMaster(t, 9)
	r := p.start(t, "--worker", "1", "--", "echo", "late")
	r.awaits("the master is out of reach")
	p.rig.StartMaster(t)
	r.ends(0, "finished")
}

func TestAWrongSecretIsRefused(t *testing.T) {
	t.Parallel()
	credentials := write(t, "credentials", `{"credentials": [{"principal": "user", "secret": "right"}]}`, 0o600)
	p := onMesos(t, os.Getenv("PATH"), mesosrig.WithMasterFlag("authenticate_http_frameworks", "true"),
		mesosrig.WithMasterFlag("http_framework_authenticators", "basic"), mesosrig.WithMasterFlag("credentials", credentials))
	for _, c := range []struct {
		secret string
		code   int
		words  string
	}{{"right", 0, "finished"}, {"wrong", 4, "refuses"}} {
		p.extra = []string{"MESOS_USERNAME=user", "MESOS_PASSWORD=" + c.secret}
		p.start(t, "--worker", "1", "--", "true").ends(c.code, c.words)
	}
}
