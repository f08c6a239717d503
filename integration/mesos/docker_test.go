package mesosrig

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
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
	if d.daemon == nil {
		t.Skip("a daemon that was there is used")
	}
	if _, err := d.output(t.Context(), "run", "--detach", "--network=host", d.Image(), "sh", "-c", "trap '' TERM; sleep 1000"); err != nil {
		t.Fatal(err)
	}
	if err := d.down(); err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), d.slot) || strings.Contains(string(mounts), runDir(d.slot)) {
		t.Errorf("mounts are left: %v\n%s", err, mounts)
	}
	if exists(runDir(d.slot)) {
		t.Errorf("%s is left", runDir(d.slot))
	}
	eventually(t, "end of all that the daemon has started", func() bool {
		entries, err := os.ReadDir("/proc")
		return err == nil && !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
			pid, err := strconv.Atoi(entry.Name())
			return err == nil && strings.Contains(commandLine(pid), runDir(d.slot))
		})
	})
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
