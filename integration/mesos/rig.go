package mesosrig

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Rig is a Mesos that belongs to one test. Its methods fail the test instead of returning errors.
type Rig struct {
	// Mesos is what runs, for what Rig has no method for.
	Mesos *Mesos
}

// Start starts a master and an agent for the test and returns when the agent is registered. When the test ends, all of it
// is ended, and the test fails if something is left.
//
// A machine that lacks what the rig needs skips the test, saying what is missing and how to get it; with CI=true it fails.
func Start(t testing.TB, options ...Option) *Rig {
	t.Helper()
	var cfg Config
	for _, option := range options {
		option(&cfg)
	}
	Require(t)
	if cfg.Docker {
		StartDocker(t) // which skips the test where there is none
	}
	m, err := Up(t.Context(), cfg)
	if err != nil {
		t.Fatalf("start Mesos: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Mesos at the end of the failed test: %s", m.Logs())
		}
		if err := m.Down(); err != nil {
			t.Errorf("end Mesos: %v", err)
		}
	})
	return &Rig{Mesos: m}
}

// Require sets the rig up if need be. It skips the test where that is impossible, or fails it with CI=true, as Start does.
func Require(t testing.TB) {
	t.Helper()
	err := Setup(t.Context(), Config{Logf: t.Logf})
	if errors.Is(err, ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED, no real Mesos: %v", err)
	}
	if err != nil {
		t.Fatalf("set Mesos up: %v", err)
	}
}

// StartDocker returns a Docker daemon that has the base image, until the test ends; see UpDocker. Tests that run at the same time
// share one.
//
// TFMESOS_TEST_DOCKER=no skips the test. Otherwise it is skipped, or failed with CI=true, where something is to be installed or root is
// needed, and failed where a daemon does not start.
func StartDocker(t testing.TB) *Docker {
	t.Helper()
	if os.Getenv(withoutDocker) == "no" {
		t.Skipf("SKIPPED: %s=no leaves tests with Docker out", withoutDocker)
	}
	d, err := UpDocker(t.Context(), t.Logf)
	if errors.Is(err, ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED, no Docker: %v", err)
	}
	if err != nil {
		t.Fatalf("start Docker: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Down(); err != nil {
			t.Errorf("end Docker: %v", err)
		}
	})
	return d
}

// Master returns the master's address, host:port.
func (r *Rig) Master() string { return r.Mesos.Master() }

// Docker returns the Docker daemon of the agents, nil without WithDocker.
func (r *Rig) Docker() *Docker { return r.Mesos.Docker() }

// State returns the master's state.
func (r *Rig) State(t testing.TB) State {
	t.Helper()
	state, err := r.Mesos.State(t.Context())
	must(t, err)
	return state
}

// StopMaster ends the master with SIGKILL or SIGTERM. Tasks run on.
func (r *Rig) StopMaster(t testing.TB, signal syscall.Signal) {
	t.Helper()
	must(t, r.Mesos.StopMaster(signal))
}

// StartMaster starts the stopped master again, same port and work directory, and waits until it has the agent back.
func (r *Rig) StartMaster(t testing.TB) {
	t.Helper()
	must(t, r.Mesos.StartMaster(t.Context()))
}

// StopAgent ends the agent with SIGKILL or SIGTERM and waits until the master has noticed.
func (r *Rig) StopAgent(t testing.TB, signal syscall.Signal) {
	t.Helper()
	must(t, r.Mesos.StopAgent(t.Context(), signal))
}

// StartAgent starts the stopped agent again, same port and work directory, and waits until it is registered.
func (r *Rig) StartAgent(t testing.TB) {
	t.Helper()
	must(t, r.Mesos.StartAgent(t.Context()))
}

// Executors returns the executors that run, which is one for each task.
func (r *Rig) Executors(t testing.TB) []Process { return r.processes(t, true) }

// Tasks returns the processes of tasks, all that a task has started.
func (r *Rig) Tasks(t testing.TB) []Process { return r.processes(t, false) }

func (r *Rig) processes(t testing.TB, executors bool) []Process {
	t.Helper()
	all, err := r.Mesos.Processes()
	must(t, err)
	var some []Process
	for _, p := range all {
		if p.Executor == executors {
			some = append(some, p)
		}
	}
	return some
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("Mesos: %v", err)
	}
}
