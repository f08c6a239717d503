package cluster

import (
	"slices"
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/scheduler/reconcile"
	"tfmesos/shared/tf"
)

// Cluster is the whole state of a run. Everything but the last group of fields is stored; the store shows it to people.
type Cluster struct {
	Spec Spec
	// Run counts the runs under this name from 1; Nonce is six random hex digits of this run, part of every task_id.
	Run   int
	Nonce string
	Phase Phase
	// Why says what the cluster waits for, or how it ended; "" when all is well.
	Why string
	// Generation counts complete cluster_defs; ClusterDef is complete or nil.
	Generation int
	ClusterDef tf.ClusterDef
	// CompletedAt is when the cluster_def of this generation became complete.
	CompletedAt time.Time
	Framework   Framework
	Tasks       []Task // in task order, see Spec.TaskNames
	StartedAt   time.Time
	LaunchedAt  time.Time // when the whole gang was first launched
	ReadyAt     time.Time
	EndingAt    time.Time
	EndedAt     time.Time
	// ExitCode is set from PhaseEnding on; Reason is the sentence to it.
	ExitCode int
	Reason   string

	// The rest is of this process and never stored.
	Settings   Settings
	Connected  bool            // subscribed at the master right now
	Offers     []HeldOffer     // offers not answered yet
	Seen       []offer.Offer   // the last offers of each agent since something waits, to say why it does
	SeenAt     time.Time       // when the last of them came
	Told       string          // what people were told last of the wait, so that they hear news only
	Draws      int             // numbers drawn for jitter, see decider.fraction
	Round      reconcile.Round // explicit reconciliation that goes on
	AskedAt    time.Time       // when the last round started
	AwayWhy    string          // why the master is out of reach
	Suppress   bool            // SUPPRESS is in force
	SuppressAt time.Time       // when it was sent
	Filtered   bool            // our filters may hide what waits now
	ReviveAt   time.Time       // no REVIVE before it: they load the master's allocator
	WatchAt    time.Time       // when to send one more REVIVE, unless an offer comes: the last may be lost
	Watches    int             // how many of these have been sent
	Probing    []string        // task_ids of launches whose address is being probed
	Driving    bool            // the driver runs
	Hurry      bool            // somebody has stopped the run: nobody finishes by himself any more
}

// Framework is our registration at the master.
type Framework struct {
	ID              string
	Role            string
	Principal       string
	Master          string // host:port of the leading master
	WebUIURL        string
	FailoverTimeout time.Duration
	RegisteredAt    time.Time
	DisconnectedAt  time.Time // zero while connected
}

// Settings are what this scheduler process was told by flags. They are never stored.
type Settings struct {
	// Callbacks are the URLs at which tasks reach the scheduler, the best first, without a trailing slash.
	Callbacks []string
	// Sidecar is the program that tasks start: an absolute path, or a name looked up in the container's PATH.
	Sidecar string
	// Secret keys the tokens of new launches (see Token). Random for each process.
	Secret []byte
	// Values has the caller's value of each variable that the spec names with null.
	Values map[string]string
	// Grace is the whole time an end may take.
	Grace time.Duration
	// OrphanTimeout is how long sidecars go on without a scheduler, and how long the master may be out of reach before
	// the run ends with exit code 4.
	OrphanTimeout time.Duration
	// TFImport is "lean" or "full": how server mode imports TensorFlow.
	TFImport string
}

// HeldOffer is an offer that waits for the rest of the gang's place, until a time at the longest.
type HeldOffer struct {
	offer.Offer
	Until time.Time
}

// New returns a cluster that has not started anything, at phase waiting.
func New(spec Spec, run int, nonce string, settings Settings, now time.Time) *Cluster {
	c := &Cluster{Spec: spec, Run: run, Nonce: nonce, Phase: PhaseWaiting, StartedAt: now, Settings: settings, Why: masterSilent}
	c.Framework.Role = spec.Role
	for _, name := range spec.TaskNames() {
		c.Tasks = append(c.Tasks, Task{Name: name, Phase: TaskWaiting, PhaseAt: now, Why: masterSilent, ExitCode: -1})
	}
	return c
}

// Resume prepares a cluster that was loaded from the store for a new scheduler process: it keeps what is known of Mesos
// and forgets what only the old process had.
func (c *Cluster) Resume(settings Settings, now time.Time) {
	c.Settings, c.Connected, c.Offers, c.Suppress, c.Round, c.Driving, c.Probing = settings, false, nil, false, reconcile.Round{}, false, nil
	c.Seen, c.SeenAt, c.Filtered, c.WatchAt, c.Watches = nil, time.Time{}, false, time.Time{}, 0
	if c.Framework.DisconnectedAt.IsZero() {
		c.Framework.DisconnectedAt = now
	}
}

// Clone returns a copy that shares nothing a Decide would change.
func (c *Cluster) Clone() *Cluster {
	d := *c
	d.ClusterDef = c.ClusterDef.Clone()
	d.Tasks = slices.Clone(c.Tasks)
	d.Offers = slices.Clone(c.Offers)
	d.Seen = slices.Clone(c.Seen)
	d.Probing = slices.Clone(c.Probing)
	return &d
}

// Task returns the task of that name, or nil. It stays valid until Tasks is replaced.
func (c *Cluster) Task(name tf.TaskName) *Task {
	for i := range c.Tasks {
		if c.Tasks[i].Name == name {
			return &c.Tasks[i]
		}
	}
	return nil
}

// Launch returns the task whose current launch has the task_id, or nil.
func (c *Cluster) Launch(taskID string) *Task {
	for i := range c.Tasks {
		if taskID != "" && c.Tasks[i].TaskID == taskID {
			return &c.Tasks[i]
		}
	}
	return nil
}

// Ready returns how many tasks are ready, and of how many.
func (c *Cluster) Ready() (ready, total int) {
	for i := range c.Tasks {
		if c.Tasks[i].Ready() {
			ready++
		}
	}
	return ready, len(c.Tasks)
}

// Ended reports whether the run is over.
func (c *Cluster) Ended() bool { return c.Phase == PhaseEnded }
