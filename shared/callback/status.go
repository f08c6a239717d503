package callback

import (
	"time"

	"tfmesos/shared/tf"
)

// Status is the answer of GET /v1/cluster: the whole cluster as `scheduler status` shows it. Times that have not come
// yet are absent.
type Status struct {
	Name       string        `json:"name"`
	Run        int           `json:"run"`
	Phase      string        `json:"phase"`
	Ready      int           `json:"ready"`
	Total      int           `json:"total"`
	Generation int           `json:"generation"`
	Why        string        `json:"why,omitempty"`
	Framework  string        `json:"framework_id"`
	Master     string        `json:"master"`
	ClusterDef tf.ClusterDef `json:"cluster_def,omitempty"`
	StartedAt  *time.Time    `json:"started_at,omitempty"`
	ReadyAt    *time.Time    `json:"ready_at,omitempty"`
	EndedAt    *time.Time    `json:"ended_at,omitempty"`
	ExitCode   *int          `json:"exit_code,omitempty"`
	Tasks      []TaskStatus  `json:"tasks"`
	// Events are the notes of the run in order; only final.json has them.
	Events []EventStatus `json:"events,omitempty"`
}

// TaskStatus is one task of a Status, in task order.
type TaskStatus struct {
	Task     string `json:"task"`
	Phase    string `json:"phase"`
	State    string `json:"state"`
	Launch   int    `json:"launch"`
	TaskID   string `json:"task_id"`
	AgentID  string `json:"agent_id"`
	Hostname string `json:"hostname"`
	Address  string `json:"address"`
	Reason   string `json:"reason,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	// Waiting is there while a task has no place, from the first offer on.
	Waiting *WaitingStatus `json:"waiting,omitempty"`
	PhaseAt *time.Time     `json:"phase_at,omitempty"`
	// Times of the current launch, absent until they come.
	LaunchedAt      *time.Time `json:"launched_at,omitempty"`
	RegisteredAt    *time.Time `json:"registered_at,omitempty"`
	PythonStartedAt *time.Time `json:"python_started_at,omitempty"`
	ImportedAt      *time.Time `json:"imported_at,omitempty"`
	ServingAt       *time.Time `json:"serving_at,omitempty"`
}

// WaitingStatus says what became of the offers that were looked at for a task; the last one of each agent counts.
type WaitingStatus struct {
	Offers      int        `json:"offers"`
	Since       *time.Time `json:"since"`
	LastOfferAt *time.Time `json:"last_offer_at"`
	// Reasons are why offers were refused, the most frequent first; one offer may be short of several. Empty: the task has a
	// place, and waits for the others of its cluster.
	Reasons []RefusalStatus `json:"reasons,omitempty"`
}

// RefusalStatus is one reason.
type RefusalStatus struct {
	// Field is a resource, as in mem, the attribute that a constraint names, or room.
	Field string `json:"field"`
	// Count is how many offers were refused for it; Text says why, in words that follow Count.
	Count int    `json:"count"`
	Text  string `json:"text"`
}

// EventStatus is one note of what happened.
type EventStatus struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Task string    `json:"task,omitempty"`
	Text string    `json:"text"`
}
