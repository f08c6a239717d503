//go:build integration

// Package examples_test trains each example with the built programs, as a newcomer would, on the local Mesos. (That of
// examples/ps has its test in integration/blackbox, on a real Mesos too.)
package examples_test

import (
	"testing"

	"tfmesos/integration/programs"
)

// bin has the built programs, root is the repository.
var bin, root string

func TestMain(m *testing.M) { programs.Main(m, &bin, &root) }
