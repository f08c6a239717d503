//go:build integration

package blackbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestADriverUsesTheServersAndEndsTheRun(t *testing.T) {
	withTensorFlow(t, func(t *testing.T, p place) {
		r := p.start(t, "examples/ingraph/cluster.yaml")
		r.prints(`^10 \+ 32 = 42$`)
		r.ends(0, "the driver finished")
	})
}

func TestTheExitCodeOfADriverIsTheRunsAndTheClusterFileIsThereForIt(t *testing.T) {
	withTensorFlow(t, func(t *testing.T, p place) {
		file := filepath.Join(t.TempDir(), "cluster.json")
		spec := write(t, "spec.yaml", "driver: 'cat "+file+"; exit 7'\njobs: [{name: worker, num: 1}]\n", 0o600)
		r := p.start(t, "--cluster-file", file, spec)
		line := r.prints(`^(\{"cluster_def".+)$`)[1]
		r.ends(7, "the driver ended with exit code 7")
		var got struct{ Targets map[string]string }
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Targets["/job:worker/task:0"] == "" {
			t.Errorf("the driver read %s (%v), want the target of worker:0", line, err)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("the cluster file is still there: %v", err)
		}
	})
}

func TestCtrlCEndsADriverThatRuns(t *testing.T) {
	withTensorFlow(t, func(t *testing.T, p place) {
		spec := write(t, "spec.yaml", "driver: 'echo up; sleep 1000 & wait'\njobs: [{name: worker, num: 1}]\n", 0o600)
		r := p.start(t, spec)
		r.prints("^up$")
		r.ctrlC()
		r.ends(130, "interrupted")
	})
}
