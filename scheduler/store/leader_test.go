package store

import (
	"errors"
	"os/exec"
	"testing"
)

func TestALeaderWhoseProcessIsGoneIsDead(t *testing.T) {
	here := ThisProcess()
	if here.BootID == "" || here.StartTime == "" || here.PIDNamespace == "" {
		t.Skip("SKIPPED: no /proc as on Linux")
	}
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	gone := here
	gone.PID = child.Process.Pid
	reused := here
	reused.StartTime = "1"
	elsewhere, rebooted, container, unknown, none := gone, gone, gone, gone, gone
	elsewhere.Host = "other"
	rebooted.BootID = "another"
	container.PIDNamespace = "pid:[1]"
	unknown.BootID = ""
	none.PID = 0
	for name, c := range map[string]struct {
		leader Leader
		want   bool
	}{
		"this process":                         {here, false},
		"a process that is gone":               {gone, true},
		"a process that has got its pid":       {reused, true},
		"gone, under another name of the host": {elsewhere, true},
		"of another boot or machine":           {rebooted, false},
		"of another container":                 {container, false},
		"of a machine without /proc":           {unknown, false},
		"without a pid":                        {none, false},
	} {
		if got := c.leader.Dead(); got != c.want {
			t.Errorf("%s: dead %v, want %v", name, got, c.want)
		}
	}
}

func TestAZombieIsDead(t *testing.T) {
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	leader := ThisProcess()
	leader.PID = child.Process.Pid
	p, err := readProcess(leader.PID)
	if err != nil {
		child.Wait()
		t.Skipf("SKIPPED: %v", err)
	}
	leader.StartTime = p.startTime
	if leader.Dead() {
		t.Error("a process that runs is taken for dead")
	}
	in.Close()
	out.Read(make([]byte, 1)) // the end of its output: it is about to become a zombie, as nobody has waited for it
	for p, err = readProcess(leader.PID); err == nil && !p.zombie; p, err = readProcess(leader.PID) {
	}
	if !leader.Dead() {
		t.Error("a zombie is taken for a leader")
	}
	child.Wait()
}

func TestADeadLeaderIsReplacedAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		child := exec.Command("true")
		if err := child.Run(); err != nil {
			t.Fatal(err)
		}
		dead := ThisProcess()
		dead.PID = child.Process.Pid
		old, err := r.store.Acquire(t.Context(), "ctr", dead)
		if err != nil {
			t.Fatal(err)
		}
		lease, err := r.store.Acquire(t.Context(), "ctr", ThisProcess())
		if err != nil {
			t.Fatalf("the process of the leader is gone, and its lease still counts: %v", err)
		}
		if lease.Leader().Fence != 2 {
			t.Errorf("fence is %d, want 2", lease.Leader().Fence)
		}
		if err := old.Renew(t.Context()); !errors.Is(err, ErrFenced) {
			t.Errorf("the dead leader writes: %v", err)
		}
		if _, err := r.store.Acquire(t.Context(), "ctr", anyLeader(2)); err == nil {
			t.Error("a living leader was replaced")
		}
	})
}

// An Acquire whose answer got lost leaves the process held up by itself.
func TestAProcessTakesOverItsOwnLease(t *testing.T) {
	s := open(t, startEmbedded(t))
	for want := 1; want <= 2; want++ {
		lease, err := s.Acquire(t.Context(), "ctr", ThisProcess())
		if err != nil {
			t.Fatal(err)
		}
		if lease.Leader().Fence != want {
			t.Errorf("fence is %d, want %d", lease.Leader().Fence, want)
		}
	}
}
