package mesosrig

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAgentRegistersWithTheResourcesAskedFor(t *testing.T) {
	rig := Start(t, WithResources("cpus:3;mem:1234;disk:5678;ports:[21000-21010]"), WithAttributes("rack:r1"))
	state := rig.State(t)
	if state.Version != "1.11.0" || len(state.Agents) != 1 {
		t.Fatalf("want one agent of Mesos 1.11.0, got %+v", state)
	}
	agent := state.Agents[0]
	want := Resources{CPUs: 3, Mem: 1234, Disk: 5678, Ports: "[21000-21010]"}
	if agent.Resources != want {
		t.Errorf("resources: got %+v, want %+v", agent.Resources, want)
	}
	if agent.Attributes["rack"] != "r1" {
		t.Errorf("attributes: got %v, want rack=r1", agent.Attributes)
	}
}

func TestAgentComesBackAfterItAndItsMasterWereStopped(t *testing.T) {
	rig := Start(t)
	before := rig.State(t)
	for name, signal := range map[string]syscall.Signal{"kill": syscall.SIGKILL, "terminate": syscall.SIGTERM} {
		rig.StopMaster(t, signal)
		if _, err := rig.Mesos.State(t.Context()); err == nil {
			t.Fatalf("%s: the stopped master still answers", name)
		}
		rig.StartMaster(t)
		rig.StopAgent(t, signal)
		rig.StartAgent(t)
		after := rig.State(t)
		if after.ID == before.ID {
			t.Errorf("%s: the master was not started anew", name)
		}
		if len(after.Agents) != 1 || after.Agents[0].ID != before.Agents[0].ID {
			t.Errorf("%s: want the agent %s back and no other, got %+v", name, before.Agents[0].ID, after.Agents)
		}
	}
}

func TestNothingIsLeftAfterDown(t *testing.T) {
	rig := Start(t)
	f := subscribe(t, rig.Master())
	// A task that ignores SIGTERM, with a child that has left its process group, in the middle of its life.
	f.launch("stubborn", "trap '' TERM; setsid sleep 1000 & sleep 1000")
	f.await("stubborn", "TASK_RUNNING")
	eventually(t, "three processes of the task", func() bool { return len(rig.Tasks(t)) == 3 })

	pids := []int{rig.Mesos.masters[0].pid, rig.Mesos.agents[0].pid}
	for _, p := range append(rig.Tasks(t), rig.Executors(t)...) {
		pids = append(pids, p.PID)
	}
	if err := rig.Mesos.Down(); err != nil {
		t.Fatalf("down: %v", err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is still there: %s", pid, commandLine(pid))
		}
	}
	for _, d := range rig.Mesos.daemons() {
		if conn, err := net.Dial("tcp", d.address()); err == nil {
			conn.Close()
			t.Errorf("somebody listens on the port of the %s", d.name)
		}
	}
	if exists(rig.Mesos.Dir()) {
		t.Errorf("%s is still there", rig.Mesos.Dir())
	}
}

func TestUpSaysWhyTheMasterDidNotStart(t *testing.T) {
	Require(t)
	_, err := Up(t.Context(), Config{MasterFlags: map[string]string{"allocation_interval": "soon"}})
	if err == nil || !strings.Contains(err.Error(), "master has ended") || !strings.Contains(err.Error(), "allocation_interval") {
		t.Errorf("want an error that quotes the master's log, got: %v", err)
	}
}

// alive says whether the process is there. A zombie is not: its parent may be a process that is not ours.
func alive(pid int) bool {
	return syscall.Kill(pid, 0) == nil && commandLine(pid) != ""
}

// eventually waits for what has no event to wait for.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := poll(ctx, 10*time.Millisecond, func() (bool, error) { return check(), nil }); err != nil {
		t.Fatalf("no %s within 10 s", what)
	}
}
