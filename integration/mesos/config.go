package mesosrig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// Config says what to run. The zero value is complete: one master, and one agent with DefaultResources, on free ports.
type Config struct {
	// Masters is how many masters there are. Zero is one that leads without any election; with 1, 3 or 5 they elect a leader in a
	// ZooKeeper of the rig, where agents look for it, and have one registry together.
	Masters int
	// Agents are the agents, one where it is empty.
	Agents []AgentConfig
	// MasterPort and AgentPort are the ports of the first master and the first agent; 0 takes a free one.
	MasterPort, AgentPort int
	// Resources is what each agent offers, in the syntax of Mesos' --resources; empty for DefaultResources. Those of "cpus(role):4"
	// are reserved for the role.
	Resources string
	// Attributes are those of each agent, in the syntax of Mesos' --attributes.
	Attributes string
	// Credentials are the secrets by principal that frameworks must show one of; without any, a master asks for none.
	Credentials map[string]string
	// MasterFlags and AgentFlags are flags of mesos-master and mesos-agent by name without dashes, like
	// "offer_timeout": "5secs". They win over what the rig sets itself.
	MasterFlags, AgentFlags map[string]string
	// AgentEnv is added to the agents' environment, NAME=value each. Of all of it, only PATH reaches tasks; what else
	// they are to have belongs into their command, or into the agent's flag executor_environment_variables.
	AgentEnv []string
	// Docker gives agents the Docker containerizer too, with a daemon that has the base image; see UpDocker.
	Docker bool
	// Logf is told what Setup is doing, when that takes long; nil for silence.
	Logf func(format string, args ...any)
}

// AgentConfig is what one agent has of its own. What is empty is as Config has it for all.
type AgentConfig struct {
	// IP is where it listens: 127.0.0.1 when empty. Each other of 127.0.0.0/8 looks like a host of its own.
	IP string
	// Hostname is what it calls its host; empty for localhost at 127.0.0.1, elsewhere for the IP.
	Hostname              string
	Resources, Attributes string
	// Flags are flags of mesos-agent, which win over those of Config.
	Flags map[string]string
}

// DefaultResources is what an agent offers unless told otherwise. GPUs need a driver, so there are none.
const DefaultResources = "cpus:4;mem:8192;disk:16384;ports:[31000-32000]"

// Option changes the Config of Start.
type Option func(*Config)

// WithMasters makes it this many masters, 1, 3 or 5, that elect their leader in ZooKeeper.
func WithMasters(n int) Option { return func(c *Config) { c.Masters = n } }

// WithAgent adds an agent; without any there is one that Config describes.
func WithAgent(agent AgentConfig) Option {
	return func(c *Config) { c.Agents = append(c.Agents, agent) }
}

// WithCredentials makes masters ask frameworks for credentials, and accept these.
func WithCredentials(principal, secret string) Option {
	return func(c *Config) { c.Credentials = with(c.Credentials, principal, secret) }
}

// WithACLs sets what masters allow whom, in the JSON of Mesos' --acls: register_frameworks, run_tasks and others.
func WithACLs(json string) Option { return WithMasterFlag("acls", json) }

// WithRoles makes masters refuse frameworks with other roles than these.
func WithRoles(roles ...string) Option { return WithMasterFlag("roles", strings.Join(roles, ",")) }

// WithOfferTimeout makes masters rescind an offer that nobody has answered for this long.
func WithOfferTimeout(d time.Duration) Option {
	return WithMasterFlag("offer_timeout", mesosDuration(d))
}

// WithAgentReregisterTimeout sets how long a new leader waits for agents of the one before until it calls them unreachable, and their
// tasks too. Mesos takes no less than 10 minutes; masters of the rig take any time.
func WithAgentReregisterTimeout(d time.Duration) Option {
	return WithMasterFlag("agent_reregister_timeout", mesosDuration(d))
}

func mesosDuration(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// WithResources sets what each agent offers, like "cpus:2;mem:1024".
func WithResources(resources string) Option {
	return func(c *Config) { c.Resources = resources }
}

// WithAttributes sets each agent's attributes, like "rack:r1;zone:a".
func WithAttributes(attributes string) Option {
	return func(c *Config) { c.Attributes = attributes }
}

// WithMasterFlag sets one flag of mesos-master, like "offer_timeout" to "5secs".
func WithMasterFlag(name, value string) Option {
	return func(c *Config) { c.MasterFlags = with(c.MasterFlags, name, value) }
}

// WithAgentFlag sets one flag of mesos-agent, like "containerizers" to "docker,mesos".
func WithAgentFlag(name, value string) Option {
	return func(c *Config) { c.AgentFlags = with(c.AgentFlags, name, value) }
}

// WithAgentEnv adds variables (NAME=value) to the environment of the agents, whose PATH is that of its tasks.
func WithAgentEnv(variables ...string) Option {
	return func(c *Config) { c.AgentEnv = append(c.AgentEnv, variables...) }
}

// WithDocker gives agents the Docker containerizer beside that of Mesos. Rig.Docker has the name of an image to run.
func WithDocker() Option { return func(c *Config) { c.Docker = true } }

func with(flags map[string]string, name, value string) map[string]string {
	if flags == nil {
		flags = map[string]string{}
	}
	flags[name] = value
	return flags
}

// check returns all that is wrong.
func (c Config) check() error {
	var errs []error
	if c.Masters < 0 || c.Masters > 0 && c.Masters%2 == 0 {
		errs = append(errs, fmt.Errorf("mesosrig: %d masters: a registry needs an odd number of them", c.Masters))
	}
	for _, agent := range c.Agents {
		if ip, err := netip.ParseAddr(agent.ip()); err != nil || !ip.Is4() || !ip.IsLoopback() {
			errs = append(errs, fmt.Errorf("mesosrig: agent at %q: want an IP like 127.0.0.2", agent.IP))
		}
	}
	return errors.Join(errs...)
}

func (c Config) agents() []AgentConfig {
	if len(c.Agents) == 0 {
		return []AgentConfig{{}}
	}
	return c.Agents
}

func (a AgentConfig) ip() string { return cmp.Or(a.IP, localIP) }

func (a AgentConfig) hostname() string {
	if a.Hostname == "" && a.ip() == localIP {
		return "localhost"
	}
	return cmp.Or(a.Hostname, a.IP)
}

func (c Config) logf(format string, args ...any) {
	if c.Logf != nil {
		c.Logf(format, args...)
	}
}

// flagEnv turns flags into the variables Mesos reads them from, later sets winning over earlier ones.
func flagEnv(sets ...map[string]string) []string {
	all := map[string]string{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, "MESOS_"+strings.ToUpper(name)+"="+all[name])
	}
	return env
}

// baseEnv is what master, agent and tasks know of the caller's environment: nothing that would change how a program
// behaves, so that a test sees the same as a real agent's task.
func baseEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "DOCKER_HOST"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
