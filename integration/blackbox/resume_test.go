//go:build integration

package blackbox_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	mesosrig "tfmesos/integration/mesos"
)

// startRedis starts a redis-server of the test's own and returns its URL.
func startRedis(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		missing(t, "redis-server is missing")
	}
	for range 10 { // another process may take the port that was free a moment ago
		if url, ok := tryRedis(t, program); ok {
			return url
		}
	}
	t.Fatal("redis-server did not start on any of ten free ports")
	return ""
}

func tryRedis(t *testing.T, program string) (string, bool) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	cmd := exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan bool, 1)
	go func() { // ends with the server
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "Ready to accept connections") {
				ready <- true
			}
		}
		ready <- false
		cmd.Wait()
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return "redis://127.0.0.1:" + port, <-ready
}

// taskIDs are the launches of a run as the scheduler knows them.
func (r *run) taskIDs() (ids []string) {
	for _, task := range r.status().Tasks {
		ids = append(ids, task.TaskID)
	}
	slices.Sort(ids)
	return ids
}

// ownPort is a free port below those that the system hands out, so that nobody else takes it while no scheduler has it.
func ownPort(t *testing.T) string {
	for {
		port := fmt.Sprint(12_000 + rand.N(8_000))
		if free, err := net.Listen("tcp", ":"+port); err == nil {
			free.Close()
			return port
		}
		if t.Context().Err() != nil {
			t.Fatal("no port is free")
		}
	}
}

// again runs the command of a run once more, as a user would who presses arrow up.
func (r *run) again() *run {
	r.t.Helper()
	next := r.place.launch(r.t, r.name, r.home, r.cmd.Args[1:])
	next.killed = r.killed
	return next
}

// resumes wants the killed run to go on under the same framework with the same launches.
func (r *run) resumes(before []string, framework string) *run {
	r.t.Helper()
	next := r.again()
	next.awaits("resuming run 1, framework " + framework)
	next.awaits("registered with master .* as framework " + framework)
	if after := next.taskIDs(); !slices.Equal(before, after) {
		r.t.Errorf("task_ids were %v and are %v", before, after)
	}
	return next
}

// launchedOnce wants the master to know each of these task_ids once, and no other of the framework.
func launchedOnce(t *testing.T, rig *mesosrig.Rig, framework string, ids []string) {
	t.Helper()
	for _, f := range rig.State(t).CompletedFrameworks {
		if f.ID != framework {
			continue
		}
		var known []string
		for _, task := range slices.Concat(f.Tasks, f.CompletedTasks, f.Unreachable) {
			known = append(known, task.ID)
		}
		if slices.Sort(known); !slices.Equal(known, ids) {
			t.Errorf("Mesos had the tasks %v, the run %v", known, ids)
		}
		return
	}
	t.Errorf("Mesos knows no completed framework %s", framework)
}

func TestAKilledSchedulerResumesItsTraining(t *testing.T) {
	p := onMesos(t, tensorFlowPath(t))
	r := p.start(t, "--redis", startRedis(t), "examples/ps/cluster.yaml")
	framework := r.awaits(`registered with master .* as framework (\S+)$`)[1]
	r.prints("step 20 loss")
	ids := r.taskIDs()
	r.signal(syscall.SIGKILL)
	r.exit()
	next := r.resumes(ids, framework)
	next.ends(0, "chief:0 finished")
	if len(next.stdout.matches(`^chief:0 \| step 200 loss`)) != 1 {
		t.Errorf("after the resumption the training printed\n%s", next.stdout.tail(20))
	}
	launchedOnce(t, p.rig, framework, ids)
}

// counting is a program that can be followed through the life of two schedulers; it ends once the file is there.
const counting = `i=0; until [ -e "$1" ]; do i=$((i+1)); echo $i; sleep 0.05; done; echo the end`

func TestAKilledSchedulerResumesAtAnyMoment(t *testing.T) {
	t.Parallel()
	p, redis := onMesos(t, local().path), startRedis(t)
	for _, moment := range []string{"registered with master", "launched on", "port [0-9]", "program started", "all 2 tasks ready"} {
		t.Run("after "+moment, func(t *testing.T) {
			end := t.TempDir() + "/end"
			r := p.start(t, "--port", ownPort(t), "--redis", redis, "--worker", "2", "--", "sh", "-c", counting, "sh", end)
			framework := r.awaits(`registered with master .* as framework (\S+)$`)[1]
			r.awaits(moment)
			r.signal(syscall.SIGKILL)
			r.exit()
			next := r.again()
			next.awaits("resuming run 1, framework " + framework)
			next.prints(`^worker:0 \| \d+$`)
			next.prints(`^worker:1 \| \d+$`)
			ids := next.taskIDs()
			if err := exec.Command("touch", end).Run(); err != nil {
				t.Fatal(err)
			}
			next.ends(0, "finished")
			launchedOnce(t, p.rig, framework, ids)
		})
	}
}

func TestANameBelongsToTheRunThatHasIt(t *testing.T) {
	t.Parallel()
	p, redis := onMesos(t, local().path), startRedis(t)
	r := p.start(t, "--port", ownPort(t), "--redis", redis, "--worker", "2", "--", "sleep", "1000")
	r.awaits("all 2 tasks ready")
	other := func() *run {
		other := p.startNamed(t, r.name, t.TempDir(), "--redis", redis, "--worker", "3", "--", "sleep", "1000")
		if code := other.exit(); code != 2 {
			t.Errorf("exit code %d, want 2: %s", code, other.stderr.last())
		}
		return other
	}
	taken := other().stderr
	for _, what := range []string{"already running", "root@|started it", fmt.Sprintf("process %d", r.cmd.Process.Pid), `since \d{4}-\d\d-\d\dT`} {
		if len(taken.matches(what)) == 0 {
			t.Errorf("a second run of the name is not told %q:\n%s", what, taken.tail(9))
		}
	}
	r.signal(syscall.SIGKILL)
	r.exit()
	different := other().stderr
	for _, what := range []string{"another spec", `^< *"num": 2`, `^> *"num": 3`} {
		if len(different.matches(what)) == 0 {
			t.Errorf("another spec for the name is not told %q:\n%s", what, different.tail(9))
		}
	}
	next := r.again()
	next.awaits("resuming run 1")
	since := time.Now()
	next.ctrlC()
	next.endsInTime(since, 130, "SIGINT")
}

func TestAnEndedNameIsFreeAgain(t *testing.T) {
	t.Parallel()
	p, redis := onMesos(t, local().path), startRedis(t)
	r := p.start(t, "--redis", redis, "--worker", "1", "--", "true")
	r.ends(0)
	next := r.again()
	next.awaits("run 2, 1 tasks")
	next.ends(0)
}
