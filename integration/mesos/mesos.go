package mesosrig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// readyWithin is how long master and agent may take from their start until the agent is registered.
	readyWithin = 30 * time.Second
	// downWithin is how long the end of all may take.
	downWithin = 15 * time.Second
	// lookEvery is the pause between two looks at the master's state.
	lookEvery = 20 * time.Millisecond
	// tailLines is how much of a log an error shows.
	tailLines = 25
)

// Mesos is a running master with its agent. Its methods are not for several goroutines at once, State and Processes
// excepted.
type Mesos struct {
	cfg    Config
	build  build
	dir    string // all work directories and logs
	master *daemon
	docker *Docker   // nil without the Docker containerizer
	agents []*daemon // today one; each names its own directory, so that there can be more
}

// Up sets the rig up if need be, starts a master and an agent, and returns when the agent is registered. Down ends them.
func Up(ctx context.Context, cfg Config) (*Mesos, error) {
	b, err := setup(ctx, cfg)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mesos-rig-") // short: sandboxes have deep paths
	if err != nil {
		return nil, err
	}
	m := &Mesos{cfg: cfg, build: b, dir: dir}
	if err := m.up(ctx); err != nil {
		return nil, errors.Join(err, m.Down())
	}
	return m, nil
}

func (m *Mesos) up(ctx context.Context) error {
	if err := os.Chmod(m.dir, 0o755); err != nil { // tasks of other users work below it
		return err
	}
	if m.cfg.Docker {
		d, err := UpDocker(ctx, m.cfg.Logf)
		if err != nil {
			return err
		}
		m.docker = d
	}
	if err := m.describe(); err != nil {
		return err
	}
	for _, d := range m.daemons() {
		if err := d.start(); err != nil {
			return err
		}
	}
	return m.awaitReady(ctx)
}

// describe chooses ports and says how each daemon is started.
func (m *Mesos) describe() error {
	masterPort, err := portOr(m.cfg.MasterPort)
	if err != nil {
		return err
	}
	agentPort, err := portOr(m.cfg.AgentPort)
	if err != nil {
		return err
	}
	m.master = m.newDaemon("master", masterPort, []string{"master", m.workDir("master")},
		flagEnv(map[string]string{"hostname": "localhost"}, m.cfg.MasterFlags))
	m.agents = []*daemon{m.newDaemon("agent", agentPort,
		[]string{"agent", m.workDir("agent"), "127.0.0.1", strconv.Itoa(masterPort)},
		append(flagEnv(m.agentFlags("agent"), m.cfg.AgentFlags), m.cfg.AgentEnv...))}
	return nil
}

func portOr(wanted int) (int, error) {
	if wanted != 0 {
		return wanted, nil
	}
	return freePort()
}

func (m *Mesos) workDir(name string) string { return filepath.Join(m.dir, name) }

func (m *Mesos) newDaemon(name string, port int, args, env []string) *daemon {
	base := append(baseEnv(), "LIBPROCESS_IP=127.0.0.1", "LIBPROCESS_PORT="+strconv.Itoa(port))
	return &daemon{
		name: name, port: port, log: m.workDir(name) + ".log",
		argv: append([]string{m.build.mesosd()}, args...),
		env:  append(base, env...),
	}
}

// agentFlags are the flags an agent of the rig needs; the others are Mesos' own defaults.
func (m *Mesos) agentFlags(name string) map[string]string {
	flags := map[string]string{
		"hostname":     "localhost",
		"launcher":     "posix", // no cgroups, so that it runs anywhere
		"launcher_dir": m.build.launcherDir(),
		"resources":    m.cfg.Resources,
		// What would lie in directories all agents of a machine share.
		"runtime_dir":       filepath.Join(m.dir, name+"-run"),
		"fetcher_cache_dir": filepath.Join(m.dir, name+"-fetch"),
		// The agent's process has an idle master in it (see native/mesosd.cpp), which need not keep anything.
		"registry": "in_memory",
		// How long an agent waits at random before it registers: 1 s in Mesos, so that 10,000 agents do not come at once.
		"registration_backoff_factor": "10ms",
		// Only root can become another user.
		"switch_user": strconv.FormatBool(os.Geteuid() == 0),
	}
	if m.cfg.Resources == "" {
		flags["resources"] = DefaultResources
	}
	if m.docker != nil {
		flags["containerizers"] = "docker,mesos"
		flags["docker_socket"] = m.docker.socket
		flags["docker_kill_orphans"] = "false" // they may be containers of another agent
	}
	if m.cfg.Attributes != "" {
		flags["attributes"] = m.cfg.Attributes
	}
	return flags
}

func (m *Mesos) daemons() []*daemon {
	if m.master == nil {
		return nil
	}
	return append([]*daemon{m.master}, m.agents...)
}

// Master returns the master's address, host:port.
func (m *Mesos) Master() string { return m.master.address() }

// Docker returns the Docker daemon of the agents, nil without WithDocker.
func (m *Mesos) Docker() *Docker { return m.docker }

// Dir returns the directory that has the work directories and logs; it is gone after Down.
func (m *Mesos) Dir() string { return m.dir }

// State asks the master.
func (m *Mesos) State(ctx context.Context) (State, error) { return fetchState(ctx, m.Master()) }

// StopMaster ends the master with the signal (SIGKILL or SIGTERM) and returns when it has ended. Tasks run on.
func (m *Mesos) StopMaster(signal syscall.Signal) error { return m.master.stop(signal) }

// StartMaster starts the stopped master on the same port and work directory, and returns when it has the agent back, if
// that runs.
func (m *Mesos) StartMaster(ctx context.Context) error {
	if err := m.master.start(); err != nil {
		return err
	}
	return m.awaitReady(ctx)
}

// StopAgent ends the agent with the signal (SIGKILL or SIGTERM) and returns when the master, if it runs, has noticed.
// Executors of frameworks that checkpoint run on, with their tasks; the others end themselves.
func (m *Mesos) StopAgent(ctx context.Context, signal syscall.Signal) error {
	agent := m.agents[0]
	if err := agent.stop(signal); err != nil || !m.master.running() {
		return err
	}
	return m.await(ctx, "the master to notice that the agent is gone", func(s State) bool {
		return !s.activeAgent(agent.port)
	})
}

// StartAgent starts the stopped agent on the same port and work directory, and returns when it is registered again, if the
// master runs. It keeps its agent id and takes surviving executors back.
func (m *Mesos) StartAgent(ctx context.Context) error {
	if err := m.agents[0].start(); err != nil {
		return err
	}
	if !m.master.running() {
		return nil
	}
	return m.awaitReady(ctx)
}

// awaitReady waits until the master answers and has all agents that run.
func (m *Mesos) awaitReady(ctx context.Context) error {
	return m.await(ctx, "the agent to be registered with the master", func(s State) bool {
		for _, agent := range m.agents {
			if agent.running() && !s.activeAgent(agent.port) {
				return false
			}
		}
		return true
	})
}

// await waits until the master's state is as wanted. It gives up early when master or agent has died.
func (m *Mesos) await(ctx context.Context, what string, wanted func(State) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	before := m.runningNow()
	err := poll(ctx, lookEvery, func() (bool, error) {
		for _, d := range before {
			if !d.running() {
				return false, fmt.Errorf("%s has ended", d.name)
			}
		}
		state, err := m.State(ctx)
		return err == nil && wanted(state), nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w\n%s", what, err, m.Logs())
	}
	return nil
}

func (m *Mesos) runningNow() []*daemon {
	var running []*daemon
	for _, d := range m.daemons() {
		if d.running() {
			running = append(running, d)
		}
	}
	return running
}

// Logs returns the ends of all logs, for people.
func (m *Mesos) Logs() string {
	var text string
	for _, d := range m.daemons() {
		text += fmt.Sprintf("the end of the log of the %s on port %d:\n%s\n", d.name, d.port, d.logTail(tailLines))
	}
	return text
}

// Wait returns nil when ctx ends, and an error with its log when master or agent ends before that.
func (m *Mesos) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-m.master.ended:
	case <-m.agents[0].ended:
	}
	return fmt.Errorf("master or agent has ended\n%s", m.Logs())
}

// Down ends master, agent, executors and tasks, and removes all files. It returns an error that names what it could not
// end; it may be called again.
func (m *Mesos) Down() error {
	ctx, cancel := context.WithTimeout(context.Background(), downWithin)
	defer cancel()
	m.endExecutors(ctx)
	var errs []error
	for _, d := range m.daemons() {
		errs = append(errs, d.stop(syscall.SIGKILL))
	}
	errs = append(errs, m.removeContainers(ctx), m.killProcesses(ctx))
	for _, d := range m.daemons() {
		errs = append(errs, portIsFree(d))
	}
	errs = append(errs, os.RemoveAll(m.dir))
	if m.docker != nil {
		errs = append(errs, m.docker.Down())
		m.docker = nil
	}
	return errors.Join(errs...)
}

// portIsFree returns an error when somebody still listens where the daemon did.
func portIsFree(d *daemon) error {
	if d.ended == nil {
		return nil
	}
	if conn, err := net.DialTimeout("tcp", d.address(), time.Second); err == nil {
		conn.Close()
		return fmt.Errorf("port %d of the %s is still listened on", d.port, d.name)
	}
	return nil
}
