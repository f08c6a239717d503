package mesosrig

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// State is what is used of the master's /master/state.
type State struct {
	Version             string      `json:"version"`
	ID                  string      `json:"id"`     // new with each start of the master
	Leader              string      `json:"leader"` // like master@127.0.0.1:5050
	Frameworks          []Framework `json:"frameworks"`
	CompletedFrameworks []Framework `json:"completed_frameworks"`
	Agents              []Agent     `json:"slaves"`
}

// Framework is one framework as the master sees it.
type Framework struct {
	ID              string   `json:"id"`
	Name            string   `json:"name"`
	Principal       string   `json:"principal"`
	Role            string   `json:"role"`
	Roles           []string `json:"roles"`
	Active          bool     `json:"active"`    // it is sent offers
	Connected       bool     `json:"connected"` // its subscription stands
	Recovered       bool     `json:"recovered"` // known from its agents only, since the master started
	Checkpoint      bool     `json:"checkpoint"`
	FailoverTimeout float64  `json:"failover_timeout"` // seconds
	WebuiURL        string   `json:"webui_url"`
	Tasks           []Task   `json:"tasks"`
	CompletedTasks  []Task   `json:"completed_tasks"`
	Unreachable     []Task   `json:"unreachable_tasks"`
	Offers          []Offer  `json:"offers"` // those it holds
}

// Offer is an offer a framework has not answered.
type Offer struct {
	ID        string    `json:"id"`
	AgentID   string    `json:"slave_id"`
	Resources Resources `json:"resources"`
}

// Task is one task as the master sees it.
type Task struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	AgentID   string       `json:"slave_id"`
	State     string       `json:"state"` // TASK_RUNNING …
	Resources Resources    `json:"resources"`
	Statuses  []TaskStatus `json:"statuses"` // oldest first
}

// TaskStatus is one status update of a task.
type TaskStatus struct {
	State     string  `json:"state"`
	Timestamp float64 `json:"timestamp"` // seconds since the epoch
}

// Agent is one agent as the master sees it.
type Agent struct {
	ID         string         `json:"id"`
	Hostname   string         `json:"hostname"`
	Port       int            `json:"port"`
	PID        string         `json:"pid"` // like slave(1)@127.0.0.1:5051
	Active     bool           `json:"active"`
	Attributes map[string]any `json:"attributes"`
	Resources  Resources      `json:"resources"`
	Used       Resources      `json:"used_resources"`
	Offered    Resources      `json:"offered_resources"`
	// Reserved are those of Resources that are for one role alone, by role.
	Reserved map[string]Resources `json:"reserved_resources"`
}

// Resources are those of a task or an agent. Memory and disk are in MiB, Ports like "[31000-32000]".
type Resources struct {
	CPUs  float64 `json:"cpus"`
	Mem   float64 `json:"mem"`
	Disk  float64 `json:"disk"`
	GPUs  float64 `json:"gpus"`
	Ports string  `json:"ports"`
}

// Framework returns the framework that is not completed and has this name or id.
func (s State) Framework(nameOrID string) (Framework, bool) {
	for _, f := range s.Frameworks {
		if f.ID == nameOrID || f.Name == nameOrID {
			return f, true
		}
	}
	return Framework{}, false
}

// task returns the task of this id or name that is in the state.
func (s State) task(idOrName, state string) (Task, bool) {
	for _, f := range slices.Concat(s.Frameworks, s.CompletedFrameworks) {
		for _, task := range slices.Concat(f.Tasks, f.CompletedTasks, f.Unreachable) {
			if (task.ID == idOrName || task.Name == idOrName) && task.State == state {
				return task, true
			}
		}
	}
	return Task{}, false
}

// activeAgent says whether the agent at this address is registered and active.
func (s State) activeAgent(address string) bool {
	for _, agent := range s.Agents {
		if agent.Active && strings.HasSuffix(agent.PID, "@"+address) {
			return true
		}
	}
	return false
}

// fetchState asks the master at address (host:port).
func fetchState(ctx context.Context, address string) (state State, err error) {
	err = get(ctx, address, "/master/state", &state)
	return state, err
}

// hasRegistry says whether the master's replica of the registry is as that of the others.
func hasRegistry(ctx context.Context, address string) bool {
	metrics := map[string]float64{}
	return get(ctx, address, "/metrics/snapshot", &metrics) == nil && metrics["registrar/log/recovered"] == 1
}

// get reads JSON from a master. The connection is not kept, so that nothing of it outlives a test.
func get(ctx context.Context, address, path string, into any) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask master: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask master: %s", response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("read master's %s: %w", path, err)
	}
	return nil
}
