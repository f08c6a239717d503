package mesosrig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a process that belongs to the rig and is neither master nor agent.
type Process struct {
	PID      int
	Command  string // its command line
	Executor bool   // a stand-in for one of Mesos' executors; otherwise of a task
}

// String is like "1234 sleep 1000".
func (p Process) String() string { return strconv.Itoa(p.PID) + " " + p.Command }

// Processes returns all executors and all processes of tasks. A process belongs to the rig when its environment names the
// rig's directory, as that of each task does (MESOS_SANDBOX), or when it works there.
func (m *Mesos) Processes() ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || m.isDaemon(pid) || !m.owns(pid) {
			continue
		}
		executable, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "exe"))
		found = append(found, Process{
			PID:      pid,
			Command:  commandLine(pid),
			Executor: filepath.Dir(executable) == m.build.launcherDir(),
		})
	}
	return found, nil
}

func (m *Mesos) isDaemon(pid int) bool {
	return slices.ContainsFunc(m.daemons(), func(d *daemon) bool { return d.running() && d.pid == pid })
}

// owns looks at one process. One that ends meanwhile, or belongs to somebody whose processes may not be looked at, is
// not ours.
func (m *Mesos) owns(pid int) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if dir, err := os.Readlink(filepath.Join(proc, "cwd")); err == nil && strings.HasPrefix(dir+"/", m.dir+"/") {
		return true
	}
	environ, err := os.ReadFile(filepath.Join(proc, "environ"))
	return err == nil && bytes.Contains(environ, []byte("="+m.dir+"/"))
}

func commandLine(pid int) string {
	line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
}

// endExecutors asks all executors to end, which takes their tasks along, and gives them a second. It is done while their
// agent still runs, so that the agent reaps them: an init of a container may be slow at that, or never do it.
func (m *Mesos) endExecutors(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	processes, _ := m.Processes()
	for _, p := range processes {
		if p.Executor {
			_ = syscall.Kill(p.PID, syscall.SIGTERM)
		}
	}
	_ = poll(ctx, 10*time.Millisecond, func() (bool, error) { // what is left then is killProcesses' to end
		processes = slices.DeleteFunc(processes, func(p Process) bool {
			return !p.Executor || syscall.Kill(p.PID, 0) != nil
		})
		return len(processes) == 0, nil
	})
}

// killProcesses ends every executor and task, and returns an error that names what is left.
func (m *Mesos) killProcesses(ctx context.Context) error {
	var left []Process
	err := poll(ctx, 10*time.Millisecond, func() (bool, error) {
		var err error
		left, err = m.Processes()
		for _, p := range left {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return false, fmt.Errorf("kill %s: %w", p, err)
			}
		}
		return len(left) == 0, err
	})
	if err != nil {
		return fmt.Errorf("end executors and tasks: %w; left: %v", err, left)
	}
	return nil
}

// removeContainers removes the Docker containers of the rig's agents. Docker's processes are not children of the agent, so
// a container outlives all else.
func (m *Mesos) removeContainers(ctx context.Context) error {
	if !strings.Contains(m.cfg.AgentFlags["containerizers"], "docker") && m.docker == nil {
		return nil
	}
	docker := func(args ...string) *exec.Cmd {
		if m.docker != nil {
			return m.docker.Command(ctx, args...)
		}
		return exec.CommandContext(ctx, "docker", args...)
	}
	listed, err := docker("ps", "--all", "--format", "{{.Names}}").Output()
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	for _, name := range strings.Fields(string(listed)) {
		id, ok := strings.CutPrefix(name, "mesos-")
		if !ok {
			continue
		}
		sandboxes, err := filepath.Glob(m.dir + "/agent*/agents/*/work/slaves/*/frameworks/*/executors/*/runs/" + id)
		if err != nil || len(sandboxes) == 0 {
			continue // of somebody else's agent
		}
		if out, err := docker("rm", "--force", name).CombinedOutput(); err != nil {
			return fmt.Errorf("remove container %s: %w: %s", name, err, out)
		}
	}
	return nil
}
