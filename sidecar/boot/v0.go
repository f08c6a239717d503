package boot

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tfmesos/shared/backoff"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// V0Polling is how often a scheduler that knows only /v0 is asked: it has no long poll.
var V0Polling = backoff.Policy{First: 50 * time.Millisecond, Max: time.Second, Factor: 2}

const (
	// v0Settled is for how long the cluster_def of /v0 has to stay as it is. That scheduler does not say when the last port
	// is there: its "ok" means that all tasks run, and one that runs may not have reported its port yet.
	v0Settled = time.Second
	// v0Within is how long the cluster_def may be without this task after the "ok". The scheduler then waits for nothing any
	// more, so that nobody else would notice.
	v0Within = time.Minute
)

// V0 decides when the cluster_def of a scheduler that knows only /v0 is complete. The zero value has seen nothing.
type V0 struct {
	okSince  time.Time // when /v0/status began to say "ok"; zero: it does not
	def      tf.ClusterDef
	defSince time.Time // since when the job has had this def
}

// Waits is what V0 says of an answer that is not the last one.
func (V0) Waits() string { return "/v0/status does not say yet that all tasks run" }

// NotOK returns V0 after an answer of /v0/status that is not "ok".
func (V0) NotOK() V0 { return V0{} }

// OK returns V0 after an "ok" and the job read behind it, for the sidecar that holds the port. It is done when the cluster_def
// can be used; until then why says what it lacks. Once that has gone on for too long, the error says so.
func (v V0) OK(job callback.V0Job, port int, now time.Time) (next V0, why string, done bool, err error) {
	next = v
	if v.okSince.IsZero() {
		next.okSince = now
	}
	if why := v0Lacks(job, port); why != "" {
		next.def = nil
		if waited := now.Sub(next.okSince); waited >= v0Within {
			return next, "", false, fmt.Errorf("/v0/status says ok, and %s after that %s", v0Within, why)
		}
		return next, why, false, nil
	}
	if next.def == nil || !next.def.Equal(job.ClusterDef) {
		next.def, next.defSince = job.ClusterDef.Clone(), now
	}
	if now.Sub(next.defSince) < v0Settled {
		return next, "the cluster_def is fresh, and a port of another task may be missing", false, nil
	}
	return next, "", true, nil
}

// v0Lacks says why a cluster_def is of no use to the task of the job. That scheduler leaves out tasks whose port or address it
// does not know, and those behind them move up: so the entry with the task's index has to have the task's own port.
func v0Lacks(job callback.V0Job, port int) string {
	name := tf.TaskName{JobName: job.JobName, TaskIndex: job.TaskIndex}
	if err := job.ClusterDef.Validate(); err != nil {
		return "the cluster_def of " + name.String() + " is of no use: " + err.Error()
	}
	own := job.ClusterDef[job.JobName]
	if job.TaskIndex < 0 || job.TaskIndex >= len(own) {
		return fmt.Sprintf("the cluster_def has no %s: it has %d of that job", name, len(own))
	}
	if !strings.HasSuffix(own[job.TaskIndex], ":"+strconv.Itoa(port)) {
		return fmt.Sprintf("the cluster_def has %s at %s, and its port is %d", name, own[job.TaskIndex], port)
	}
	return ""
}
