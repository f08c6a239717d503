package local

import (
	"slices"
	"strings"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"tfmesos/shared/logkey"
)

// The variables that tell CUDA, and the NVIDIA container runtime, which
// devices there are for a process.
const (
	cudaDevices   = "CUDA_VISIBLE_DEVICES"
	nvidiaDevices = "NVIDIA_VISIBLE_DEVICES"
)

// devices are the agent's GPUs by their UUIDs. Each is idle or one task's.
type devices struct {
	order []string // as they are handed out
	held  map[string]bool
}

func newDevices(uuids []string) devices { return devices{order: uuids, held: map[string]bool{}} }

func (d devices) idle() int { return len(d.order) - len(d.held) }

// take returns n idle devices, which are the caller's from then on. There are
// as many, since no more than the idle ones are ever offered.
func (d devices) take(n int) (taken []string) {
	for _, uuid := range d.order {
		if len(taken) < n && !d.held[uuid] {
			d.held[uuid] = true
			taken = append(taken, uuid)
		}
	}
	return taken
}

func (d devices) giveBack(uuids []string) {
	for _, uuid := range uuids {
		delete(d.held, uuid)
	}
}

// assign gives a task its devices.
func (m *Mesos) assign(t *task) {
	t.devices = m.devices.take(int(t.resources.GPUs.Float()))
	if len(t.devices) == 0 {
		return
	}
	m.log.Debug("task has devices", logkey.TaskID, t.id(), logkey.Devices, strings.Join(t.devices, ","))
	if len(t.devices) > 1 && slices.ContainsFunc(t.devices, isMIG) {
		m.log.Warn("CUDA shows a program only one MIG device: let the task ask for 1 gpu", logkey.TaskID, t.id(), logkey.Count, len(t.devices))
	}
}

// release takes the devices of a task back. None of its processes runs any more.
func (m *Mesos) release(t *task) {
	m.devices.giveBack(t.devices)
	t.devices = nil
}

// withhold is for a task that ends while a process of it hangs, most likely in
// a device: the next task would find that in use.
func (m *Mesos) withhold(t *task) {
	if len(t.devices) > 0 {
		m.log.Warn("devices are not offered again: a process that used them does not end", logkey.TaskID, t.id(), logkey.Devices, strings.Join(t.devices, ","))
	}
}

// withDevices is the environment of a task: that of the agent without word of
// devices, then the task's own variables. Over a task's devices it has no say,
// for they would not be its alone; without devices, what it asks to see is its
// own affair.
func withDevices(agent []string, own []mesos.Environment_Variable, devices []string) []string {
	env := slices.DeleteFunc(slices.Clone(agent), func(pair string) bool {
		return strings.HasPrefix(pair, cudaDevices+"=") || strings.HasPrefix(pair, nvidiaDevices+"=")
	})
	env = append(env, nvidiaDevices+"=void", cudaDevices+"=-1")
	for _, v := range own {
		env = append(env, v.Name+"="+v.GetValue())
	}
	if len(devices) > 0 {
		uuids := strings.Join(devices, ",")
		env = append(env, nvidiaDevices+"="+uuids, cudaDevices+"="+uuids)
	}
	return env
}
