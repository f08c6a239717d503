// Command launcher stands in for the programs that a Mesos agent starts from its launcher directory: mesos-containerizer,
// mesos-executor, mesos-docker-executor and mesos-fetcher. The agent of the rig is Mesos' own; only these programs are
// not, because the package the agent comes from does not carry them.
//
// One binary plays all parts, chosen by the name it is called by. It imports the standard library only, so that the rig
// can build it anywhere from its embedded source.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	name := filepath.Base(os.Args[0])
	if err := run(name, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run(name string, args []string) error {
	switch name {
	case "mesos-containerizer":
		return launchContainer(args)
	case "mesos-executor":
		return runExecutor(commandTask{}, flagsOf(args))
	case "mesos-docker-executor":
		return runExecutor(dockerTask{flags: flagsOf(args)}, flagsOf(args))
	case "mesos-fetcher":
		return fetchAll(os.Getenv("MESOS_FETCHER_INFO"))
	case "mesos-io-switchboard", "mesos-logrotate-logger", "mesos-tcp-connect", "mesos-usage":
		return nil // an agent looks for them and, as the rig sets it up, has no use for them
	default:
		return fmt.Errorf("no part of that name")
	}
}

// flagsOf reads --name=value and --name (then "true"); what does not start with two dashes is left out.
func flagsOf(args []string) map[string]string {
	flags := map[string]string{}
	for _, arg := range args {
		flag, ok := strings.CutPrefix(arg, "--")
		if !ok {
			continue
		}
		name, value, hasValue := strings.Cut(flag, "=")
		if !hasValue {
			value = "true"
		}
		flags[name] = value
	}
	return flags
}
