package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/offer"
)

// withSMI gives the agent an nvidia-smi that is a shell script, and asks for GPUs.
func withSMI(t testing.TB, script string, env ...string) func(*Config) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		c.Resources.GPUs = true
		c.Env = append([]string{"PATH=" + dir + ":/usr/bin:/bin"}, env...)
	}
}

// listOf is a script that lists n GPUs: GPU-0, GPU-1 and so on.
func listOf(n int) string {
	script := `[ "$*" = -L ] || exit 2`
	for i := range n {
		script += fmt.Sprintf("\necho 'GPU %d: NVIDIA A100-SXM4-40GB (UUID: GPU-%d)'", i, i)
	}
	return script
}

var gpuAware = capable(mesos.FrameworkInfo_Capability_GPU_RESOURCES)

// amount is how much of a resource an offer has.
func amount(o mesos.Offer, name string) (sum float64) {
	for _, r := range o.Resources {
		if r.Name == name {
			sum += r.Scalar.Value
		}
	}
	return sum
}

// gpuTask is a task with GPUs that uses little else.
func (c *client) gpuTask(id, script string, gpus float64, env ...mesos.Environment_Variable) mesos.TaskInfo {
	task := c.task(id, script)
	task.Resources = []mesos.Resource{scalar("cpus", 0.1), scalar("mem", 32), scalar("gpus", gpus)}
	task.Command.Environment = &mesos.Environment{Variables: env}
	return task
}

const sayDevices = `echo "$CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES"`

func TestKnownFault029EachTaskIsToldOfDevicesOfItsOwn(t *testing.T) {
	m := startMesos(t, withSMI(t, listOf(4), "CUDA_VISIBLE_DEVICES=3,1,0", "NVIDIA_VISIBLE_DEVICES=all"))
	c := subscribe(t, m, modern, gpuAware)
	o := c.offer()
	if got := amount(o, "gpus"); got != 3 {
		t.Fatalf("%g gpus offered, want the 3 that CUDA_VISIBLE_DEVICES names", got)
	}
	zero := "0"
	own := []mesos.Environment_Variable{{Name: "CUDA_VISIBLE_DEVICES", Value: &zero}, {Name: "NVIDIA_VISIBLE_DEVICES", Value: &zero}}
	tasks := []mesos.TaskInfo{c.gpuTask("two", sayDevices, 2), c.gpuTask("own", sayDevices, 1, own...), c.gpuTask("none", sayDevices, 0), c.gpuTask("wish", sayDevices, 0, own...)}
	c.accept([]mesos.Offer{o}, tasks...)
	for ended := 0; ended < len(tasks); {
		event := c.next()
		if event.Type != scheduler.Event_UPDATE {
			continue
		}
		status := &event.Update.Status
		c.ack(status)
		if status.GetState() == mesos.TASK_FINISHED {
			ended++
		}
	}
	for id, want := range map[string]string{"two": "GPU-3,GPU-1 GPU-3,GPU-1\n", "own": "GPU-0 GPU-0\n", "none": "-1 void\n", "wish": "0 0\n"} {
		if got := m.read(t, id, "stdout"); got != want {
			t.Errorf("task %s sees %q, want %q", id, got, want)
		}
	}
}

func TestTasksSeeNoDeviceWhereNobodyAsksForOne(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	m := startMesos(t, withSMI(t, "touch "+asked, "CUDA_VISIBLE_DEVICES=0"), func(c *Config) { c.Resources.GPUs = false })
	c := subscribe(t, m, modern)
	c.launch(sayDevices, "one")
	c.acked("one", mesos.TASK_RUNNING)
	c.acked("one", mesos.TASK_FINISHED)
	if got := m.read(t, "one", "stdout"); got != "-1 void\n" {
		t.Errorf("the task sees %q, want -1 void", got)
	}
	if _, err := os.Stat(asked); err == nil {
		t.Error("nvidia-smi was asked though no task wants a GPU")
	}
}

// TestDevicesComeBackWhenTheGroupIsGone has a device go through many hands, some
// of which leave processes behind that say whether they run.
func TestDevicesComeBackWhenTheGroupIsGone(t *testing.T) {
	m := startMesos(t, withSMI(t, listOf(1)))
	c := subscribe(t, m, modern, gpuAware)
	left := filepath.Join(t.TempDir(), "left")
	leave := fmt.Sprintf("sh -c \"trap '' TERM HUP; sleep 1000\" & echo $! > %s; ", left)
	o := c.offer()
	for i, test := range []struct {
		script string
		end    mesos.TaskState
	}{
		{"true", mesos.TASK_FINISHED}, {"exit 3", mesos.TASK_FAILED}, {"kill -9 $$", mesos.TASK_FAILED},
		{leave + "true", mesos.TASK_FINISHED}, {leave + "exit 3", mesos.TASK_FAILED}, {leave + "kill -9 $$", mesos.TASK_FAILED},
		{leave + "wait", mesos.TASK_KILLED}, {"", mesos.TASK_FAILED},
	} {
		if got := amount(o, "gpus"); got != 1 {
			t.Fatalf("before task %d %g gpus are offered, want 1", i, got)
		}
		task := c.gpuTask(fmt.Sprint(i), test.script, 1)
		if test.script == "" { // it cannot be started
			no, path := false, "/no/such/program"
			task.Command.Shell, task.Command.Value = &no, &path
		}
		c.accept([]mesos.Offer{o}, task)
		var end mesos.TaskState
		end, o = c.follow(task.TaskID.Value, func() {
			if test.end == mesos.TASK_KILLED {
				pidIn(t, left)
				c.kill(task.TaskID.Value, 0)
			}
		})
		if end != test.end {
			t.Errorf("task %d ends as %s, want %s", i, end, test.end)
		}
		if _, err := os.Stat(left); err != nil {
			continue
		}
		if alive(pidIn(t, left)) {
			t.Fatalf("the device is offered again while a process of task %d runs", i)
		}
		if err := os.Remove(left); err != nil {
			t.Fatal(err)
		}
	}
}

// follow acknowledges a task's updates until it has ended and there is a new
// offer, in either order.
func (c *client) follow(id string, running func()) (end mesos.TaskState, o mesos.Offer) {
	c.t.Helper()
	ended, offered := false, false
	for !ended || !offered {
		event := c.next()
		switch {
		case event == nil:
			c.t.Fatal("the stream has ended")
		case event.Type == scheduler.Event_OFFERS:
			o, offered = event.Offers.Offers[0], true
		case event.Type == scheduler.Event_UPDATE && event.Update.Status.TaskID.Value == id:
			c.ack(&event.Update.Status)
			switch end = event.Update.Status.GetState(); end {
			case mesos.TASK_RUNNING:
				running()
			case mesos.TASK_KILLING:
			default:
				ended = true
			}
		default:
			c.t.Fatalf("got %+v, want an offer or an update of %s", event, id)
		}
	}
	return end, o
}

func TestADeviceInWhichAProcessHangsIsNotOfferedAgain(t *testing.T) {
	m := newMesos(propertyConfig, propertyGPUs, nil)
	f := &framework{id: "f", removed: true}
	hangs := &task{framework: f, resources: offer.Resources{CPUs: 1000, GPUs: 3000}}
	m.assign(hangs)
	m.withhold(hangs)
	m.end(hangs, mesos.TASK_FAILED, nil, "")
	want := m.total
	want.GPUs = 1000
	if free := m.free(); free != want {
		t.Errorf("%v are free, want %v: all but the devices that are in use", free, want)
	}
}

func TestDevicesAreHandedOutInOrderAndOnce(t *testing.T) {
	d := newDevices([]string{"c", "a", "b"})
	first, second := d.take(2), d.take(1)
	if !slices.Equal(first, []string{"c", "a"}) || !slices.Equal(second, []string{"b"}) || d.idle() != 0 {
		t.Errorf("got %v and %v, %d left", first, second, d.idle())
	}
	d.giveBack(first[:1])
	if again := d.take(1); !slices.Equal(again, []string{"c"}) {
		t.Errorf("got %v, want what came back", again)
	}
	if strings.Join(d.take(0), "") != "" {
		t.Error("a task without GPUs has one")
	}
}
