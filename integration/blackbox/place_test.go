//go:build integration

package blackbox_test

import (
	"os"
	"path/filepath"
	"testing"

	mesosrig "tfmesos/integration/mesos"
	"tfmesos/integration/tfpython"
)

// place is where a story runs: on the local Mesos, or on a real one.
type place struct {
	rig  *mesosrig.Rig // nil: local
	path string        // the PATH of scheduler and tasks
	// extra is more of the scheduler's environment.
	extra []string
}

// flags say to run there.
func (p place) flags() []string {
	if p.rig == nil {
		return []string{"--local"}
	}
	return []string{"--master", p.rig.Master()}
}

func local() place { return place{path: os.Getenv("PATH")} }

// onMesos starts a real Mesos for the test, whose tasks have this PATH.
func onMesos(t *testing.T, path string, options ...mesosrig.Option) place {
	t.Helper()
	return place{rig: mesosrig.Start(t, append(options, mesosrig.WithAgentEnv("PATH="+path))...), path: path}
}

// everywhere tells a story of plain programs on both.
func everywhere(t *testing.T, story func(*testing.T, place)) {
	t.Parallel()
	t.Run("local", func(t *testing.T) { t.Parallel(); story(t, local()) })
	t.Run("mesos", func(t *testing.T) { t.Parallel(); story(t, onMesos(t, os.Getenv("PATH"))) })
}

// withTensorFlow tells a story of TensorFlow on both, one after the other: it keeps all cores busy by itself.
func withTensorFlow(t *testing.T, story func(*testing.T, place)) {
	path := tensorFlowPath(t)
	t.Run("local", func(t *testing.T) { story(t, place{path: path}) })
	t.Run("mesos", func(t *testing.T) { story(t, onMesos(t, path)) })
}

// tensorFlowPath is a PATH in which python3 has TensorFlow.
func tensorFlowPath(t *testing.T) string {
	t.Helper()
	return filepath.Dir(tfpython.Find(t)) + ":" + os.Getenv("PATH")
}
