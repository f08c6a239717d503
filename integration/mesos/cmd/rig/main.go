// Command rig runs a real Mesos master and agent on 127.0.0.1 until Ctrl-C, and leaves nothing behind.
//
//	go run tfmesos/integration/mesos/cmd/rig [flags]
//
// It prints the line to paste into another shell. The environment variables of package mesosrig apply.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

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

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg := mesosrig.Config{Logf: func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }}
	flags := flag.NewFlagSet("rig", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&cfg.MasterPort, "master-port", 5050, "port of the master; 0 for a free one")
	flags.IntVar(&cfg.AgentPort, "agent-port", 5051, "port of the agent; 0 for a free one")
	flags.StringVar(&cfg.Resources, "resources", mesosrig.DefaultResources, "what the agent offers, as for mesos-agent --resources")
	flags.StringVar(&cfg.Attributes, "attributes", "", "attributes of the agent, as for mesos-agent --attributes")
	containerizers := flags.String("containerizers", "mesos", "as for mesos-agent; docker,mesos needs Docker")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg.AgentFlags = map[string]string{"containerizers": *containerizers}
	m, err := mesosrig.Up(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "export MESOS_MASTER=%s\n", m.Master())
	fmt.Fprintf(stderr, "master: http://%s/  logs and sandboxes: %s  stop: Ctrl-C\n", m.Master(), m.Dir())
	return errors.Join(m.Wait(ctx), m.Down())
}
