package callback

import (
	"errors"
	"fmt"
	"time"

	"tfmesos/shared/tf"
)

// Registration is what a sidecar reports as soon as it holds a port.
type Registration struct {
	// Port is the port that it holds and that its server will listen on, 1 to 65535.
	Port int `json:"port"`
	// Address is host:port as the sidecar was told to advertise it; empty: the address that Mesos reports.
	Address string `json:"address,omitempty"`
	// Hostname is what the sidecar's machine calls itself; for people only.
	Hostname string `json:"hostname,omitempty"`
	// Version is the sidecar's version.
	Version string `json:"version,omitempty"`
}

// Validate names the field, the value and the rule of the first mistake.
func (r Registration) Validate() error {
	if r.Port < 1 || r.Port > 65535 {
		return fmt.Errorf("callback: port %d: want 1 to 65535", r.Port)
	}
	if r.Address != "" {
		if err := tf.CheckAddress(r.Address); err != nil {
			return fmt.Errorf("callback: %w", err)
		}
	}
	return nil
}

// Registered is the answer to a Registration.
type Registered struct {
	// JobName and TaskIndex are the task's identity in TensorFlow.
	JobName   string `json:"job_name"`
	TaskIndex int    `json:"task_index"`
	// Callbacks are the URLs at which the scheduler can be called now, the best first.
	Callbacks []string `json:"callbacks"`
}

// Assignment is the answer to the long poll.
type Assignment struct {
	// Generation counts the cluster_defs of a run from 1; 0 while there is none.
	Generation int `json:"generation"`
	// ClusterDef is complete, or absent while some port is not known yet.
	ClusterDef tf.ClusterDef `json:"cluster_def,omitempty"`
	// Callbacks are the URLs at which the scheduler can be called now, the best first.
	Callbacks []string `json:"callbacks"`
	// Why says what the cluster waits for, for the sidecar's log.
	Why string `json:"why,omitempty"`
}

// Phase is where a launch is, as its sidecar sees it.
type Phase string

// The phases a sidecar reports, in the order they come.
const (
	// PhasePythonStarted: server mode has started Python, which now imports TensorFlow. Only the time matters.
	PhasePythonStarted Phase = "python_started"
	// PhaseImported: that import is done. Only the time matters.
	PhaseImported Phase = "imported"
	// PhaseTraining: the user's command has been started.
	PhaseTraining Phase = "training"
	// PhaseServing: something answers at the port.
	PhaseServing Phase = "serving"
	// PhaseEnded: the child is gone; ExitCode, Cause and Message say how.
	PhaseEnded Phase = "ended"
)

// Cause says why a child ended, when the sidecar knows more than the exit code.
type Cause string

// The causes of an end. The first three mean that there was nothing to run with.
const (
	CauseNoPython     Cause = "no_python"     // no Python found for server mode
	CauseNoTensorFlow Cause = "no_tensorflow" // Python has no TensorFlow
	CauseNoProgram    Cause = "no_program"    // the command's program does not exist or cannot be executed
	CauseProgram      Cause = "program"       // the program ended by itself with ExitCode
	CauseSignal       Cause = "signal"        // a signal that the sidecar did not send ended the program
	CauseStopped      Cause = "stopped"       // the sidecar was told to end and ended it
	CauseOrphaned     Cause = "orphaned"      // the scheduler was away longer than the orphan timeout
	CauseSuperseded   Cause = "superseded"    // the scheduler said that this launch is not the current one
	CauseSidecar      Cause = "sidecar"       // the sidecar could not do its work: Message says what
)

// PhaseReport tells the scheduler of a new phase. Reporting one twice is harmless.
type PhaseReport struct {
	Phase Phase `json:"phase"`
	// At is when it began, by the sidecar's clock, RFC 3339 UTC.
	At time.Time `json:"at"`
	// Import is "lean" or "full" with PhaseImported: how TensorFlow was imported.
	Import string `json:"import,omitempty"`
	// ExitCode is the child's, 128 + the signal's number if one ended it; only with PhaseEnded.
	ExitCode int `json:"exit_code,omitempty"`
	// Cause is set with PhaseEnded.
	Cause Cause `json:"cause,omitempty"`
	// Message is a sentence for people; with PhaseEnded and a failure also the child's last words.
	Message string `json:"message,omitempty"`
}

// Validate names the field, the value and the rule of the first mistake.
func (r PhaseReport) Validate() error {
	switch r.Phase {
	case PhasePythonStarted, PhaseImported, PhaseTraining, PhaseServing, PhaseEnded:
	default:
		return fmt.Errorf("callback: phase %q: want python_started, imported, training, serving or ended", r.Phase)
	}
	if len(r.Message) > MaxMessage {
		return fmt.Errorf("callback: message of %d bytes: want %d at most", len(r.Message), MaxMessage)
	}
	if r.ExitCode < 0 || r.ExitCode > 255 {
		return fmt.Errorf("callback: exit_code %d: want 0 to 255", r.ExitCode)
	}
	if r.At.IsZero() {
		return errors.New("callback: at: want the time, as in 2026-01-31T12:00:00Z")
	}
	return nil
}

// Log carries output of a task's program to the scheduler.
type Log struct {
	// Lines are in the order they were written, without their newlines.
	Lines []LogLine `json:"lines"`
	// Dropped counts lines the sidecar had to leave out before these because nobody took them.
	Dropped int `json:"dropped,omitempty"`
}

// LogLine is one line of output.
type LogLine struct {
	// Stream is "stdout" or "stderr".
	Stream string `json:"stream"`
	Text   string `json:"text"`
}

// V0Job is the answer of GET /v0/task/{task_id}/job, as tfmesos2 has it.
type V0Job struct {
	JobName    string        `json:"job_name"`
	TaskIndex  int           `json:"task_index"`
	CPUs       float64       `json:"cpus"`
	Mem        float64       `json:"mem"`
	GPUs       int           `json:"gpus"`
	ClusterDef tf.ClusterDef `json:"cluster_def"`
}

// Error is the body of every answer of /v1 that is no success.
type Error struct {
	// Error is a sentence that names the field, the value and the rule.
	Error string `json:"error"`
}
