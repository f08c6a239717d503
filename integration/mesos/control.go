package mesosrig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// Master returns the address of the first master, host:port. Any master does: those that do not lead redirect to the one that does.
func (m *Mesos) Master() string { return m.masters[0].address() }

// Masters returns the addresses of all masters.
func (m *Mesos) Masters() []string { return addresses(m.masters) }

// Agents returns the addresses of all agents.
func (m *Mesos) Agents() []string { return addresses(m.agents) }

func addresses(daemons []*daemon) (all []string) {
	for _, d := range daemons {
		all = append(all, d.address())
	}
	return all
}

// State asks the master that leads.
func (m *Mesos) State(ctx context.Context) (State, error) {
	errs := []error{errors.New("no master leads")}
	for _, master := range m.masters {
		if !master.running() {
			continue
		}
		state, err := fetchState(ctx, master.address())
		if err == nil {
			return state, nil
		}
		errs = append(errs, err)
	}
	return State{}, errors.Join(errs...)
}

// leader returns which master has given this state, -1 for none.
func (m *Mesos) leader(s State) int {
	for i, master := range m.masters {
		if strings.HasSuffix(s.Leader, "@"+master.address()) {
			return i
		}
	}
	return -1
}

// AwaitLeader waits until a master leads and returns which.
func (m *Mesos) AwaitLeader(ctx context.Context) (leader int, err error) {
	_, err = m.AwaitState(ctx, "a master to lead", func(s State) bool {
		leader = m.leader(s)
		return leader >= 0 && m.masters[leader].running()
	})
	return leader, err
}

// AwaitAgents waits until a master leads and has all agents that run.
func (m *Mesos) AwaitAgents(ctx context.Context) error {
	_, err := m.AwaitState(ctx, "all agents to be registered with the master", func(s State) bool {
		for _, agent := range m.agents {
			if agent.running() && !s.activeAgent(agent.address()) {
				return false
			}
		}
		return true
	})
	return err
}

// awaitWhole waits until all agents that run are registered, and each master that runs has caught up with the registry, so that any one
// of them can be lost next.
func (m *Mesos) awaitWhole(ctx context.Context) error {
	if err := m.AwaitAgents(ctx); err != nil {
		return err
	}
	_, err := m.AwaitState(ctx, "all masters to have the registry", func(State) bool {
		for _, master := range m.masters {
			if master.running() && len(m.masters) > 1 && !hasRegistry(ctx, master.address()) {
				return false
			}
		}
		return true
	})
	return err
}

// AwaitState waits for up to a minute until the state of the master that leads is as wanted, and returns it. It gives up early when what
// it would come from has ended. The error has the ends of all logs.
func (m *Mesos) AwaitState(ctx context.Context, what string, wanted func(State) bool) (state State, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	before := m.runningNow()
	err = poll(ctx, lookEvery, func() (bool, error) {
		if err := m.hopeless(before); err != nil {
			return false, err
		}
		var err error
		state, err = m.State(ctx)
		return err == nil && wanted(state), nil
	})
	if err != nil {
		return State{}, fmt.Errorf("wait for %s: %w\n%s", what, err, m.Logs())
	}
	return state, nil
}

// hopeless returns an error when one of these has ended without which nothing comes. A master that loses an election ends itself, as
// one that is started by a supervisor may; another takes its place.
func (m *Mesos) hopeless(before []*daemon) error {
	masters := 0
	for _, master := range m.masters {
		if master.running() {
			masters++
		}
	}
	for _, d := range before {
		if !d.running() && (m.zooKeeper == nil || masters == 0 || !strings.HasPrefix(d.name, "master")) {
			return fmt.Errorf("%s has ended", d.name)
		}
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

// StopMaster ends master i with the signal (SIGKILL or SIGTERM) and returns when it has ended. Tasks run on.
func (m *Mesos) StopMaster(i int, signal syscall.Signal) error { return m.masters[i].stop(signal) }

// StartMaster starts master i again, which has ended, on the same port and work directory. It returns when a master leads and has all
// agents that run, and all masters that run have the registry; at once where that cannot be, for want of ZooKeeper or of most masters.
func (m *Mesos) StartMaster(ctx context.Context, i int) error {
	if err := m.masters[i].start(); err != nil || !m.canLead() {
		return err
	}
	return m.awaitWhole(ctx)
}

// canLead says whether there can be a leader.
func (m *Mesos) canLead() bool {
	masters := 0
	for _, master := range m.masters {
		if master.running() {
			masters++
		}
	}
	return masters > len(m.masters)/2 && (m.zooKeeper == nil || m.zooKeeper.running())
}

// StopAgent ends agent i with the signal (SIGKILL or SIGTERM) and returns when the master that leads, if there is one, has noticed.
// Executors of frameworks that checkpoint run on, with their tasks; the others end themselves.
func (m *Mesos) StopAgent(ctx context.Context, i int, signal syscall.Signal) error {
	agent := m.agents[i]
	if err := agent.stop(signal); err != nil || !m.canLead() {
		return err
	}
	_, err := m.AwaitState(ctx, "the master to notice that the agent is gone", func(s State) bool {
		return !s.activeAgent(agent.address())
	})
	return err
}

// StartAgent starts agent i again, which has ended, on the same port and work directory, and returns when it is registered again, if
// a master can lead. It keeps its agent id and takes surviving executors back.
func (m *Mesos) StartAgent(ctx context.Context, i int) error {
	if err := m.agents[i].start(); err != nil || !m.canLead() {
		return err
	}
	return m.AwaitAgents(ctx)
}

// ZK is the URL that masters and agents find one another by, like zk://127.0.0.1:2181/mesos; empty without an election.
func (m *Mesos) ZK() string {
	if m.zooKeeper == nil {
		return ""
	}
	return "zk://" + m.zooKeeper.address() + "/mesos"
}

func (m *Mesos) describeZooKeeper() error {
	if err := checkZooKeeper(); err != nil {
		return err
	}
	d, err := m.newDaemon("zookeeper", 0, localIP, 0)
	if err != nil {
		return err
	}
	// A tick of 500 ms, so that it allows the short session of masters.
	config := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=%s\nadmin.enableServer=false\n", m.workDir(d.name), d.port, d.ip)
	path := m.workDir("zookeeper.cfg")
	d.argv = []string{findProgram("java"), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", zooKeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", path}
	m.zooKeeper = d
	return os.WriteFile(path, []byte(config), 0o600)
}

// StopZooKeeper ends ZooKeeper with the signal and returns when it has ended. What leads goes on leading until it sees that it has lost
// its session; then it ends itself, as Mesos' masters do, and is to be started again.
func (m *Mesos) StopZooKeeper(signal syscall.Signal) error { return m.zooKeeper.stop(signal) }

// StartZooKeeper starts ZooKeeper, which has ended, on the same port and data, and returns when it listens.
func (m *Mesos) StartZooKeeper(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := m.zooKeeper.start(); err != nil {
		return err
	}
	err := poll(ctx, lookEvery, func() (bool, error) {
		if !m.zooKeeper.running() {
			return false, errors.New("it has ended")
		}
		conn, err := net.DialTimeout("tcp", m.zooKeeper.address(), time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for ZooKeeper to listen: %w\n%s", err, m.zooKeeper.logTail(tailLines))
	}
	return nil
}
