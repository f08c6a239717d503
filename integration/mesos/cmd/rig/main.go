// Command rig runs a real Mesos on this machine until Ctrl-C, and leaves nothing behind: one master and one agent, or
// several, which elect their leader in ZooKeeper, with Docker, credentials and roles if wanted.
//
//	go run tfmesos/integration/mesos/cmd/rig [flags]
//
// It prints the lines to paste into another shell. The environment variables of package mesosrig apply.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	mesosrig "tfmesos/integration/mesos"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "rig:", err)
		os.Exit(1)
	}
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// of returns the value for the agent i: the last holds for all further ones.
func (l list) of(i int) string {
	if len(l) == 0 {
		return ""
	}
	return l[min(i, len(l)-1)]
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parse(args, stderr)
	if err != nil {
		return err
	}
	m, err := mesosrig.Up(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%slogs and sandboxes: %s  to look: http://%s/  stop: Ctrl-C\n", m.Summary(ctx), m.Dir(), m.Master())
	fmt.Fprint(stderr, "in another shell:\n")
	fmt.Fprint(stdout, exports(cfg, m))
	return errors.Join(m.Wait(ctx), m.Down())
}

// parse turns flags into what is to run.
func parse(args []string, stderr io.Writer) (mesosrig.Config, error) {
	cfg := mesosrig.Config{Logf: func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }}
	flags := flag.NewFlagSet("rig", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&cfg.Masters, "masters", 0, "1, 3 or 5: how many masters elect a leader in ZooKeeper; 0 for one without ZooKeeper")
	agents := flags.Int("agents", 1, "how many agents; the second is at 127.0.0.2, and so on")
	flags.IntVar(&cfg.MasterPort, "master-port", 5050, "port of the first master; 0 for a free one")
	flags.IntVar(&cfg.AgentPort, "agent-port", 5051, "port of the first agent; 0 for a free one")
	var resources, attributes, credentials list
	flags.Var(&resources, "resources", "what an agent offers, as for mesos-agent --resources: once for all agents, or once for each (default "+mesosrig.DefaultResources+")")
	flags.Var(&attributes, "attributes", "attributes of an agent, as for mesos-agent --attributes: once for all agents, or once for each")
	flags.BoolVar(&cfg.Docker, "docker", false, "agents run containers; there is one image, made here")
	flags.Var(&credentials, "credentials", "PRINCIPAL:SECRET that frameworks must show, once for each principal")
	roles := flags.String("roles", "", "the only roles frameworks may have, with commas")
	acls := flags.String("acls", "", "who may do what, in the JSON of mesos-master --acls")
	offerTimeout := flags.Duration("offer-timeout", 0, "rescind offers that nobody has answered for this long")
	reregister := flags.Duration("agent-reregister-timeout", 0, "how long a new leader waits for agents (Mesos: 10m at least)")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	for i := range *agents {
		agent := mesosrig.AgentConfig{Resources: resources.of(i), Attributes: attributes.of(i)}
		if i > 0 {
			agent.IP = fmt.Sprintf("127.0.0.%d", i+1)
		}
		cfg.Agents = append(cfg.Agents, agent)
	}
	return cfg, refuse(&cfg, *agents, credentials, flags.Args(), options(*roles, *acls, *offerTimeout, *reregister))
}

// options are those of masters that are given.
func options(roles, acls string, offerTimeout, reregister time.Duration) (all []mesosrig.Option) {
	if roles != "" {
		all = append(all, mesosrig.WithRoles(roles))
	}
	if acls != "" {
		all = append(all, mesosrig.WithACLs(acls))
	}
	if offerTimeout != 0 {
		all = append(all, mesosrig.WithOfferTimeout(offerTimeout))
	}
	if reregister != 0 {
		all = append(all, mesosrig.WithAgentReregisterTimeout(reregister))
	}
	return all
}

// refuse says what is wrong with the flags, or puts the rest of them into cfg.
func refuse(cfg *mesosrig.Config, agents int, credentials list, left []string, options []mesosrig.Option) error {
	if agents < 1 || agents > 200 {
		return fmt.Errorf("-agents %d: want 1 to 200", agents)
	}
	if len(left) > 0 {
		return fmt.Errorf("%q: want flags only", left)
	}
	for _, credential := range credentials {
		principal, secret, found := strings.Cut(credential, ":")
		if !found || cmp.Or(principal, secret) == "" {
			return errors.New("-credentials: want PRINCIPAL:SECRET")
		}
		options = append(options, mesosrig.WithCredentials(principal, secret))
	}
	for _, option := range options {
		option(cfg)
	}
	return nil
}

// exports are the lines for another shell.
func exports(cfg mesosrig.Config, m *mesosrig.Mesos) string {
	text := fmt.Sprintf("export MESOS_MASTER=%s\n", cmp.Or(m.ZK(), m.Master()))
	for _, principal := range slices.Sorted(maps.Keys(cfg.Credentials))[:min(1, len(cfg.Credentials))] {
		text += fmt.Sprintf("export MESOS_USERNAME=%s MESOS_PASSWORD=%s\n", principal, cfg.Credentials[principal])
	}
	if docker := m.Docker(); docker != nil {
		text += fmt.Sprintf("export DOCKER_HOST=%s DOCKER_IMAGE=%s\n", docker.Host(), docker.Image())
	}
	return text
}
