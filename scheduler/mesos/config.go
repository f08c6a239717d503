package mesos

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// Config is what a Client needs to know. Master, Framework.Name, Framework.User, Framework.FailoverTimeout and Logger
// must be there.
type Config struct {
	// Master is host:port, several of them with commas, each with http:// or https:// in front if wanted, or
	// zk://[user:password@]host:port,host:port/path, where masters elect the leading one.
	Master string
	// Secure: https for masters whose address names no scheme.
	Secure bool
	// CA has certificates (PEM) that are trusted in place of the machine's, if any.
	CA []byte
	// SkipVerify trusts any certificate.
	SkipVerify bool
	// Principal is part of the registration and cannot change under one framework id, so it is worth setting before the
	// master asks for it. With a Secret both go with every request (HTTP Basic).
	Principal string
	Secret    Secret
	Framework Framework
	Logger    *slog.Logger
}

// Secret is a password. It does not show itself to loggers and fmt.
type Secret string

// LogValue hides the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// Framework describes us to the master.
type Framework struct {
	Name string
	// User runs tasks that name none of their own.
	User string
	// Role is whose share of the cluster we use; empty: "*".
	Role string
	// Hostname and WebUIURL are shown in the master's pages; either may be empty.
	Hostname string
	WebUIURL string
	// FailoverTimeout is how long the master keeps our tasks while nobody is subscribed. With zero it would kill all of
	// them at the first lost connection.
	FailoverTimeout time.Duration
	// GPUs asks for offers of agents that have some; without it the master hides those.
	GPUs bool
}

// validate names everything that is wrong.
func (c *Config) validate() error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf("mesos: "+format, args...)) }
	if _, err := parseMasters(c.Master, c.Secure); err != nil {
		problems = append(problems, err)
	}
	if _, err := c.tls(); err != nil {
		problems = append(problems, err)
	}
	if strings.ContainsFunc(c.Principal, func(r rune) bool { return r < ' ' || r == ':' || r == 0x7f }) {
		refuse("principal %q has a colon or control character, which HTTP Basic authentication cannot carry", c.Principal)
	}
	if c.Principal == "" && c.Secret != "" {
		refuse("there is a secret but no principal to go with it")
	}
	if c.Framework.Name == "" {
		refuse("the framework has no name")
	}
	if c.Framework.User == "" {
		refuse("the framework has no user to run tasks")
	}
	if c.Framework.FailoverTimeout <= 0 {
		refuse("failover timeout %v: with none the master kills all tasks when the connection breaks", c.Framework.FailoverTimeout)
	}
	if c.Logger == nil {
		refuse("there is no logger")
	}
	return errors.Join(problems...)
}

// role returns the role to register with, never empty.
func (f *Framework) role() string {
	if f.Role == "" {
		return "*"
	}
	return f.Role
}

// frameworkInfo is what SUBSCRIBE says of us. RESERVATION_REFINEMENT is not among the capabilities: what is reserved once is
// offered without it. Nor is REGION_AWARE: the tasks of a training belong into one region.
func (c *Config) frameworkInfo(frameworkID string) *mesos.FrameworkInfo {
	f, yes, seconds := &c.Framework, true, c.Framework.FailoverTimeout.Seconds()
	info := &mesos.FrameworkInfo{
		User: f.User, Name: f.Name, Roles: []string{f.role()}, Checkpoint: &yes, FailoverTimeout: &seconds,
		Principal: optional(c.Principal), Hostname: optional(f.Hostname), WebUiURL: optional(f.WebUIURL),
	}
	if frameworkID != "" {
		info.ID = &mesos.FrameworkID{Value: frameworkID}
	}
	capabilities := []mesos.FrameworkInfo_Capability_Type{
		mesos.FrameworkInfo_Capability_MULTI_ROLE, mesos.FrameworkInfo_Capability_PARTITION_AWARE,
		mesos.FrameworkInfo_Capability_TASK_KILLING_STATE,
	}
	if f.GPUs {
		capabilities = append(capabilities, mesos.FrameworkInfo_Capability_GPU_RESOURCES)
	}
	for _, capability := range capabilities {
		info.Capabilities = append(info.Capabilities, mesos.FrameworkInfo_Capability{Type: capability})
	}
	return info
}

// optional is a field that is there only with a value.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
