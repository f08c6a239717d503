package mesosrig

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// readyWithin is how long masters and agents may take from their start until the agents are registered.
	readyWithin = 60 * time.Second
	// downWithin is how long the end of all may take.
	downWithin = 15 * time.Second
	// lookEvery is the pause between two looks at the master's state.
	lookEvery = 20 * time.Millisecond
	// tailLines is how much of a log an error shows.
	tailLines = 25
)

// Mesos is a running master with its agent, or several of them. Its methods are not for several goroutines at once, State and
// Processes excepted.
type Mesos struct {
	cfg       Config
	build     build
	dir       string  // all work directories and logs
	docker    *Docker // nil without the Docker containerizer
	zooKeeper *daemon // nil without election
	masters   []*daemon
	agents    []*daemon
}

// Up sets the rig up if need be, starts what the Config says, and returns when all agents are registered. Down ends them.
func Up(ctx context.Context, cfg Config) (*Mesos, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
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
	if m.zooKeeper != nil {
		if err := m.StartZooKeeper(ctx); err != nil {
			return err
		}
	}
	for _, d := range slices.Concat(m.masters, m.agents) {
		if err := d.start(); err != nil {
			return err
		}
	}
	return m.awaitWhole(ctx)
}

// describe chooses ports and says how each daemon is started.
func (m *Mesos) describe() error {
	if m.cfg.Masters > 0 {
		if err := m.describeZooKeeper(); err != nil {
			return err
		}
	}
	for i := range max(1, m.cfg.Masters) {
		if err := m.describeMaster(i); err != nil {
			return err
		}
	}
	for i, agent := range m.cfg.agents() {
		if err := m.describeAgent(i, agent); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mesos) describeMaster(i int) error {
	d, err := m.newDaemon("master", i, localIP, m.cfg.MasterPort)
	if err != nil {
		return err
	}
	flags := map[string]string{"hostname": "localhost"}
	d.argv = []string{m.build.mesosd(), "master", m.workDir(d.name)}
	if m.zooKeeper != nil {
		d.argv = append(d.argv, "zk", m.zooKeeper.address(), strconv.Itoa(m.cfg.Masters/2+1))
	}
	if len(m.cfg.Credentials) > 0 {
		path, err := m.writeCredentials()
		if err != nil {
			return err
		}
		maps.Copy(flags, map[string]string{"authenticate_http_frameworks": "true", "http_framework_authenticators": "basic", "credentials": path})
	}
	d.env = append(d.env, flagEnv(flags, m.cfg.MasterFlags)...)
	m.masters = append(m.masters, d)
	return nil
}

// writeCredentials writes them as Mesos reads them, and returns the path.
func (m *Mesos) writeCredentials() (string, error) {
	type credential struct {
		Principal string `json:"principal"`
		Secret    string `json:"secret"`
	}
	var all []credential
	for _, principal := range slices.Sorted(maps.Keys(m.cfg.Credentials)) {
		all = append(all, credential{principal, m.cfg.Credentials[principal]})
	}
	content, err := json.Marshal(map[string]any{"credentials": all})
	if err != nil {
		return "", err
	}
	path := filepath.Join(m.dir, "credentials.json")
	return path, os.WriteFile(path, content, 0o600)
}

func (m *Mesos) describeAgent(i int, agent AgentConfig) error {
	d, err := m.newDaemon("agent", i, agent.ip(), m.cfg.AgentPort)
	if err != nil {
		return err
	}
	d.argv = []string{m.build.mesosd(), "agent", m.workDir(d.name)}
	if m.zooKeeper != nil {
		d.argv = append(d.argv, "zk", m.zooKeeper.address())
	} else {
		d.argv = append(d.argv, localIP, strconv.Itoa(m.masters[0].port))
	}
	d.env = append(d.env, flagEnv(m.agentFlags(d.name, agent), m.cfg.AgentFlags, agent.Flags)...)
	d.env = append(d.env, m.cfg.AgentEnv...)
	m.agents = append(m.agents, d)
	return nil
}

func (m *Mesos) workDir(name string) string { return filepath.Join(m.dir, name) }

// newDaemon is the i-th of its kind, the first of which may have a port that is wanted. The caller gives it its argv.
func (m *Mesos) newDaemon(kind string, i int, ip string, wanted int) (*daemon, error) {
	name, port := kind, wanted
	if i > 0 {
		name, port = kind+"-"+strconv.Itoa(i), 0
	}
	if port == 0 {
		var err error
		if port, err = freePort(ip); err != nil {
			return nil, err
		}
	}
	env := append(baseEnv(), "LIBPROCESS_IP="+ip, "LIBPROCESS_PORT="+strconv.Itoa(port))
	return &daemon{name: name, ip: ip, port: port, log: m.workDir(name) + ".log", env: env}, nil
}

// agentFlags are the flags an agent of the rig needs; the others are Mesos' own defaults.
func (m *Mesos) agentFlags(name string, agent AgentConfig) map[string]string {
	flags := map[string]string{
		"hostname":     agent.hostname(),
		"launcher":     "posix", // no cgroups, so that it runs anywhere
		"launcher_dir": m.build.launcherDir(),
		"resources":    cmp.Or(agent.Resources, m.cfg.Resources, DefaultResources),
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
	if m.docker != nil {
		flags["containerizers"] = "docker,mesos"
		flags["docker_socket"] = m.docker.socket
		flags["docker_kill_orphans"] = "false" // they may be containers of another agent
	}
	if attributes := cmp.Or(agent.Attributes, m.cfg.Attributes); attributes != "" {
		flags["attributes"] = attributes
	}
	return flags
}

// daemons are all, in the order of their start.
func (m *Mesos) daemons() []*daemon {
	all := slices.Concat(m.masters, m.agents)
	if m.zooKeeper != nil {
		all = append([]*daemon{m.zooKeeper}, all...)
	}
	return all
}

// Dir returns the directory that has the work directories and logs; it is gone after Down.
func (m *Mesos) Dir() string { return m.dir }

// Docker returns the Docker daemon of the agents, nil without WithDocker.
func (m *Mesos) Docker() *Docker { return m.docker }

// Logs returns the ends of all logs, for people.
func (m *Mesos) Logs() string {
	var text string
	for _, d := range m.daemons() {
		text += fmt.Sprintf("the end of the log of the %s on port %d:\n%s\n", d.name, d.port, d.logTail(tailLines))
	}
	return text
}

// Wait returns nil when ctx ends, and an error with all logs when one of what it runs ends before that. With an election, one of several
// masters may end, or be ended.
func (m *Mesos) Wait(ctx context.Context) error {
	running := m.runningNow()
	err := poll(ctx, 10*lookEvery, func() (bool, error) { return false, m.hopeless(running) })
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%w\n%s", err, m.Logs())
}

// Summary says what runs where, in one line each, for people.
func (m *Mesos) Summary(ctx context.Context) string {
	leads := -1
	if state, err := m.State(ctx); err == nil && m.zooKeeper != nil {
		leads = m.leader(state)
	}
	var text strings.Builder
	for _, d := range m.daemons() {
		note := ""
		if leads >= 0 && d == m.masters[leads] {
			note = fmt.Sprintf("  leads; to see another take over: kill -9 %d", d.pid)
		}
		fmt.Fprintf(&text, "%-10s %-15s pid %d%s\n", d.name, d.address(), d.pid, note)
	}
	return text.String()
}

// Down ends masters, agents, executors and tasks, and removes all files. It returns an error that names what it could not
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
