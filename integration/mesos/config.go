package mesosrig

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// Config says what to run. The zero value is complete: free ports and DefaultResources.
type Config struct {
	// MasterPort and AgentPort are the ports on 127.0.0.1; 0 takes a free one.
	MasterPort, AgentPort int
	// Resources is what the agent offers, in the syntax of Mesos' --resources; empty for DefaultResources.
	Resources string
	// Attributes are the agent's, in the syntax of Mesos' --attributes.
	Attributes string
	// MasterFlags and AgentFlags are flags of mesos-master and mesos-agent by name without dashes, like
	// "offer_timeout": "5secs". They win over what the rig sets itself.
	MasterFlags, AgentFlags map[string]string
	// AgentEnv is added to the agent's environment, NAME=value each. Of all of it, only PATH reaches tasks; what else
	// they are to have belongs into their command, or into the agent's flag executor_environment_variables.
	AgentEnv []string
	// Docker gives agents the Docker containerizer too, with a daemon that has the base image; see UpDocker.
	Docker bool
	// Logf is told what Setup is doing, when that takes long; nil for silence.
	Logf func(format string, args ...any)
}

// DefaultResources is what the agent offers unless told otherwise. GPUs need a driver, so there are none.
const DefaultResources = "cpus:4;mem:8192;disk:16384;ports:[31000-32000]"

// Option changes the Config of Start.
type Option func(*Config)

// WithResources sets what the agent offers, like "cpus:2;mem:1024".
func WithResources(resources string) Option {
	return func(c *Config) { c.Resources = resources }
}

// WithAttributes sets the agent's attributes, like "rack:r1;zone:a".
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

// WithAgentEnv adds variables (NAME=value) to the environment of the agent, whose PATH is that of its tasks.
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
