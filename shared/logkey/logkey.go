// Package logkey names the attributes of our log records, so that a thing has
// one key in every record of both programs. They are the words of
// docs/nomenclature.md and the fields of the same name in Redis and JSON.
package logkey

// What a record is about.
const (
	Cluster    = "cluster"    // the cluster's name
	Run        = "run"        // number of the cluster's run
	Generation = "generation" // number of the cluster_def in use
	Job        = "job_name"   // ps, worker, chief, …
	TaskIndex  = "task_index" // index in the job
	Task       = "task"       // the TensorFlow task as people write it: worker:1
	Launch     = "launch"     // number of the task's launch
)

// What Mesos calls things.
const (
	FrameworkID = "framework_id" // our registration with the master
	AgentID     = "agent_id"     // the agent of a launch or an offer
	OfferID     = "offer_id"     // one offer
	TaskID      = "task_id"      // Mesos' id of one launch
	State       = "state"        // TASK_STAGING … TASK_LOST
	Master      = "master"       // the master's host:port
	Role        = "role"         // the role offers are taken for
	Hostname    = "hostname"     // the agent's name for its machine
	Call        = "call"         // type of a call: ACCEPT, KILL, …
	Event       = "event"        // type of an event: OFFERS, UPDATE, …
)

// What happened, and how.
const (
	Phase    = "phase"     // where a task is in our state machine
	From     = "from"      // the phase before a transition
	To       = "to"        // the phase after it
	Reason   = "reason"    // why, in words for people
	Error    = "error"     // the error's text
	Wait     = "wait"      // how long until the next try
	Attempt  = "attempt"   // which try this is, from 0
	Elapsed  = "elapsed"   // how long something took
	Count    = "count"     // how many of what the message names
	ExitCode = "exit_code" // of a child process
	Devices  = "devices"   // UUIDs of GPUs
	Signal   = "signal"    // received, or sent to a child
)

// Where things are.
const (
	Address = "address" // host, or host:port
	Port    = "port"    // a TCP port
	URL     = "url"     // without credentials
	Path    = "path"    // of a file, or of an HTTP request
	PID     = "pid"     // of a process
	Method  = "method"  // of an HTTP request
	Status  = "status"  // of an HTTP answer
)
