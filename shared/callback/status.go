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
	Task     string     `json:"task"`
	Phase    string     `json:"phase"`
	State    string     `json:"state"`
	Launch   int        `json:"launch"`
	TaskID   string     `json:"task_id"`
	AgentID  string     `json:"agent_id"`
	Hostname string     `json:"hostname"`
	Address  string     `json:"address"`
	Reason   string     `json:"reason,omitempty"`
	ExitCode *int       `json:"exit_code,omitempty"`
	PhaseAt  *time.Time `json:"phase_at,omitempty"`
	// Times of the current launch, absent until they come.
	LaunchedAt      *time.Time `json:"launched_at,omitempty"`
	RegisteredAt    *time.Time `json:"registered_at,omitempty"`
	PythonStartedAt *time.Time `json:"python_started_at,omitempty"`
	ImportedAt      *time.Time `json:"imported_at,omitempty"`
	ServingAt       *time.Time `json:"serving_at,omitempty"`
}

// EventStatus is one note of what happened.
type EventStatus struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Task string    `json:"task,omitempty"`
	Text string    `json:"text"`
}
