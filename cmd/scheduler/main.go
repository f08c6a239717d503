// Command scheduler starts a TensorFlow cluster on Apache Mesos, or on this machine, follows it to its end, and leaves
// with an exit code that says how it went.
//
// Each flag has an environment variable; `scheduler run --help` and docs/configuration.md list them. Beside those it reads
//
//	MESOS_PASSWORD   the secret of the principal in MESOS_USERNAME; there is no flag for it but that of a file
//	XDG_STATE_HOME   where run.json and final.json are kept, in tfmesos/NAME; default ~/.local/state
//	NO_PROXY etc.    are not used: neither the master nor sidecars are reached through a proxy
//
// stdout carries the programs' output and what a command was asked to print, stderr all else. The last line on stderr
// of a run says how it ended.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"tfmesos/scheduler/cluster"
)

// version is set by the linker (see Makefile).
var version = "unknown"

// outcome is an error that ends the program with a code of its own.
type outcome struct {
	code   int
	reason string
}

// Error returns the sentence of the last line.
func (o *outcome) Error() string { return o.reason }

func usage(format string, args ...any) error {
	return &outcome{cluster.ExitUsage, fmt.Sprintf(format, args...)}
}

func main() { os.Exit(run(os.Args[1:], time.Now())) }

func run(args []string, start time.Time) (code int) {
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintf(os.Stderr, "%s\nscheduler: internal fault: %v; exit code %d\n", debug.Stack(), fault, cluster.ExitInternal)
			code = cluster.ExitInternal
		}
	}()
	ignoreServiceVariables()
	args, command := splitCommand(args)
	cli := &commandLine{}
	parser := newParser(cli)
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "scheduler: %v; see scheduler --help; exit code %d\n", err, cluster.ExitUsage)
		return cluster.ExitUsage
	}
	err = parsed.Run(&invocation{start: start, command: command})
	var o *outcome
	switch {
	case err == nil:
		return cluster.ExitSuccess
	case errors.As(err, &o):
		if o.reason != "" {
			fmt.Fprintf(os.Stderr, "scheduler: %s; exit code %d\n", o.reason, o.code)
		}
		return o.code
	}
	fmt.Fprintf(os.Stderr, "scheduler: %v; exit code %d\n", err, cluster.ExitUsage)
	return cluster.ExitUsage
}

// invocation is what the commands know beside their flags.
type invocation struct {
	start   time.Time
	command []string // what stood after --
}

// splitCommand cuts the user's program off, which is everything after the first "--".
func splitCommand(args []string) (flags, command []string) {
	for i, arg := range args {
		if arg == "--" {
			return args[:i], args[i+1:]
		}
	}
	return args, nil
}

// ignoreServiceVariables drops what Kubernetes puts there for a service named "tfmesos" (TFMESOS_PORT=tcp://…): it is no
// setting of ours.
func ignoreServiceVariables() {
	for _, name := range []string{"TFMESOS_PORT"} {
		if strings.Contains(os.Getenv(name), "://") {
			os.Unsetenv(name)
		}
	}
}

func newParser(cli *commandLine) *kong.Kong {
	return kong.Must(cli,
		kong.Name("scheduler"),
		kong.Description("Starts TensorFlow clusters on Apache Mesos, ClusterD, or this machine."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
	)
}
