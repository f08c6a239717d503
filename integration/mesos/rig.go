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
	if cfg.Masters > 0 {
		require(t, checkZooKeeper())
	}
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
	require(t, Setup(t.Context(), Config{Logf: t.Logf}))
}

// require skips or fails the test for this error.
func require(t testing.TB, err error) {
	t.Helper()
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
		t.Fatalf("start Docker (%s=no leaves tests with Docker out): %v", withoutDocker, err)
	}
	t.Cleanup(func() {
		if err := d.Down(); err != nil {
			t.Errorf("end Docker: %v", err)
		}
	})
	return d
}

// Master returns the address of the first master, host:port. Any master does: those that do not lead redirect to the one that does.
func (r *Rig) Master() string { return r.Mesos.Master() }

// Masters returns the addresses of all masters.
func (r *Rig) Masters() []string { return r.Mesos.Masters() }

// Agents returns the addresses of all agents.
func (r *Rig) Agents() []string { return r.Mesos.Agents() }

// ZK returns the URL of the election, like zk://127.0.0.1:2181/mesos; empty without one.
func (r *Rig) ZK() string { return r.Mesos.ZK() }

// Docker returns the Docker daemon of the agents, nil without WithDocker.
func (r *Rig) Docker() *Docker { return r.Mesos.Docker() }

// State returns the state of the master that leads.
func (r *Rig) State(t testing.TB) State {
	t.Helper()
	state, err := r.Mesos.State(t.Context())
	must(t, err)
	return state
}

// AwaitState waits until the state of the master that leads is as wanted, and returns it.
func (r *Rig) AwaitState(t testing.TB, what string, wanted func(State) bool) State {
	t.Helper()
	state, err := r.Mesos.AwaitState(t.Context(), what, wanted)
	must(t, err)
	return state
}

// AwaitTask waits until the master that leads has the task, of any framework, in this state, also one that has ended; id may be its name.
func (r *Rig) AwaitTask(t testing.TB, id, state string) Task {
	t.Helper()
	var found Task
	r.AwaitState(t, "task "+id+" to be "+state, func(s State) (ok bool) {
		found, ok = s.task(id, state)
		return ok
	})
	return found
}

// AwaitLeader waits until a master leads and returns which.
func (r *Rig) AwaitLeader(t testing.TB) int {
	t.Helper()
	leader, err := r.Mesos.AwaitLeader(t.Context())
	must(t, err)
	return leader
}

// AwaitAgents waits until a master leads and has all agents that run.
func (r *Rig) AwaitAgents(t testing.TB) {
	t.Helper()
	must(t, r.Mesos.AwaitAgents(t.Context()))
}

// StopMaster ends the first master with SIGKILL or SIGTERM. Tasks run on.
func (r *Rig) StopMaster(t testing.TB, signal syscall.Signal) {
	t.Helper()
	r.StopMasterAt(t, 0, signal)
}

// StopMasterAt is StopMaster for master i.
func (r *Rig) StopMasterAt(t testing.TB, i int, signal syscall.Signal) {
	t.Helper()
	must(t, r.Mesos.StopMaster(i, signal))
}

// StartMaster starts the stopped first master again, same port and work directory, and waits until a master leads that has all agents.
func (r *Rig) StartMaster(t testing.TB) {
	t.Helper()
	r.StartMasterAt(t, 0)
}

// StartMasterAt is StartMaster for master i.
func (r *Rig) StartMasterAt(t testing.TB, i int) {
	t.Helper()
	must(t, r.Mesos.StartMaster(t.Context(), i))
}

// StopAgent ends the first agent with SIGKILL or SIGTERM and waits until the master has noticed.
func (r *Rig) StopAgent(t testing.TB, signal syscall.Signal) {
	t.Helper()
	r.StopAgentAt(t, 0, signal)
}

// StopAgentAt is StopAgent for agent i.
func (r *Rig) StopAgentAt(t testing.TB, i int, signal syscall.Signal) {
	t.Helper()
	must(t, r.Mesos.StopAgent(t.Context(), i, signal))
}

// StartAgent starts the stopped first agent again, same port and work directory, and waits until it is registered.
func (r *Rig) StartAgent(t testing.TB) {
	t.Helper()
	r.StartAgentAt(t, 0)
}

// StartAgentAt is StartAgent for agent i.
func (r *Rig) StartAgentAt(t testing.TB, i int) {
	t.Helper()
	must(t, r.Mesos.StartAgent(t.Context(), i))
}

// StopZooKeeper ends ZooKeeper with SIGKILL or SIGTERM. The master that leads ends itself once it has lost its session.
func (r *Rig) StopZooKeeper(t testing.TB, signal syscall.Signal) {
	t.Helper()
	must(t, r.Mesos.StopZooKeeper(signal))
}

// StartZooKeeper starts the stopped ZooKeeper again, same port and data, and waits until it listens.
func (r *Rig) StartZooKeeper(t testing.TB) {
	t.Helper()
	must(t, r.Mesos.StartZooKeeper(t.Context()))
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
