//go:build integration

package blackbox_test

import (
	"path/filepath"
	"testing"
)

func TestALocalProgramOfTheCommandLineRunsWhereItWasTyped(t *testing.T) {
	t.Parallel()
	r := local().start(t, "--worker", "1", "--", "sh", "-c", "cat go.mod")
	r.prints("^module tfmesos$")
	r.ends(0, "finished")
}

func TestAProgramOfASpecRunsInItsSandbox(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		spec := write(t, "spec.yaml", "jobs: [{name: worker, command: 'echo $PWD; ls $TFMESOS_SPEC_DIR'}]\n", 0o600)
		r := p.start(t, spec)
		r.prints(`^` + filepath.Base(spec) + `$`)
		if r.stdout.matches(`^`+root+`$`) != nil {
			t.Error("it runs in the directory of the scheduler")
		}
		r.ends(0, "finished")
	})
}
