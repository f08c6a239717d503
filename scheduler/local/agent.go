package local

import (
	"slices"
	"syscall"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/logkey"
)

// graceDefault is how long a task has between SIGTERM and SIGKILL.
const graceDefault = 3 * time.Second

// taskKey names a task: ids are unique in a framework only.
type taskKey struct{ framework, task string }

// task is a launched task, until its last update is acknowledged.
type task struct {
	framework *framework
	info      mesos.TaskInfo
	container string // the id of what a real agent would run it in
	resources offer.Resources
	devices   []string // UUIDs of its GPUs, see release
	process   *process // while it runs
	ended     bool     // its latest state is terminal: it uses no resources

	killed   bool      // it was told to end
	killAt   time.Time // when it gets SIGKILL; zero: not now, or it got it
	hardKill bool      // it got SIGKILL

	updates  []mesos.TaskStatus // not acknowledged; the first is in flight
	known    *mesos.TaskStatus  // what the master has heard of it
	resendAt time.Time
	wait     time.Duration // before the next resend
}

func (t *task) id() string   { return t.info.TaskID.Value }
func (t *task) key() taskKey { return taskKey{t.framework.id, t.id()} }

// grace is how long the task has to end: as the call says, or else its
// own policy, or else the default.
func (t *task) grace(call *mesos.KillPolicy) time.Duration {
	for _, policy := range []*mesos.KillPolicy{call, t.info.KillPolicy} {
		if g := policy.GetGracePeriod(); g != nil {
			return max(0, time.Duration(g.Nanoseconds))
		}
	}
	return graceDefault
}

// launch hands a valid task to the forking thread.
func (m *Mesos) launch(f *framework, info mesos.TaskInfo, need offer.Resources) {
	t := &task{framework: f, info: info, container: newUUID().String(), resources: need}
	m.assign(t)
	m.tasks[t.key()] = t
	m.running.Add(1)
	m.forks.put(t)
}

// start makes the task's process. Only the forking thread calls it.
func (m *Mesos) start(t *task) {
	m.mu.Lock()
	if t.killed {
		m.end(t, mesos.TASK_KILLED, mesos.REASON_TASK_KILLED_DURING_LAUNCH.Enum(), "Task was killed before it was started")
		m.release(t)
		m.settle()
		m.mu.Unlock()
		m.running.Done()
		return
	}
	m.mu.Unlock()

	p, err := startProcess(m.command(t))

	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.settle()
	if err != nil {
		m.end(t, mesos.TASK_FAILED, mesos.REASON_CONTAINER_LAUNCH_FAILED.Enum(), err.Error())
		m.release(t)
		m.running.Done()
		return
	}
	t.process = p
	m.log.Debug("task started", logkey.TaskID, t.id(), logkey.PID, p.pid)
	m.update(t, m.agentStatus(t, mesos.TASK_RUNNING))
	if t.killed { // meanwhile
		m.killSoft(t)
	}
	go m.watch(t, p) // ends with the process; m.running waits for it
}

// watch follows a task's process to its end.
func (m *Mesos) watch(t *task, p *process) {
	defer m.running.Done()
	p.await()
	m.mu.Lock()
	t.process = nil // its pid is free for another process from here on
	m.mu.Unlock()
	status := p.reap()
	gone := !status.Signaled() || killStrays(m.sandbox(t))
	gone = p.awaitGroup() && gone // the end is not reported before: what the task had is free with it

	m.mu.Lock()
	defer m.mu.Unlock()
	if gone {
		m.release(t)
	} else {
		m.withhold(t)
	}
	message := "Command " + describe(status)
	switch {
	case t.killed:
		m.end(t, mesos.TASK_KILLED, nil, message)
	case status.Exited() && status.ExitStatus() == 0:
		m.end(t, mesos.TASK_FINISHED, nil, message)
	default:
		m.end(t, mesos.TASK_FAILED, nil, message) // REASON_COMMAND_EXECUTOR_FAILED is for an executor that has failed, not its command
	}
	m.settle()
}

// end is the last state of a task. Its resources are free at once, whether or
// not its framework has acknowledged. (Devices: see release.)
func (m *Mesos) end(t *task, state mesos.TaskState, reason *mesos.TaskStatus_Reason, message string) {
	t.ended, t.killAt = true, time.Time{}
	m.log.Debug("task ended", logkey.TaskID, t.id(), logkey.State, state.String(), logkey.Reason, message)
	status := m.agentStatus(t, state)
	status.Reason, status.Message = reason, &message
	m.update(t, status)
}

func (m *Mesos) killCall(f *framework, call *scheduler.Call_Kill) {
	t := m.tasks[taskKey{f.id, call.TaskID.Value}]
	switch {
	case t == nil:
		m.sendStatus(f, m.unknownTask(f, call.TaskID, call.AgentID))
	case call.AgentID != nil && call.AgentID.Value != m.agentID:
		m.log.Warn("kill ignored: the task is on another agent", logkey.TaskID, t.id(), logkey.AgentID, call.AgentID.Value)
	default:
		m.kill(t, time.Now().Add(t.grace(call.KillPolicy)))
	}
}

// kill ends a task: SIGTERM now, SIGKILL at the deadline. Another kill can only
// bring the deadline nearer.
func (m *Mesos) kill(t *task, deadline time.Time) {
	if t.ended || t.hardKill {
		return
	}
	if t.killed {
		if deadline.Before(t.killAt) {
			t.killAt = deadline
		}
		return
	}
	t.killed, t.killAt = true, deadline
	if t.process != nil {
		m.killSoft(t)
	}
}

func (m *Mesos) killSoft(t *task) {
	if t.framework.can(mesos.FrameworkInfo_Capability_TASK_KILLING_STATE) {
		m.update(t, m.agentStatus(t, mesos.TASK_KILLING))
	}
	t.process.signal(syscall.SIGTERM)
}

// killHard is due when the grace is over. A task that is just being started
// gets it as soon as it has a process.
func (m *Mesos) killHard(t *task) {
	if t.process == nil {
		t.killAt = time.Now().Add(time.Millisecond)
		return
	}
	t.killAt, t.hardKill = time.Time{}, true
	t.process.killTree()
}

// command is how the task's process is to be started.
func (m *Mesos) command(t *task) command {
	sandbox := m.sandbox(t)
	info := t.info.Command
	c := command{dir: sandbox, path: info.GetValue(), args: info.Arguments}
	if info.GetShell() {
		c.path, c.args = "/bin/sh", []string{"sh", "-c", info.GetValue()}
	} else if len(c.args) == 0 {
		c.args = []string{c.path}
	}
	c.env = append(slices.Clone(m.config.Env),
		"PWD="+sandbox,
		"MESOS_SANDBOX="+sandbox,
		"MESOS_DIRECTORY="+sandbox,
		"MESOS_TASK_ID="+t.id(),
		"MESOS_AGENT_ID="+m.agentID,
		"MESOS_FRAMEWORK_ID="+t.framework.id,
	)
	c.env = withDevices(c.env, info.GetEnvironment().GetVariables(), t.devices)
	return c
}
