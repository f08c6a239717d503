//go:build integration

// Package peer_test proves the routes of /v0 by those who speak them: the sidecars of tfmesos2, from its package and as it is,
// form clusters under our scheduler, on the local Mesos and on a real one; and our sidecars form one under its own API.
package peer_test

import (
	"testing"

	"tfmesos/integration/programs"
)

// bin has the built programs, root is the repository.
var bin, root string

func TestMain(m *testing.M) { programs.Main(m, &bin, &root) }
