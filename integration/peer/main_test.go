//go:build integration

// Package peer_test proves the routes of /v0 by those who speak them: the sidecars of tfmesos2, from its package and as it is,
// form clusters under our scheduler, on the local Mesos and on a real one.
package peer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin has the built programs, root is the repository.
var bin, root string

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	var err error
	if root, err = filepath.Abs("../.."); err != nil {
		return 1, err
	}
	if bin, err = os.MkdirTemp("", "tfmesos-bin-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "./cmd/scheduler", "./cmd/sidecar")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return m.Run(), nil
}
