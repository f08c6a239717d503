package mesos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/master"

	"tfmesos/scheduler/mesos/detector"
	"tfmesos/scheduler/offer"
)

const (
	// operatorPath is where a master answers questions.
	operatorPath = "/api/v1"
	// maxAgents bounds the answer, in bytes; 10,000 agents are some 10 MiB.
	maxAgents = 256 << 20
	// askWithin bounds the question to each master, and to ZooKeeper.
	askWithin = 15 * time.Second
)

// Agents asks the leading master for its agents, as config.Framework.Role sees them; of the rest of the framework nothing is
// needed. The error says what each address has answered.
func Agents(ctx context.Context, config Config) ([]offer.Agent, error) {
	masters, err := parseMasters(config.Master, config.Secure)
	if err != nil {
		return nil, err
	}
	trust, err := config.tls()
	if err != nil {
		return nil, err
	}
	c := &Client{config: config, masters: masters, log: config.Logger, calls: newHTTPClient(trust)}
	defer c.calls.CloseIdleConnections()
	addresses, err := c.whereToAsk(ctx)
	if err != nil {
		return nil, err
	}
	body, err := (&master.Call{Type: master.Call_GET_AGENTS}).Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode call GET_AGENTS: %w", err)
	}
	var failures []string
	for _, to := range addresses {
		answer, err := c.ask(ctx, to, body)
		if err == nil {
			return convertAgents(answer.GetGetAgents().GetAgents(), config.Framework.role()), nil
		}
		failures = append(failures, err.Error())
	}
	return nil, fmt.Errorf("ask for agents: %s", strings.Join(failures, "; "))
}

// whereToAsk returns the masters of the list, or the one that ZooKeeper names.
func (c *Client) whereToAsk(ctx context.Context) ([]*url.URL, error) {
	if c.masters.zookeeper == nil {
		return c.masters.list, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	first := make(chan detector.Finding, 1)
	var following sync.WaitGroup
	following.Go(func() {
		c.masters.zookeeper.Follow(ctx, c.log, func(f detector.Finding) {
			select {
			case first <- f:
			default: // one is enough
			}
		})
	})
	defer following.Wait()
	defer cancel()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not say who leads", c.masters.zookeeper)
	case found := <-first:
		if found.Err != nil {
			return nil, found.Err
		}
		leader := found.Master.ByIP()
		if c.masters.scheme == "https" {
			leader = found.Master.ByName()
		}
		return []*url.URL{masterURL(c.masters.scheme, leader)}, nil
	}
}

// ask puts a question to a master, and follows redirects to the leading one.
func (c *Client) ask(ctx context.Context, to *url.URL, body []byte) (*master.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	to = &url.URL{Scheme: to.Scheme, Host: to.Host, Path: operatorPath}
	for range maxHops + 1 {
		answer, err := c.post(ctx, c.calls, to, "", body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", to.Host, explainTLS(to, withoutURL(err)))
		}
		if answer.StatusCode == http.StatusOK {
			defer answer.Body.Close()
			return readAnswer(to, answer.Body)
		}
		message := readMessage(answer)
		answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			if to, err = redirected(to, answer.Header.Get("Location")); err != nil {
				return nil, err
			}
		default:
			failed := &CallError{Call: master.Call_GET_AGENTS.String(), Code: answer.StatusCode, Message: message}
			if hint := c.config.explainStatus(failed); hint != "" {
				return nil, fmt.Errorf("%s: %w: %s", to.Host, failed, hint)
			}
			return nil, fmt.Errorf("%s: %w", to.Host, failed)
		}
	}
	return nil, fmt.Errorf("redirected %d times, at last to %s: the masters have no leader", maxHops+1, to.Host)
}

func readAnswer(from *url.URL, body io.Reader) (*master.Response, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxAgents+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read the agents: %w", from.Host, err)
	}
	answer := &master.Response{}
	if err := answer.Unmarshal(text); err != nil || len(text) > maxAgents || answer.Type != master.Response_GET_AGENTS {
		return nil, fmt.Errorf("%s: %d bytes come back that are no answer to GET_AGENTS; is it a Mesos master?", from.Host, len(text))
	}
	return answer, nil
}

func convertAgents(agents []master.Response_GetAgents_Agent, role string) []offer.Agent {
	converted := make([]offer.Agent, 0, len(agents))
	for i := range agents {
		a := &agents[i]
		out := offer.Agent{
			Offer: offer.Offer{AgentID: a.AgentInfo.GetID().GetValue(), Hostname: a.AgentInfo.Hostname, Address: hostOf(a.GetPID()), Role: role,
				Attributes: convertAttributes(a.AgentInfo.Attributes)},
			Total: convertParts(a.TotalResources, role),
		}
		out.Parts = offer.Minus(out.Total, convertParts(unallocated(a.AllocatedResources), role))
		out.Others = others(a.TotalResources, role)
		switch {
		case !a.Active:
			out.Down = "inactive"
		case a.DrainInfo != nil:
			out.Down = "draining"
		case a.GetDeactivated():
			out.Down = "deactivated"
		}
		converted = append(converted, out)
	}
	return converted
}

// unallocated hides to whom resources are allocated: they are in use, whoever it is.
func unallocated(resources []mesos.Resource) []mesos.Resource {
	some := make([]mesos.Resource, len(resources))
	for i, r := range resources {
		r.AllocationInfo = nil
		some[i] = r
	}
	return some
}

// others sums up what is reserved so that the role cannot have it.
func others(resources []mesos.Resource, role string) (sum offer.Resources) {
	for i := range resources {
		r := &resources[i]
		if _, ours := usable(r, role); !ours && r.Scalar != nil && r.Revocable == nil {
			sum = sum.Add(scalar(r.Name, r.Scalar.Value))
		}
	}
	return sum
}

// hostOf cuts the address out of a libprocess id, as in slave(1)@10.0.0.7:5051.
func hostOf(pid string) string {
	_, address, _ := strings.Cut(pid, "@")
	if at := strings.LastIndex(address, ":"); at >= 0 {
		address = address[:at]
	}
	return strings.Trim(address, "[]")
}
