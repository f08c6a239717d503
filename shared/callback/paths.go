package callback

import "strings"

// Paths of the callback API. {task_id} is one Mesos task_id, so one launch of a task.
const (
	// PathHealth answers 200 "ok" to anyone while the scheduler runs; it tells nothing about the cluster.
	PathHealth = "/healthz"
	// PathCluster answers GET with a Status.
	PathCluster = "/v1/cluster"
	// PathRegistration takes PUT of a Registration and answers with a Registered.
	PathRegistration = "/v1/task/{task_id}/registration"
	// PathClusterDef answers GET with an Assignment, held back until there is news (see QueryGeneration, QueryWait).
	PathClusterDef = "/v1/task/{task_id}/cluster_def"
	// PathPhase takes PUT of a PhaseReport and answers 204.
	PathPhase = "/v1/task/{task_id}/phase"
	// PathLog takes POST of a Log and answers 204.
	PathLog = "/v1/task/{task_id}/log"

	// The routes of tfmesos2, kept for its sidecar and its users' scripts.
	PathV0Status      = "/v0/status"
	PathV0Job         = "/v0/task/{task_id}/job"
	PathV0Port        = "/v0/task/{task_id}/port/{port}"
	PathV0Initialised = "/v0/task/{task_id}"
	// PathV0Download answers GET with a file of the download folder. Mesos' fetcher sends no credentials, so a launch gets the
	// files that its spec names as ~CAPABILITY/FILE.
	PathV0Download = "/v0/download/{file}"
)

const (
	// QueryGeneration is the query key of the long poll with the generation the caller has: 0 for none. The
	// answer comes as soon as the cluster_def of another generation is complete.
	QueryGeneration = "generation"
	// QueryWait is the query key of the long poll with the longest wait, in whole seconds.
	QueryWait = "wait"
)

// For returns the path with {task_id} filled in. A task_id has only letters, digits, '.', '-' and '_', so nothing
// needs escaping.
func For(path, taskID string) string { return strings.Replace(path, "{task_id}", taskID, 1) }

// ForFile returns the path of a file of the download folder; of none, what all of them begin with.
func ForFile(file string) string { return strings.Replace(PathV0Download, "{file}", file, 1) }

// Limits of requests, enforced by the scheduler and kept by the sidecar.
const (
	// MaxBody is the largest body in bytes.
	MaxBody = 256 << 10
	// MaxHeader is the largest request line and header together, in bytes.
	MaxHeader = 16 << 10
	// MaxLogLine is the longest line of output in bytes; the sidecar cuts a longer one into several.
	MaxLogLine = 16 << 10
	// MaxMessage is the longest text of a PhaseReport in bytes; the sidecar keeps the end of a longer one.
	MaxMessage = 4 << 10
)

// LeaseSeconds is how long a sidecar may be silent before the scheduler takes it for gone. A long poll is held a third
// of it at most, so that three may be lost (fasthttp does not notice a client that hung up).
const LeaseSeconds = 30

// MaxWaitSeconds is the longest a long poll is held.
const MaxWaitSeconds = LeaseSeconds / 3
