package boot

import (
	"time"

	"tfmesos/shared/tf"
)

// Setup is what a sidecar knows from its start.
type Setup struct {
	// Task is whose sidecar this is; without a job name, the scheduler tells it in its answer to the registration.
	Task tf.TaskName
	// Side: the task is not part of the cluster. Its command is started as soon as its port is registered, without
	// TF_CONFIG.
	Side bool
	// Command is the program with its arguments; empty in server mode.
	Command []string
	// Python is the interpreter of server mode.
	Python string
	// Import is ImportLean or ImportFull: how server mode is to import TensorFlow.
	Import string
	// Workdir is the child's working directory; empty: the sidecar's.
	Workdir string
	// GPUs is how many the task has; below 0: not known.
	GPUs int
	// Env is the sidecar's own environment, KEY=VALUE.
	Env []string
	// Grace is from the order to end until the sidecar is gone. The child is killed before that: see killAfter.
	Grace time.Duration
	// OrphanTimeout is how long the sidecar goes on without an answer of the scheduler.
	OrphanTimeout time.Duration
	// Hostname and Version are told to the scheduler, for people.
	Hostname, Version string
}

// The two ways to import TensorFlow in server mode.
const (
	ImportLean = "lean" // what tf.distribute.Server needs, if that can be done
	ImportFull = "full" // import tensorflow
)

// server tells whether the task runs a tf.distribute.Server.
func (s Setup) server() bool { return len(s.Command) == 0 }

// killAfter is how long the child has from TERM to KILL: the grace less what the sidecar needs for its last report.
func (s Setup) killAfter() time.Duration { return s.Grace - min(2*time.Second, s.Grace/4) }

// exitAfter is when the sidecar leaves at the latest, counted from the order to end.
func (s Setup) exitAfter() time.Duration { return s.Grace - min(100*time.Millisecond, s.Grace/10) }

// Exit codes of the sidecar where they are not the child's own (or 128 + the signal that ended it).
const (
	ExitUnavailable  = 69  // the scheduler refused our credentials for RefusedLimit (sysexits' EX_UNAVAILABLE)
	ExitFault        = 70  // the sidecar could not do its work (EX_SOFTWARE)
	ExitOrphaned     = 75  // no scheduler for longer than the orphan timeout (EX_TEMPFAIL)
	ExitSuperseded   = 76  // the scheduler does not know this launch (any more)
	ExitNoTensorFlow = 97  // Python has no TensorFlow; server mode only
	ExitNotRunnable  = 126 // the program exists and cannot be executed, as in sh
	ExitNoProgram    = 127 // there is no such program, as in sh
)

// RefusedLimit is how long the scheduler may refuse our credentials before the sidecar gives up. It is more than no
// time because another program may hold the scheduler's port for the moment of its restart.
const RefusedLimit = time.Minute
