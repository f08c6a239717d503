package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tfmesos/scheduler/cluster"
)

func TestADriverStartsOnceAllServersAnswerAndItsExitCodeIsTheRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1)
		c.Spec.Driver = []string{"plus"}
		r := newRig(t, c)
		r.cfg.Drive = func(_ context.Context, drive cluster.Drive) cluster.DriverEnded {
			if r.phase() != cluster.TaskServing || drive.Argv[0] != "plus" {
				t.Errorf("%v starts while worker:0 is %s", drive.Argv, r.phase())
			}
			return cluster.DriverEnded{ExitCode: 7}
		}
		r.start()
		r.post(subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"), registered(), serving(), updated(cluster.TaskStateKilled, "u2"))
		<-r.ended
		if r.err != nil || r.last.ExitCode != 7 {
			t.Errorf("the run ends with exit code %d and %v, want the driver's 7", r.last.ExitCode, r.err)
		}
	})
}

func TestAStopEndsTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1)
		c.Spec.Driver = []string{"plus"}
		r := newRig(t, c)
		r.cfg.Drive = func(ctx context.Context, _ cluster.Drive) cluster.DriverEnded {
			<-ctx.Done()
			return cluster.DriverEnded{ExitCode: 143}
		}
		r.start()
		begin := time.Now()
		r.post(subscribed(), offered(1), updated(cluster.TaskStateRunning, "u1"), registered(), serving(), interrupted(), updated(cluster.TaskStateKilled, "u2"))
		<-r.ended
		if took := time.Since(begin); took > time.Second || r.last.ExitCode != cluster.ExitInterrupted {
			t.Errorf("the run ends with exit code %d after %v, want %d as soon as driver and tasks have ended", r.last.ExitCode, took, cluster.ExitInterrupted)
		}
	})
}
