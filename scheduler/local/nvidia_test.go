package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// listed is what nvidia-smi -L says of a machine with all kinds of devices.
const listed = `GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 1g.5gb      Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)
GPU 1: Tesla V100 (16GB) (UUID: GPU-5d000000-0000-0000-0000-000000000001)
GPU 2: Orin (nvgpu) (UUID: N/A)
  MIG 1g.5gb      Device  0: (UUID: MIG-of-a-device-without-a-name)
GPU 3: A30 (UUID: GPU-b0000000-0000-0000-0000-000000000003)
  MIG 1g.6gb Device 0: (UUID: MIG-GPU-b0000000-0000-0000-0000-000000000003/1/0)
  MIG 1g.6gb Device 1: (UUID: MIG-GPU-b0000000-0000-0000-0000-000000000003/1/01)
`

// short names the devices of listed.
var short = map[string]string{
	"MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f": "0a", "MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb": "0b",
	"GPU-5d000000-0000-0000-0000-000000000001":          "1",
	"MIG-GPU-b0000000-0000-0000-0000-000000000003/1/0":  "3a",
	"MIG-GPU-b0000000-0000-0000-0000-000000000003/1/01": "3b",
}

func shortly(found []gpu) string {
	var names []string
	for _, g := range found {
		name := short[g.uuid]
		if name == "" {
			name = g.uuid
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestTheListOfDevicesIsRead(t *testing.T) {
	for name, test := range map[string]struct{ list, want string }{
		"all kinds":         {listed, "0a 0b 1 3a 3b"},
		"twice":             {listed + listed, "0a 0b 1 3a 3b"},
		"no end of line":    {"GPU 1: Tesla V100 (16GB) (UUID: GPU-5d000000-0000-0000-0000-000000000001)", "1"},
		"carriage returns":  {strings.ReplaceAll(listed, "\n", "\r\n"), "0a 0b 1 3a 3b"},
		"none":              {"No devices found.\n", ""},
		"nothing":           {"", ""},
		"a failure":         {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", ""},
		"cut":               {listed[:len("GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5b")], ""},
		"a slice of no one": {"  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)\n", ""},
		"a comma":           {"GPU 0: x (UUID: GPU-a,GPU-b)\n", ""},
		"no text":           {"\x00\xff\n\n\nGPU \n", ""},
	} {
		if got := shortly(parseGPUs(test.list)); got != test.want {
			t.Errorf("%s: devices %q, want %q", name, got, test.want)
		}
	}
}

func TestTheCallersOwnVisibleDevicesAreKeptTo(t *testing.T) {
	for value, want := range map[string]string{
		"1":        "1",
		" 1 , 0 ":  "1 0a 0b",
		"3,1,1,3":  "3a 3b 1",
		"":         "",
		"-1":       "",
		"1,-1,0":   "1",
		"1,,0":     "1",
		"1,7,0":    "1",
		"2":        "", // has no UUID to hand it out by
		"all":      "",
		"NoDevice": "",
		"GPU-5d000000-0000-0000-0000-000000000001": "1",
		"GPU-5d5":                              "0a 0b",
		"GPU-5d":                               "", // of two
		"GPU-":                                 "",
		"5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77": "",
		"MIG-cb,0":                             "0b 0a",
		"MIG-c":                                "",
		"MIG-GPU-b0000000-0000-0000-0000-000000000003/1/0,1":  "3a 1",
		"MIG-GPU-b0000000-0000-0000-0000-000000000003/1/01,1": "3b 1",
		"MIG-GPU-b0000000-0000-0000-0000-000000000003/1":      "",
	} {
		if got := shortly(visibleGPUs(parseGPUs(listed), value)); got != want {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q leaves %q, want %q", value, got, want)
		}
	}
}

func TestAMachineWhoseDevicesCannotBeListedHasNone(t *testing.T) {
	for name, script := range map[string]string{
		"fails":          listOf(2) + "\necho 'Failed to initialize NVML' >&2; exit 9",
		"dies":           listOf(2) + "\nkill -9 $$",
		"broken":         "echo '<html>'",
		"endless":        "exec yes 'GPU 0: x (UUID: GPU-a)'",
		"leaves a child": listOf(2) + "\nsleep 1000 &",
	} {
		t.Run(name, func(t *testing.T) {
			config := testConfig(t)
			withSMI(t, "echo $$ > \"$0.pid\"\n"+script)(&config)
			if got := findGPUs(t.Context(), config.Env, discard); len(got) > 0 {
				t.Errorf("%v found, want none", got)
			}
			dir, _, _ := strings.Cut(strings.TrimPrefix(config.Env[0], "PATH="), ":")
			_ = syscall.Kill(-pidIn(t, filepath.Join(dir, "nvidia-smi.pid")), syscall.SIGKILL) // the child that is left
		})
	}
	if got := findGPUs(t.Context(), []string{"PATH=" + t.TempDir()}, discard); len(got) > 0 {
		t.Errorf("without nvidia-smi %v are found", got)
	}
}

func TestAnNvidiaSMIThatHangsIsKilledAndTheAgentStartsWithoutGPUs(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	m := startMesos(t, withSMI(t, listOf(2)+"\nsh -c 'echo $$; exec sleep 1000' > "+pids))
	pid := pidIn(t, pids)
	eventually(t, "what nvidia-smi had started has ended, too", func() bool { return !alive(pid) })
	c := subscribe(t, m, modern)
	o := c.offer()
	if got := amount(o, "gpus"); got != 0 {
		t.Errorf("%g gpus offered, want none", got)
	}
	c.accept([]mesos.Offer{o}, c.gpuTask("one", "true", 1))
	if got := c.status("one", mesos.TASK_ERROR).GetMessage(); !strings.Contains(got, "gpus 1") {
		t.Errorf("a task with a GPU is refused with %q", got)
	}
}

func TestTheStartThatIsCancelledDoesNotWaitForNvidiaSMI(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	config := testConfig(t)
	began := filepath.Join(t.TempDir(), "began")
	withSMI(t, fmt.Sprintf("echo $$ > %s; exec sleep 1000", began))(&config)
	done := make(chan []string, 1)
	go func() { done <- findGPUs(ctx, config.Env, discard) }()
	pid := pidIn(t, began)
	cancel()
	select {
	case got := <-done:
		if len(got) > 0 || alive(pid) {
			t.Errorf("found %v, want none; nvidia-smi runs: %t", got, alive(pid))
		}
	case <-time.After(patience):
		t.Fatal("it waits for nvidia-smi")
	}
}

func TestTheLastOfTwoVariablesCounts(t *testing.T) {
	config := testConfig(t)
	withSMI(t, listOf(3), "CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=2")(&config)
	if got := findGPUs(t.Context(), config.Env, discard); !slices.Equal(got, []string{"GPU-2"}) {
		t.Errorf("found %v, want GPU-2", got)
	}
	if _, err := os.Stat(config.WorkDir); err == nil {
		t.Error("to look for devices makes a sandbox")
	}
}
