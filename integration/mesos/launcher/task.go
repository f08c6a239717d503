package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// taskInfo is what is used of Mesos' TaskInfo.
type taskInfo struct {
	TaskID     idValue     `json:"task_id"`
	Command    command     `json:"command"`
	Container  container   `json:"container"`
	Resources  []resource  `json:"resources"`
	KillPolicy *killPolicy `json:"kill_policy"`

	raw json.RawMessage // the whole of it, to give back to the agent
}

// resource is what is used of Mesos' Resource.
type resource struct {
	Name   string `json:"name"`
	Scalar struct {
		Value float64 `json:"value"`
	} `json:"scalar"`
}

func readTask(raw json.RawMessage) (*taskInfo, error) {
	task := &taskInfo{raw: raw}
	if err := json.Unmarshal(raw, task); err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	return task, nil
}

// taskKind is the difference between a command and a container.
type taskKind interface {
	// prepare returns the process whose life is the task's.
	prepare(task taskInfo, flags map[string]string) *exec.Cmd
	// terminate asks the task to end within grace.
	terminate(p *process, grace time.Duration)
	// kill ends the task without asking.
	kill(p *process)
	// subscribed is called once, when the agent knows the executor.
	subscribed()
	// runs returns a channel that is closed when the task runs; nil for one that does when its process has started.
	runs() <-chan struct{}
	// noun begins the message of the last update.
	noun() string
}

// commandTask runs the task's command as a child in the sandbox.
type commandTask struct{}

func (commandTask) noun() string                          { return "Command" }
func (commandTask) subscribed()                           {}
func (commandTask) runs() <-chan struct{}                 { return nil }
func (commandTask) terminate(p *process, _ time.Duration) { p.killGroup(syscall.SIGTERM) }
func (commandTask) kill(p *process)                       { p.killGroup(syscall.SIGKILL) }

func (commandTask) prepare(task taskInfo, flags map[string]string) *exec.Cmd {
	var added environment
	json.Unmarshal([]byte(flags["task_environment"]), &added) // not there: nothing added
	path, argv, err := task.Command.argv()
	cmd := &exec.Cmd{Path: path, Args: argv, Err: err}
	cmd.Env = append(append(os.Environ(), added.list()...), task.Command.Environment.list()...)
	return cmd
}

// process is a running task: a process group of its own.
type process struct{ pid int }

// start runs cmd and sends how it ended. The kernel kills the process when this executor dies: that promise is bound to
// the thread that started it, so one goroutine keeps its thread from start to end.
func start(cmd *exec.Cmd, exited chan<- error) (*process, error) {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	fmt.Println("running", strings.Join(cmd.Args, " "))
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			exited <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &process{pid: cmd.Process.Pid}, nil
}

// killGroup signals every process of the task's group; none there is not an error.
func (p *process) killGroup(signal syscall.Signal) {
	_ = syscall.Kill(-p.pid, signal)
}

// exitText says how a process ended, in Mesos' words.
func exitText(err error) string {
	var exit *exec.ExitError
	if err == nil {
		return "exited with status 0"
	}
	if !errors.As(err, &exit) {
		return err.Error()
	}
	status := exit.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		name := status.Signal().String()
		return "terminated with signal " + strings.ToUpper(name[:1]) + name[1:]
	}
	return fmt.Sprintf("exited with status %d", status.ExitStatus())
}
