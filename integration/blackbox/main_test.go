//go:build integration

// Package blackbox_test runs the built programs and looks at them from outside: output, exit code, time, and what is left
// behind. Each story runs on the local Mesos and on a real one where it makes sense.
package blackbox_test

import (
	"os"
	"testing"

	"tfmesos/integration/programs"
)

// bin has the built programs, root is the repository.
var bin, root string

func TestMain(m *testing.M) { programs.Main(m, &bin, &root) }

// missing skips the test loudly, or fails it where nothing may be skipped.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s, and CI=true", what)
	}
	t.Skipf("SKIPPED: %s", what)
}
