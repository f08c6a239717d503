//go:build integration

package examples_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"tfmesos/integration/tfpython"
)

// One after the other: each keeps all cores busy by itself.

func TestOneWorkerAloneTrains(t *testing.T) {
	r := trains(t, "one", tfpython.Find(t))
	r.lossFalls("", 6)
	r.keepsCheckpoint("")
}

func TestMirroredWorkersTrainAndTheFirstKeepsTheCheckpoint(t *testing.T) {
	r := trains(t, "mirrored", tfpython.Find(t))
	if len(r.prints(`worker:0 \| 2 workers`)) != 1 {
		t.Error("the strategy does not have 2 workers")
	}
	r.lossFalls(`worker:0 \| `, 6)
	r.keepsCheckpoint(`worker:0 \| `)
	r.isQuiet("worker:1")
}

func TestKerasFitsOnTwoWorkers(t *testing.T) {
	r := trains(t, "keras", withTFKeras(t))
	if len(r.prints(`worker:0 \| 2 workers`)) != 1 {
		t.Error("the strategy does not have 2 workers")
	}
	r.lossFalls(`worker:0 \| `, 5)
	r.keepsCheckpoint(`worker:0 \| `)
	r.isQuiet("worker:1")
}

func TestTheEvaluatorEvaluatesTheLastCheckpointOfTheChief(t *testing.T) {
	r := trains(t, "evaluator", tfpython.Find(t))
	r.lossFalls(`chief:0 \| `, 5)
	r.lossFalls(`evaluator:0 \| `, 2)
	last := r.keepsCheckpoint(`chief:0 \| `)
	if evaluated := r.prints(`evaluator:0 \| evaluated (.+)`); len(evaluated) != 1 || evaluated[0][1] != last {
		t.Errorf("the last checkpoint is %s, and the evaluator evaluated %q", last, evaluated)
	}
}

func TestWithoutAFolderForCheckpointsTheEvaluatorEndsTheRunAndSaysSo(t *testing.T) {
	r := runExample(t, "evaluator", tfpython.Find(t))
	r.ends(1)
	for _, word := range []string{"evaluator:0", "CHECKPOINT_DIR is no absolute path"} {
		if !strings.Contains(r.lastLine(), word) {
			t.Errorf("the last line does not have %q: %s", word, r.lastLine())
		}
	}
}

// isQuiet wants a task to leave the talking to others.
func (r *run) isQuiet(task string) {
	r.t.Helper()
	if said := r.prints(task + ` \| (?:step|epoch|checkpoint|loss) .*`); len(said) > 0 {
		r.t.Errorf("%s has its say, too: %q", task, said)
	}
}

// withTFKeras returns the Python of the tests if it has the tf_keras of examples/keras/requirements.txt. Else it skips the
// test and says what to do; with CI=true it fails it.
func withTFKeras(t *testing.T) string {
	t.Helper()
	python := tfpython.Find(t)
	required, err := os.ReadFile(root + "/examples/keras/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	const look = `import importlib.metadata as m; print("tf_keras==" + m.version("tf_keras"))`
	out, err := exec.Command(python, "-c", look).Output()
	if err == nil && strings.HasSuffix("\n"+string(required), "\n"+string(out)) {
		return python
	}
	what := python + " does not have the tf_keras of examples/keras/requirements.txt; install it with: " +
		python + " -m pip install --no-deps -r examples/keras/requirements.txt"
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip("SKIPPED: " + what)
	return ""
}
