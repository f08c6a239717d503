// Sidecar is the entrypoint of every task's container: it holds the task's port, reports it to the scheduler, waits for
// cluster_def, starts the task's program or a tf.distribute.Server, looks after it as process 1 should, and leaves with
// its exit code.
//
// It takes no arguments but --help and --version. Everything comes from the environment, which the scheduler sets; it is
// checked at once, and every mistake is named. Or it takes the two of tfmesos2's, `sidecar TASK_ID HOST:PORT`, needs
// nothing of the environment, and asks the scheduler there which task it is: first by /v1, and if there is none (404), by the
// /v0 of tfmesos2's own scheduler.
//
//	TFMESOS_TASK_ID          the Mesos task_id of this launch
//	TFMESOS_TOKEN            the credential of this launch; never shown, not passed on
//	TFMESOS_CALLBACK         where the scheduler can be called: URLs with commas between, the best first
//	TFMESOS_CLUSTER          the cluster's name
//	TFMESOS_JOB_NAME         chief, worker, ps, …
//	TFMESOS_TASK_INDEX       index in the job, from 0
//	TFMESOS_SIDE             1: the task is not part of the cluster, its command starts without waiting for that [0]
//	TFMESOS_COMMAND          the program and its arguments, a JSON list; empty: run a tf.distribute.Server
//	TFMESOS_WORKDIR          the program's working directory [the sidecar's]
//	TFMESOS_GPUS             how many GPUs the task has; 0 hides them all from it
//	TFMESOS_GRACE            time from TERM until the sidecar is gone; the program is killed a little before [10s]
//	TFMESOS_ORPHAN_TIMEOUT   how long to go on without an answer of the scheduler [15m]
//	TFMESOS_PYTHON           the Python of a tf.distribute.Server [python3]
//	TFMESOS_TF_IMPORT        lean: import only what that server needs, if possible; full: all of TensorFlow [lean]
//	TFMESOS2_VERIFY_SSL      check the certificate of an https URL [true]
//	TFMESOS2_REQUEST_TIMEOUT seconds for one request [30]
//	TFMESOS2_CLIENT_USERNAME user of the credentials of a sidecar with arguments; without both it sends none
//	TFMESOS2_CLIENT_PASSWORD password of those; never shown, not passed on
//
// The program's environment is the sidecar's without its credentials and settings, and with
//
//	TF_CONFIG                as TensorFlow wants it; not for a side task, a cluster of a single task, or if it was set empty
//	TFMESOS_CLUSTER_DEF      JSON: job name → addresses; not for a side task
//	TFMESOS_GENERATION       number of that cluster_def; not for a side task
//	PYTHONUNBUFFERED         1, unless set
//	TF_CPP_MIN_LOG_LEVEL     1 for a server, unless set: warnings and errors
//	CUDA_VISIBLE_DEVICES     -1 without GPUs, unless set; likewise NVIDIA_VISIBLE_DEVICES=void unless set to a list
//	no_proxy, NO_PROXY, no_grpc_proxy   with the cluster's hosts added, if a proxy is set
//
// In the command {ps_hosts}, {worker_hosts}, {chief_hosts}, {evaluator_hosts} (addresses with commas between),
// {job_name}, {task_index} and {port} are replaced; a side task's knows the last three only.
//
// TERM and INT end the program: TERM to its process group, KILL to all that is left once the grace is nearly over or at
// a second signal. HUP, QUIT, USR1 and USR2 are passed on. The exit code is the program's (128 + the number of the signal
// that ended it), or
//
//	2        the environment or the arguments are wrong
//	69       the scheduler refused the credentials for a minute
//	70       the sidecar could not do its work, as without a free port, or with a /v0 that never has the task in its cluster_def
//	75       no answer of the scheduler for longer than the orphan timeout
//	76       the scheduler does not know this launch any more
//	97       Python has no TensorFlow
//	126, 127 the program cannot be executed, or does not exist
//	130, 143 ended by INT or TERM before there was a program
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"tfmesos/sidecar"
)

// version is set by the linker.
var version = "dev"

const help = `Usage: sidecar [--help] [--version] [TASK_ID HOST:PORT]

Runs one task of a TensorFlow cluster for the tfmesos scheduler, which starts it with all it needs in the
environment: TFMESOS_TASK_ID, TFMESOS_TOKEN, TFMESOS_CALLBACK, TFMESOS_CLUSTER, TFMESOS_JOB_NAME, TFMESOS_TASK_INDEX and
others. docs/configuration.md explains them.

With a task_id and the address of a scheduler it stands in for tfmesos2's sidecar, also under tfmesos2's own scheduler.
`

const exitUsage = 2

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr)) }

func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	if len(args) == 1 {
		switch args[0] {
		case "--help", "-h":
			fmt.Fprint(stdout, help)
			return 0
		case "--version":
			fmt.Fprintln(stdout, "sidecar", version)
			return 0
		}
	}
	switch {
	case len(args) == 0:
		config, err := sidecar.FromEnv(environ)
		if err != nil {
			fmt.Fprintf(stderr, "sidecar: the environment is not what the scheduler sets:\n%v\n", err)
			return exitUsage
		}
		return start(ctx, config, byEnvironment(config), stdout, stderr)
	case len(args) == 2 && !strings.HasPrefix(args[0], "-"):
		config, err := sidecar.FromArgs(args[0], args[1], environ)
		if err != nil {
			fmt.Fprintf(stderr, "sidecar: %q are no TASK_ID HOST:PORT, or the environment is wrong:\n%v\n", args, err)
			return exitUsage
		}
		return start(ctx, config, byArguments(config), stdout, stderr)
	}
	fmt.Fprintf(stderr, "sidecar: unexpected arguments %q: want none or TASK_ID HOST:PORT, see --help\n", strings.Join(args, " "))
	return exitUsage
}
