//go:build integration

package peer_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestADriverComputesOnTheServersOfThePeer(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		spec := p.spec(job("ps", 2), job("worker", 2))
		spec["driver"] = []string{"python3", filepath.Join(root, "examples/ingraph/plus.py")}
		r := p.runs(t, spec, func(*run) {})
		if got := r.stdout.String(); !strings.HasSuffix(got, "10 + 32 = 42\n") {
			t.Errorf("the driver printed %q, want 10 + 32 = 42", got)
		}
		r.ends(0, "the driver finished")
	})
}

func TestAProgramOutsideComputesOnAServerOfThePeerUntilCtrlC(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		var printed string
		r := p.runs(t, p.spec(job("worker", 1)), func(r *run) {
			if r.awaits("all 1 tasks ready", 1) {
				printed = r.computes()
				_ = r.ctrlC()
			}
		})
		if printed != "42\n" {
			t.Errorf("the program printed %q, want 42", printed)
		}
		r.ends(130, "interrupted")
	})
}

// The others of these two never come: sleep takes no port.
func TestCtrlCEndsPeersThatWaitForOthers(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		text, late := job("worker", 2), job("late", 1)
		text["entrypoint"] = "exec python3 -m tfmesos2.server {task_id} {callback}"
		late["entrypoint"] = "exec sleep 1000"
		r := p.runs(t, p.spec(text, late), func(r *run) {
			if r.awaits("starting: port ", 2) {
				_ = r.ctrlC()
			}
		})
		r.ends(130, "interrupted")
	})
}

const program = `
import json, os
import tensorflow as tf
tf.compat.v1.disable_eager_execution()
with tf.device("/job:worker/task:0"):
    total = tf.constant(10) + tf.constant(32)
with tf.compat.v1.Session(json.loads(os.environ["TFMESOS_TARGETS"])["/job:worker/task:0"]) as session:
    print(session.run(total))
`

// computes runs the program, which is no part of the cluster, with the targets of the cluster file, and returns what it
// printed.
func (r *run) computes() string {
	r.t.Helper()
	var file struct{ Targets json.RawMessage }
	text, err := os.ReadFile(r.clusterFile())
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		r.t.Logf("read the cluster file: %v", err)
		return ""
	}
	cmd := exec.CommandContext(r.ctx, r.place.peer.python, "-c", program)
	cmd.Env = append(r.env(), "TFMESOS_TARGETS="+string(file.Targets))
	out, err := cmd.Output()
	if err != nil {
		r.t.Logf("the program: %v", err)
	}
	return string(out)
}
