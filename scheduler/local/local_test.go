package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"go.uber.org/goleak"
)

// orphanDir tells this test binary to be a Mesos that is about to be killed.
const orphanDir = "LOCAL_TEST_ORPHAN_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanDir); dir != "" {
		runUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

func (m *Mesos) read(t *testing.T, task, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.config.WorkDir, task, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// eventually is for what gives no event: processes that are not our children.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) { // no event to wait for
		if time.Now().After(end) {
			t.Fatalf("it never came that %s", what)
		}
	}
}

// alive tells whether a process is there and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// pidIn waits for a file with a pid.
func pidIn(t *testing.T, path string) (pid int) {
	t.Helper()
	eventually(t, path+" has a pid", func() bool {
		text, _ := os.ReadFile(path)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		pid = n
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	return pid
}

func TestATaskRunsInItsSandboxAndSaysHowItEnded(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	o := c.offer()
	if cpus(o) != 4 {
		t.Errorf("%g cpus offered, want all 4", cpus(o))
	}
	task := c.task("one", `echo "$FROM $OVER $MESOS_TASK_ID $MESOS_FRAMEWORK_ID $MESOS_AGENT_ID"; pwd; echo "$MESOS_SANDBOX $MESOS_DIRECTORY $PWD" >&2`)
	value := "task"
	task.Command.Environment = &mesos.Environment{Variables: []mesos.Environment_Variable{{Name: "OVER", Value: &value}}}
	c.accept([]mesos.Offer{o}, task)

	running := c.acked("one", mesos.TASK_RUNNING)
	if len(running.UUID) != 16 || running.GetAgentID().GetValue() != o.AgentID.Value || running.GetTimestamp() == 0 {
		t.Errorf("TASK_RUNNING is %+v, want a uuid, the agent and a time", running)
	}
	if ip := running.ContainerStatus.NetworkInfos[0].IPAddresses[0].GetIPAddress(); ip != "127.0.0.1" {
		t.Errorf("the task is said to be at %s", ip)
	}
	finished := c.acked("one", mesos.TASK_FINISHED)
	if got := finished.GetMessage(); got != "Command exited with status 0" {
		t.Errorf("message %q", got)
	}
	sandbox := filepath.Join(m.config.WorkDir, "one")
	if got, want := m.read(t, "one", "stdout"), fmt.Sprintf("agent task one %s %s\n%s\n", c.id, o.AgentID.Value, sandbox); got != want {
		t.Errorf("stdout is %q, want %q", got, want)
	}
	if got, want := m.read(t, "one", "stderr"), strings.Repeat(sandbox+" ", 2)+sandbox+"\n"; got != want {
		t.Errorf("stderr is %q, want %q", got, want)
	}
}

func TestHowACommandEnds(t *testing.T) {
	command := func(value string, args ...string) *mesos.CommandInfo {
		no := false
		return &mesos.CommandInfo{Value: &value, Arguments: args, Shell: &no}
	}
	shell := func(value string) *mesos.CommandInfo { return &mesos.CommandInfo{Value: &value} }
	unlaunched := mesos.REASON_CONTAINER_LAUNCH_FAILED.Enum()
	for name, test := range map[string]struct {
		command *mesos.CommandInfo
		state   mesos.TaskState
		reason  *mesos.TaskStatus_Reason
		message string
	}{
		"a status":     {shell("exit 7"), mesos.TASK_FAILED, nil, "Command exited with status 7"},
		"a signal":     {shell("kill -9 $$"), mesos.TASK_FAILED, nil, "Command terminated with signal Killed"},
		"no arguments": {command("true"), mesos.TASK_FINISHED, nil, "Command exited with status 0"},
		"arguments":    {command("/bin/sh", "sh", "-c", "exit 3"), mesos.TASK_FAILED, nil, "Command exited with status 3"},
		"no file":      {command("/no/such"), mesos.TASK_FAILED, unlaunched, "start command: fork/exec /no/such: no such file or directory"},
		"no program":   {command("no-such"), mesos.TASK_FAILED, unlaunched, `start command: no program "no-such" in /usr/local/bin:/usr/bin:/bin`},
	} {
		t.Run(name, func(t *testing.T) {
			c := subscribe(t, startMesos(t), modern)
			o := c.offer()
			task := c.task("one", "")
			task.Command = test.command
			c.accept([]mesos.Offer{o}, task)
			if test.reason != unlaunched {
				c.acked("one", mesos.TASK_RUNNING)
			}
			status := c.acked("one", test.state)
			if (status.Reason == nil) != (test.reason == nil) || status.GetReason() != (&mesos.TaskStatus{Reason: test.reason}).GetReason() || status.GetMessage() != test.message {
				t.Errorf("%v %q, want %v %q", status.Reason, status.GetMessage(), test.reason, test.message)
			}
		})
	}
}

func TestASandboxThatCannotBeMadeOrWrittenFailsTheTaskWithItsPath(t *testing.T) {
	m := startMesos(t)
	full, blocked := filepath.Join(m.config.WorkDir, "full"), filepath.Join(m.config.WorkDir, "blocked")
	if err := errors.Join(os.MkdirAll(full, 0o700), os.Symlink("/dev/full", filepath.Join(full, "stdout")), os.WriteFile(blocked, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c := subscribe(t, m, modern)
	c.launch("true", "full", "blocked")
	status := c.acked("full", mesos.TASK_FAILED)
	if got := status.GetMessage(); !strings.Contains(got, full+"/stdout") || !strings.Contains(got, "no space left on device") || status.GetReason() != mesos.REASON_CONTAINER_LAUNCH_FAILED {
		t.Errorf("on a full disk: %v %q, want the path and why", status.GetReason(), got)
	}
	if got := c.acked("blocked", mesos.TASK_FAILED).GetMessage(); !strings.Contains(got, blocked) {
		t.Errorf("with a file in the way: %q, want its path", got)
	}
}

func TestOnlyTheFirstUpdateIsInFlight(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	c.launch("exit 0", "one")
	running := c.status("one", mesos.TASK_RUNNING)
	c.offer() // what it used, so it has ended
	c.reconcile("one", c.agent)
	if answer := c.status("one", mesos.TASK_RUNNING); answer.UUID != nil || answer.GetReason() != mesos.REASON_RECONCILIATION || answer.GetSource() != mesos.SOURCE_MASTER {
		t.Errorf("reconciliation answers %+v, want what was forwarded last, without uuid", answer)
	}
	wrong := *running
	wrong.UUID = append([]byte{running.UUID[0] ^ 1}, running.UUID[1:]...)
	c.ack(&wrong)
	c.quiet()
	c.ack(running)
	finished := c.status("one", mesos.TASK_FINISHED)
	c.ack(running) // again: no longer in flight
	c.reconcile("one", c.agent)
	c.status("one", mesos.TASK_FINISHED)
	c.ack(finished)
	c.reconcile("one", c.agent)
	c.status("one", mesos.TASK_GONE)
}

func TestUpdatesComeAgainUntilAcknowledged(t *testing.T) {
	m := startMesos(t)
	m.set(func(t *timing) { t.resend, t.resendMax = time.Millisecond, 4*time.Millisecond })
	c := subscribe(t, m, modern)
	c.launch("sleep 1000", "one")
	first := c.status("one", mesos.TASK_RUNNING)
	for range 4 {
		if again := c.status("one", mesos.TASK_RUNNING); string(again.UUID) != string(first.UUID) {
			t.Fatalf("uuid %x, first %x: the same update has another", again.UUID, first.UUID)
		}
	}
}

func TestUpdatesComeAgainAtOnceAfterResubscription(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern, failover(3600))
	c.launch("sleep 1000", "one")
	first := c.status("one", mesos.TASK_RUNNING)
	d := subscribe(t, m, modern, failover(3600), withID(c.id))
	if again := d.status("one", mesos.TASK_RUNNING); string(again.UUID) != string(first.UUID) {
		t.Errorf("uuid %x, first %x: the same update has another", again.UUID, first.UUID)
	}
}

func TestKillGivesTimeToEnd(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	c.launch(`trap 'echo bye; exit 5' TERM; echo $$ > pid; sleep 1000 & wait`, "one")
	c.acked("one", mesos.TASK_RUNNING)
	pid := pidIn(t, filepath.Join(m.config.WorkDir, "one", "pid"))
	c.kill("one", time.Hour)
	c.acked("one", mesos.TASK_KILLING)
	if got := c.acked("one", mesos.TASK_KILLED).GetMessage(); got != "Command exited with status 5" {
		t.Errorf("message %q: the task had no time to end by itself", got)
	}
	if got := m.read(t, "one", "stdout"); got != "bye\n" {
		t.Errorf("stdout %q, want what it said on SIGTERM", got)
	}
	if alive(pid) {
		t.Error("the task is said to be killed, and runs")
	}
}

func TestKillIsHardAfterTheGraceAndALaterKillShortensIt(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, capable(mesos.FrameworkInfo_Capability_PARTITION_AWARE))
	c.launch(`trap '' TERM; echo $$ > pid; while :; do sleep 1000; done`, "one")
	c.acked("one", mesos.TASK_RUNNING)
	pidIn(t, filepath.Join(m.config.WorkDir, "one", "pid"))
	c.kill("one", time.Hour)
	c.quiet() // no TASK_KILLING without the capability, and not dead
	c.kill("one", 2*time.Hour)
	c.quiet()
	c.kill("one", time.Millisecond)
	if got := c.acked("one", mesos.TASK_KILLED).GetMessage(); got != "Command terminated with signal Killed" {
		t.Errorf("message %q", got)
	}
}

func TestKillOfWhatIsNotHere(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	c.launch("sleep 1000", "one")
	c.acked("one", mesos.TASK_RUNNING)
	c.kill("two", 0)
	c.status("two", mesos.TASK_GONE)
	agent := c.agent
	c.agent = "another"
	c.kill("two", 0)
	c.status("two", mesos.TASK_UNKNOWN)
	c.kill("one", 0)
	c.quiet() // a wrong agent: ignored
	c.agent = agent
	c.kill("one", 0)
	c.acked("one", mesos.TASK_KILLING)
	c.acked("one", mesos.TASK_KILLED)
}

func TestAHardKillTakesTheDescendantsThatLeftTheGroup(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	c.launch(`trap '' TERM; setsid sh -c 'setsid sleep 1000 & echo $! > child; echo $$ > pid; wait' & while :; do wait; done`, "one")
	c.acked("one", mesos.TASK_RUNNING)
	sandbox := filepath.Join(m.config.WorkDir, "one")
	pid, child := pidIn(t, filepath.Join(sandbox, "pid")), pidIn(t, filepath.Join(sandbox, "child"))
	c.kill("one", 0)
	c.acked("one", mesos.TASK_KILLING)
	c.acked("one", mesos.TASK_KILLED)
	eventually(t, "they are gone", func() bool { return !alive(pid) && !alive(child) })
}

func TestATaskThatIsKilledBeforeItStartsNeverRuns(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	m := newMesos(testConfig(t), []string{"GPU-a"}, listener) // nothing of it runs
	m.launch(&framework{id: "f", info: &mesos.FrameworkInfo{}}, mesos.TaskInfo{TaskID: mesos.TaskID{Value: "one"}}, m.total)
	waiting := m.tasks[taskKey{"f", "one"}]
	m.kill(waiting, time.Now())
	m.tick(time.Now())
	m.start(waiting)
	if head := waiting.updates[0]; head.GetState() != mesos.TASK_KILLED || head.GetReason() != mesos.REASON_TASK_KILLED_DURING_LAUNCH || len(waiting.updates) != 1 {
		t.Errorf("updates %+v, want TASK_KILLED alone", waiting.updates)
	}
	if m.devices.idle() != 1 {
		t.Error("its device is not free again")
	}
	if m.free() != m.total {
		t.Errorf("%v are free, want all, %v", m.free(), m.total)
	}
	m.running.Wait()
}

func TestWhatATaskLeavesInItsGroupIsKilled(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	c.launch(`(trap '' TERM; sleep 1000; :) & echo $! > pid; exit 0`, "one")
	c.acked("one", mesos.TASK_RUNNING)
	c.acked("one", mesos.TASK_FINISHED)
	pid := pidIn(t, filepath.Join(m.config.WorkDir, "one", "pid"))
	eventually(t, "the rest of the group is gone", func() bool { return !alive(pid) })
}

func TestCloseEndsAllTasks(t *testing.T) {
	for _, test := range []struct {
		name, script, says string
		grace              time.Duration
	}{
		{"softly", `trap 'echo bye; exit' TERM; echo $$ > pid; sleep 1000 & wait`, "bye\n", time.Hour},
		{"hard at the deadline", `trap '' TERM; echo $$ > pid; while :; do sleep 1000; done`, "", 50 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := startMesos(t)
			c := subscribe(t, m, modern)
			c.launch(test.script, "one", "two", "three")
			pids := map[string]int{}
			for _, id := range []string{"one", "two", "three"} {
				pids[id] = pidIn(t, filepath.Join(m.config.WorkDir, id, "pid"))
			}
			closeMesos(t, m, test.grace)
			for id, pid := range pids {
				if alive(pid) {
					t.Errorf("task %s runs on after Close", id)
				}
				if got := m.read(t, id, "stdout"); got != test.says {
					t.Errorf("task %s says %q, want %q", id, got, test.says)
				}
			}
			if conn, err := net.Dial("tcp", m.Addr()); err == nil {
				t.Error("somebody listens on after Close")
				_ = conn.Close()
			}
		})
	}
}

// runUntilKilled is the scheduler of the test below: it starts a task by itself.
func runUntilKilled(dir string) {
	config := Config{WorkDir: dir, Principal: "p", Secret: "s", Resources: Resources{CPUs: 1, Mem: 64}, Env: os.Environ(), Logger: discard}
	m, err := Start(context.Background(), config)
	if err != nil {
		panic(err)
	}
	script := `trap 'echo terminated; exit' TERM; echo $$ > pid; sleep 1000 & wait`
	m.mu.Lock()
	m.launch(&framework{id: "f", info: &mesos.FrameworkInfo{}}, mesos.TaskInfo{TaskID: mesos.TaskID{Value: "one"}, Command: &mesos.CommandInfo{Value: &script}}, m.total)
	m.mu.Unlock()
	select {}
}

func TestTasksDoNotOutliveAKilledScheduler(t *testing.T) {
	dir := t.TempDir()
	self := exec.Command(os.Args[0])
	self.Env = append(os.Environ(), orphanDir+"="+dir)
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, filepath.Join(dir, "one", "pid"))
	defer syscall.Kill(-pid, syscall.SIGKILL) // the sleep in its group
	if err := self.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = self.Wait() // killed
	eventually(t, "the task has ended", func() bool { return !alive(pid) })
	if text, _ := os.ReadFile(filepath.Join(dir, "one", "stdout")); string(text) != "terminated\n" {
		t.Errorf("the task said %q: it got no SIGTERM", text)
	}
}

func TestAConfigThatCannotWorkIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"relative work dir": func(c *Config) { c.WorkDir = "sandboxes" },
		"no secret":         func(c *Config) { c.Secret = "" },
		"no principal":      func(c *Config) { c.Principal = "" },
		"no cpus":           func(c *Config) { c.Resources.CPUs = 0 },
		"negative mem":      func(c *Config) { c.Resources.Mem = -1 },
		"no logger":         func(c *Config) { c.Logger = nil },
	} {
		config := testConfig(t)
		change(&config)
		if m, err := Start(t.Context(), config); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want an error about the config", name, err)
			if m != nil {
				closeMesos(t, m, 0)
			}
		}
	}
}
