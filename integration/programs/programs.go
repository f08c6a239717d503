// Package programs builds the scheduler and the sidecar for the tests of a package.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Main is the whole of a TestMain: it builds both programs into a temporary folder, runs the tests, and ends the process. bin gets
// the folder and root the repository, which the package's own folder must be two levels below.
func Main(m *testing.M, bin, root *string) {
	code, err := run(m, bin, root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M, bin, root *string) (int, error) {
	var err error
	if *root, err = filepath.Abs("../.."); err != nil {
		return 1, err
	}
	if *bin, err = os.MkdirTemp("", "tfmesos-bin-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(*bin)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", *bin, "./cmd/scheduler", "./cmd/sidecar")
	build.Dir = *root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return m.Run(), nil
}
