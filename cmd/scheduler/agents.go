package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/mesos"
	"tfmesos/scheduler/offer"
	"tfmesos/scheduler/view"
)

// Run lists what agents have free.
func (a *agentsCommand) Run() error {
	agents, err := a.agents(a.Role)
	if err != nil {
		return err
	}
	if a.Output == "json" {
		return printJSON(agentsJSON(agents))
	}
	view.Agents(os.Stdout, agents)
	return nil
}

// agents asks the leading master for its agents as the role sees them, in the order of their names.
func (c *connection) agents(role string) ([]offer.Agent, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	config.Framework.Role, config.Logger = role, slog.New(slog.DiscardHandler)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	agents, err := mesos.Agents(ctx, config)
	switch {
	case ctx.Err() != nil:
		return nil, &outcome{cluster.ExitInterrupted, "interrupted"}
	case err != nil:
		return nil, &outcome{cluster.ExitAway, err.Error()}
	}
	slices.SortStableFunc(agents, func(a, b offer.Agent) int { return strings.Compare(a.Hostname+" "+a.AgentID, b.Hostname+" "+b.AgentID) })
	return agents, nil
}

func printJSON(v any) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// agentJSON is an agent of -o json.
type agentJSON struct {
	AgentID    string          `json:"agent_id"`
	Hostname   string          `json:"hostname"`
	Free       offer.Resources `json:"free"`
	Total      offer.Resources `json:"total"`
	Others     offer.Resources `json:"for_other_roles"`
	Down       string          `json:"down,omitempty"`
	Attributes []attributeJSON `json:"attributes"`
}

type attributeJSON struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func agentsJSON(agents []offer.Agent) []agentJSON {
	all := make([]agentJSON, 0, len(agents))
	for _, a := range agents {
		one := agentJSON{AgentID: a.AgentID, Hostname: a.Hostname, Free: offer.Sum(a.Parts), Total: offer.Sum(a.Total), Others: a.Others, Down: a.Down,
			Attributes: make([]attributeJSON, 0, len(a.Attributes))}
		for _, attribute := range a.Attributes {
			one.Attributes = append(one.Attributes, attributeJSON{attribute.Name, attribute.String()})
		}
		all = append(all, one)
	}
	return all
}

// Run validates the spec and says what it would launch, and where.
func (p *planCommand) Run(inv *invocation) error {
	s, err := p.read(inv.command)
	if err != nil {
		return err
	}
	if p.Offline {
		if p.Output == "json" {
			return printJSON(planJSON{Spec: &s})
		}
		view.Plan(os.Stdout, &s)
		return nil
	}
	if strings.TrimSpace(p.Master) == "" {
		return usage("no Mesos master: give --master HOST:PORT or set MESOS_MASTER, or --offline to look at the spec alone")
	}
	agents, err := p.connection.agents(s.Role)
	if err != nil {
		return err
	}
	f := cluster.Foresee(&s, agents)
	if p.Output == "json" {
		err = printJSON(foresightJSON(&s, f))
	} else {
		view.Plan(os.Stdout, &s)
		view.Foresight(os.Stdout, f)
	}
	if err != nil || len(f.Short) == 0 {
		return err
	}
	first := f.Short[0]
	reason := fmt.Sprintf("%s would wait for resources: %s has no place: %s", s.Name, first.Task, first.Of("agent"))
	if f.Never {
		reason = fmt.Sprintf("%s can never start here, even with all agents idle: %s has no place: %s", s.Name, first.Task, first.Of("agent"))
	}
	return &outcome{cluster.ExitNoResources, reason}
}

// planJSON is -o json of plan. What the master was not asked for is absent.
type planJSON struct {
	Spec   *cluster.Spec `json:"spec"`
	Fits   *bool         `json:"fits,omitempty"`
	Never  *bool         `json:"never,omitempty"`
	Places []placeJSON   `json:"places,omitempty"`
	Short  []shortJSON   `json:"short,omitempty"`
}

type placeJSON struct {
	Task     string `json:"task"`
	AgentID  string `json:"agent_id"`
	Hostname string `json:"hostname"`
}

type shortJSON struct {
	Task    string       `json:"task"`
	Agents  int          `json:"agents"`
	Reasons []reasonJSON `json:"reasons"`
}

type reasonJSON struct {
	Field string `json:"field"`
	Count int    `json:"count"`
	Text  string `json:"text"`
}

func foresightJSON(s *cluster.Spec, f cluster.Foresight) planJSON {
	fits := len(f.Short) == 0
	plan := planJSON{Spec: s, Fits: &fits, Never: &f.Never}
	for _, p := range f.Places {
		for _, task := range p.Tasks {
			plan.Places = append(plan.Places, placeJSON{task.String(), p.AgentID, p.Hostname})
		}
	}
	for _, short := range f.Short {
		one := shortJSON{Task: short.Task.String(), Agents: short.Offers}
		for _, r := range short.Reasons {
			one.Reasons = append(one.Reasons, reasonJSON{r.Field, r.Count, r.Long})
		}
		plan.Short = append(plan.Short, one)
	}
	return plan
}
