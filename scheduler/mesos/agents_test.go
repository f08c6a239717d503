package mesos

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/master"

	"tfmesos/scheduler/offer"
)

// operator is a master that answers the operator API with what answer returns, after it has been asked properly.
func operator(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		call := &master.Call{}
		if err := call.Unmarshal(body); err != nil || call.Type != master.Call_GET_AGENTS || r.Method != http.MethodPost || r.URL.Path != "/api/v1" ||
			r.Header.Get("Content-Type") != mediaType || r.Header.Get("Accept") != mediaType {
			t.Errorf("the question is %s %s %v (%v)", r.Method, r.URL.Path, call, err)
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func quiet(address, role string) Config {
	return Config{Master: address, Framework: Framework{Role: role}, Logger: slog.New(slog.DiscardHandler)}
}

func free(name string, value float64, change ...func(*mesos.Resource)) mesos.Resource {
	return amount(name, value, append(change, func(r *mesos.Resource) { r.AllocationInfo = nil })...)
}

func TestAgentsAreSeenAsTheRoleSeesThem(t *testing.T) {
	ours := func(r *mesos.Resource) { r.Role = of("ml") }
	theirs := func(r *mesos.Resource) { r.Role = of("web") }
	text := mesos.Attribute{Name: "rack", Type: mesos.TEXT, Text: &mesos.Value_Text{Value: "r1"}}
	response := &master.Response{Type: master.Response_GET_AGENTS, GetAgents: &master.Response_GetAgents{Agents: []master.Response_GetAgents_Agent{
		{AgentInfo: mesos.AgentInfo{ID: &mesos.AgentID{Value: "S0"}, Hostname: "a0.lab", Attributes: []mesos.Attribute{text}}, Active: true, PID: of("slave(1)@10.0.0.7:5051"),
			TotalResources: []mesos.Resource{free("cpus", 4), free("cpus", 2, ours), free("cpus", 8, theirs), free("mem", 4096), free("gpus", 2),
				free("cpus", 16, func(r *mesos.Resource) { r.Revocable = &mesos.Resource_RevocableInfo{} })},
			// Resources in use are so whoever has them.
			AllocatedResources: []mesos.Resource{amount("cpus", 1.5, func(r *mesos.Resource) { r.AllocationInfo.Role = of("web") }), amount("cpus", 2, ours), amount("cpus", 3, theirs),
				amount("mem", 5000)}},
		{AgentInfo: mesos.AgentInfo{Hostname: "a1.lab"}, TotalResources: []mesos.Resource{free("cpus", 1)}},
		{AgentInfo: mesos.AgentInfo{Hostname: "a2.lab"}, Active: true, DrainInfo: &mesos.DrainInfo{}},
		{AgentInfo: mesos.AgentInfo{Hostname: "a3.lab"}, Active: true, Deactivated: of(true), PID: of("slave(1)@[fd00::3]:5051")},
	}}}
	body, err := response.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	leader := operator(t, func(w http.ResponseWriter, r *http.Request) {
		if user, secret, _ := r.BasicAuth(); user != "u" || secret != "s" {
			t.Errorf("the question comes from %q with %q", user, secret)
		}
		_, _ = w.Write(body)
	})
	standby := operator(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", strings.TrimPrefix(leader, "http:")+"/api/v1")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	config := quiet("127.0.0.1:1,"+standby, "ml")
	config.Principal, config.Secret = "u", "s"
	agents, err := Agents(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if len(agents) != 4 {
		t.Fatalf("%d agents are there, want 4", len(agents))
	}
	a := agents[0]
	if want := (offer.Resources{CPUs: 2500, GPUs: 2000}); offer.Sum(a.Parts) != want {
		t.Errorf("free is %v, want %v: never less than nothing", offer.Sum(a.Parts), want)
	}
	if want := (offer.Resources{CPUs: 6000, Mem: 4096000, GPUs: 2000}); offer.Sum(a.Total) != want {
		t.Errorf("the agent has %v, want %v", offer.Sum(a.Total), want)
	}
	if want := (offer.Resources{CPUs: 8000}); a.Others != want {
		t.Errorf("others have %v of it, want %v", a.Others, want)
	}
	if a.AgentID != "S0" || a.Hostname != "a0.lab" || a.Address != "10.0.0.7" || a.Role != "ml" || a.Value("rack") != "r1" {
		t.Errorf("the agent is %+v", a.Offer)
	}
	var down []string
	for _, a := range agents {
		down = append(down, a.Down)
	}
	if diff := cmp.Diff([]string{"", "inactive", "draining", "deactivated"}, down); diff != "" || agents[3].Address != "fd00::3" {
		t.Errorf("agents that get no tasks (-want +got), and the address %s:\n%s", agents[3].Address, diff)
	}
}

func TestAQuestionThatIsNotAnsweredSaysWhatCameBack(t *testing.T) {
	circle := ""
	circle = operator(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", strings.TrimPrefix(circle, "http:"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	for address, words := range map[string]string{
		"127.0.0.1:1": "connection refused",
		circle:        "no leader",
		operator(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }):             "MESOS_USERNAME",
		operator(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }):       "503",
		operator(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>It works!</html>") }): "is it a Mesos master?",
		"not an address": "want HOST:PORT",
	} {
		if _, err := Agents(t.Context(), quiet(address, "")); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want an error with %q", address, err, words)
		}
	}
}
