package mesosrig

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTaskEndsAreTold runs one task of each kind of end.
func TestTaskEndsAreTold(t *testing.T) {
	rig := Start(t, WithAgentEnv("PATH="+os.Getenv("PATH")+":/of-the-agent", "SECRET=of-the-agent"))
	f := subscribe(t, rig.Master())

	f.launch("good", `echo "$GREETING ${MESOS_SANDBOX:+sandbox} ${SECRET:-secret} ${PATH##*:}"`)
	if message, seen := f.await("good", "TASK_FINISHED"); message != "Command exited with status 0" || seen != "TASK_STARTING TASK_RUNNING TASK_FINISHED" {
		t.Errorf("good: %q after %s", message, seen)
	}
	if out := sandboxFile(t, rig, "good", "stdout"); !strings.HasSuffix(out, "\nhello sandbox secret /of-the-agent\n") {
		t.Errorf("good: stdout does not have the task's variables: %s", out)
	}

	f.launch("exec", "/bin/echo", object{"shell": false, "arguments": []string{"echo", "a b", "$HOME"}})
	f.await("exec", "TASK_FINISHED")
	if out := sandboxFile(t, rig, "exec", "stdout"); !strings.HasSuffix(out, "\na b $HOME\n") {
		t.Errorf("exec: stdout %q", out)
	}

	f.launch("bad", "exit 3")
	if message, _ := f.await("bad", "TASK_FAILED"); message != "Command exited with status 3" {
		t.Errorf("bad: %q", message)
	}

	f.launch("crashed", "kill -SEGV $$")
	if message, _ := f.await("crashed", "TASK_FAILED"); message != "Command terminated with signal Segmentation fault" {
		t.Errorf("crashed: %q", message)
	}

	f.launch("polite", "sleep 1000")
	f.await("polite", "TASK_RUNNING")
	f.kill("polite", int64(time.Hour))
	if message, seen := f.await("polite", "TASK_KILLED"); message != "Command terminated with signal Terminated" || seen != "TASK_KILLING TASK_KILLED" {
		t.Errorf("polite: %q after %s", message, seen)
	}

	// The kill with a shorter grace period wins over the first, and reaches the whole group.
	f.launch("stubborn", "trap '' TERM; sleep 1000 & while :; do sleep 1000; done")
	f.await("stubborn", "TASK_RUNNING")
	eventually(t, "processes of the stubborn task", func() bool { return len(rig.Tasks(t)) == 3 })
	f.kill("stubborn", int64(time.Hour))
	f.await("stubborn", "TASK_KILLING")
	f.kill("stubborn", int64(10*time.Millisecond))
	if message, _ := f.await("stubborn", "TASK_KILLED"); message != "Command terminated with signal Killed" {
		t.Errorf("stubborn: %q", message)
	}
	eventually(t, "end of all executors and tasks", func() bool {
		return len(rig.Tasks(t)) == 0 && len(rig.Executors(t)) == 0
	})
}

func TestTaskHasItsFilesAndItsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can run a task as somebody else")
	}
	rig := Start(t)
	f := subscribe(t, rig.Master())
	fetched := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(fetched, []byte("#!/bin/sh\nid -un"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.launch("nobody", "./script", object{"user": "nobody", "uris": []object{{"value": "file://" + fetched, "executable": true}}})
	if message, _ := f.await("nobody", "TASK_FINISHED"); message != "Command exited with status 0" {
		t.Errorf("message %q", message)
	}
	if out := sandboxFile(t, rig, "nobody", "stdout"); !strings.HasSuffix(out, "\nnobody\n") {
		t.Errorf("the task did not run as nobody: %s", out)
	}
}

func TestTeardownEndsTheFrameworksTasks(t *testing.T) {
	rig := Start(t)
	f := subscribe(t, rig.Master())
	f.launch("long", "sleep 1000 & sleep 1000")
	f.await("long", "TASK_RUNNING")
	if _, found := rig.State(t).Framework("rig-test"); !found {
		t.Error("the master's state does not have the framework")
	}
	f.call(object{"type": "TEARDOWN"})
	eventually(t, "end of all executors and tasks", func() bool {
		return len(rig.Tasks(t)) == 0 && len(rig.Executors(t)) == 0
	})
	if state := rig.State(t); len(state.Frameworks) != 0 || len(state.CompletedFrameworks) != 1 {
		t.Errorf("want the framework completed, got %+v", state)
	}
}

func TestTaskDiesWithItsExecutor(t *testing.T) {
	rig := Start(t)
	f := subscribe(t, rig.Master())
	f.launch("orphan", "sleep 1000 & sleep 1000")
	f.await("orphan", "TASK_RUNNING")
	for _, executor := range rig.Executors(t) {
		if err := syscall.Kill(executor.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	f.await("orphan", "TASK_FAILED")
	eventually(t, "end of the task's processes", func() bool { return len(rig.Tasks(t)) == 0 })
}

func TestUpdateMadeWhileTheAgentIsAwayArrivesWhenItIsBack(t *testing.T) {
	rig := Start(t)
	f := subscribe(t, rig.Master())
	ready := filepath.Join(t.TempDir(), "go")
	f.launch("survivor", "until [ -e "+ready+" ]; do sleep 0.01; done; exit 7")
	f.await("survivor", "TASK_RUNNING")
	rig.StopAgent(t, syscall.SIGKILL)
	if n := len(rig.Executors(t)); n != 1 {
		t.Fatalf("executors without their agent: %d, want the one of the task", n)
	}
	if err := os.WriteFile(ready, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	eventually(t, "end of the task", func() bool { return len(rig.Tasks(t)) == 0 })
	rig.StartAgent(t)
	if message, _ := f.await("survivor", "TASK_FAILED"); message != "Command exited with status 7" {
		t.Errorf("message %q", message)
	}
}

// sandboxFile returns what a file in the task's sandbox has.
func sandboxFile(t *testing.T, rig *Rig, task, name string) string {
	t.Helper()
	found, err := filepath.Glob(rig.Mesos.Dir() + "/agent/agents/*/work/slaves/*/frameworks/*/executors/" + task + "/runs/latest/" + name)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s of task %s: %v %v", name, task, found, err)
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
