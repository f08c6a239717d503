package mesosrig

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTheImageHasPython(t *testing.T) {
	d := StartDocker(t)
	out, err := d.output(t.Context(), "run", "--rm", "--network=host", d.Image(), "python3", "-c", "print(6*7)")
	if err != nil || out != "42" {
		t.Errorf("python3 in %s prints %q: %v", d.Image(), out, err)
	}
}

func TestAVirtualEnvironmentOfThisMachineWorksInTheImage(t *testing.T) {
	d := StartDocker(t)
	path, mounts, err := PythonFor(t.Context(), python())
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--rm", "--network=host"}
	for _, dir := range mounts {
		args = append(args, "--volume", dir+":"+dir+":ro")
	}
	out, err := d.output(t.Context(), append(args, d.Image(), path, "-c", "import ssl, ctypes, zlib, sqlite3, sys; print(sys.prefix)")...)
	if err != nil || !strings.HasPrefix(out, "/") {
		t.Errorf("%s with %v prints %q: %v", path, mounts, out, err)
	}
}

func TestNothingIsLeftOfADockerThatTheRigHasStarted(t *testing.T) {
	d := StartDocker(t)
	d.mustBeOfOurs(t)
	slot := d.slot
	if _, err := d.output(t.Context(), "run", "--detach", "--network=host", d.Image(), "sh", "-c", "trap '' TERM; sleep 1000"); err != nil {
		t.Fatal(err)
	}
	if err := d.down(); err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), slot) || strings.Contains(string(mounts), runDir(slot)) {
		t.Errorf("mounts are left: %v\n%s", err, mounts)
	}
	if exists(runDir(slot)) {
		t.Errorf("%s is left", runDir(slot))
	}
	eventually(t, "end of all that the daemon has started", func() bool {
		entries, err := os.ReadDir("/proc")
		return err == nil && !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
			pid, err := strconv.Atoi(entry.Name())
			return err == nil && strings.Contains(commandLine(pid), runDir(slot))
		})
	})
}

func TestADockerThatDoesNotStartFailsATestWithWhatItSaidAndHowToLeaveItOut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can start a Docker daemon")
	}
	StartDocker(t).mustBeOfOurs(t) // where Docker is left out or lacks something, there is nothing to see
	rest := running.docker
	running.docker = nil // as if none ran yet
	defer func() { running.docker = rest }()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "dockerd"), []byte("#!/bin/sh\necho no cgroups here >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	failed := &failure{TB: t}
	done := make(chan struct{})
	go func() { // which Fatalf ends
		defer close(done)
		StartDocker(failed)
	}()
	<-done
	for _, want := range []string{"no cgroups here", "TFMESOS_TEST_DOCKER=no"} {
		if !strings.Contains(failed.text, want) {
			t.Errorf("%q is not in what fails the test: %s", want, failed.text)
		}
	}
}

// failure is a test of which only its last words are kept.
type failure struct {
	testing.TB
	text string
}

func (f *failure) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// mustBeOfOurs skips the test when a daemon that was there is used.
func (d *Docker) mustBeOfOurs(t *testing.T) {
	t.Helper()
	if d.daemon == nil {
		t.Skip("SKIPPED: a Docker daemon that was there is used")
	}
}

func TestADaemonThatAnswersIsUsed(t *testing.T) {
	there := StartDocker(t)
	t.Setenv("DOCKER_HOST", there.Host())
	d, err := upDocker(t.Context(), Config{Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if d.daemon != nil || d.Host() != there.Host() {
		t.Errorf("%s is used, want %s, which answers", d.Host(), there.Host())
	}
	if err := d.down(); err != nil || !there.answers(t.Context()) {
		t.Errorf("a daemon that is not the rig's must outlive it: %v", err)
	}
}

func TestATaskRunsInAContainerOfTheImage(t *testing.T) {
	rig := Start(t, WithDocker())
	f := subscribe(t, rig.Master())
	f.launchIn(container(rig.Docker().Image()), "python", `python3 -c 'print("six", 6)'`)
	f.await("python", "TASK_FINISHED")
	if out := sandboxFile(t, rig, "python", "stdout"); !strings.HasSuffix(out, "\nsix 6\n") {
		t.Errorf("stdout %q", out)
	}

	f.launchIn(container(rig.Docker().Image()), "long", "trap '' TERM; sleep 1000")
	f.await("long", "TASK_RUNNING")
	running := func() string {
		names, err := rig.Docker().output(t.Context(), "ps", "--all", "--format", "{{.Names}}")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	eventually(t, "container", func() bool { return strings.Contains(running(), "mesos-") })
	rig.StopAgent(t, syscall.SIGKILL)
	rig.StartAgent(t)
	f.kill("long", int64(10*time.Millisecond))
	f.await("long", "TASK_KILLED") // which the agent knows of, although it was away

	f.launchIn(container(rig.Docker().Image()), "left", "trap '' TERM; sleep 1000")
	f.await("left", "TASK_RUNNING")
	eventually(t, "container", func() bool { return strings.Contains(running(), "mesos-") })
	daemon := StartDocker(t) // still there to be asked, after the rig has given it back
	if err := rig.Mesos.Down(); err != nil {
		t.Fatal(err)
	}
	if names, err := daemon.output(t.Context(), "ps", "--all", "--format", "{{.Names}}"); err != nil || strings.Contains(names, "mesos-") {
		t.Errorf("the rig is down and a container is left: %v %s", err, names)
	}
}

// container is the ContainerInfo of an image with the host's network.
func container(image string) object {
	return object{"type": "DOCKER", "docker": object{"image": image, "network": "HOST"}}
}
