package mesosrig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAStandbyLeadsAfterTheLeaderWasKilledAndHasItsAgentsAndTheirTasks(t *testing.T) {
	t.Parallel()
	rig := Start(t, WithMasters(3), WithAgent(AgentConfig{}), WithAgent(AgentConfig{IP: "127.0.0.2"}))
	leader, before := rig.AwaitLeader(t), rig.State(t)
	f := subscribe(t, rig.Masters()[leader])
	f.launch("survivor", "sleep 1000")
	f.await("survivor", "TASK_RUNNING")

	rig.StopMasterAt(t, leader, syscall.SIGKILL)
	next := rig.AwaitLeader(t)
	if next == leader {
		t.Fatalf("master %d leads, which was killed", leader)
	}
	rig.AwaitAgents(t)
	if after := rig.State(t); after.ID == before.ID || len(after.Agents) != 2 || !sameAgents(before, after) {
		t.Errorf("want the same two agents with the new leader, got %+v", after)
	}
	rig.AwaitTask(t, "survivor", "TASK_RUNNING")

	rig.StartMasterAt(t, leader)
	if now := rig.AwaitLeader(t); now != next {
		t.Errorf("master %d came back and master %d leads, want still %d", leader, now, next)
	}
	if log := rig.Mesos.masters[next].logText(); !strings.Contains(log, "Recovered 2 agents from the registry") {
		t.Error("the new leader did not know the agents from the registry of the one before")
	}
}

func sameAgents(a, b State) bool {
	ids := map[string]bool{}
	for _, agent := range a.Agents {
		ids[agent.ID] = true
	}
	for _, agent := range b.Agents {
		if !ids[agent.ID] {
			return false
		}
	}
	return true
}

func TestAMasterLeadsAgainAfterZooKeeperWasAwayAndTheLeaderEndedItself(t *testing.T) {
	t.Parallel()
	rig := Start(t, WithMasters(1))
	rig.StopZooKeeper(t, syscall.SIGKILL)
	select {
	case <-rig.Mesos.masters[0].ended:
	case <-time.After(patience):
		t.Fatalf("a master without its session goes on leading\n%s", rig.Mesos.Logs())
	}
	rig.StartZooKeeper(t)
	rig.StartMasterAt(t, 0)
	if n := len(rig.State(t).Agents); n != 1 {
		t.Errorf("%d agents, want the one back", n)
	}
}

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

func TestAgentsAreHostsOfTheirOwnWithTheirResourcesAttributesAndRoles(t *testing.T) {
	t.Parallel()
	rig := Start(t,
		WithAgent(AgentConfig{IP: "127.0.0.2", Attributes: "rack:r1", Resources: "cpus:1;mem:512"}),
		WithAgent(AgentConfig{IP: "127.0.0.3", Hostname: "a3.lab", Attributes: "rack:r2", Resources: "cpus:2;cpus(ml):3;mem:256"}))
	agents := map[string]Agent{}
	for _, agent := range rig.State(t).Agents {
		agents[agent.Hostname] = agent
	}
	first, second := agents["127.0.0.2"], agents["a3.lab"]
	if len(agents) != 2 || first.Attributes["rack"] != "r1" || second.Attributes["rack"] != "r2" {
		t.Fatalf("want 127.0.0.2 in rack r1 and a3.lab in rack r2, got %+v", agents)
	}
	if !strings.Contains(first.PID, "@127.0.0.2:") || !strings.Contains(second.PID, "@127.0.0.3:") || !strings.HasSuffix(second.PID, rig.Agents()[1]) {
		t.Errorf("want the agents at 127.0.0.2 and 127.0.0.3, got %s and %s, of %v", first.PID, second.PID, rig.Agents())
	}
	if first.Resources.CPUs != 1 || second.Resources.CPUs != 5 || second.Reserved["ml"].CPUs != 3 {
		t.Errorf("want 1 cpu, and 5 of which 3 are reserved for ml; got %+v and %+v", first, second)
	}
	rig.StopAgentAt(t, 1, syscall.SIGKILL)
	f := subscribe(t, rig.Master())
	f.launch("here", "sleep 1000")
	f.await("here", "TASK_RUNNING")
	if task := rig.AwaitTask(t, "here", "TASK_RUNNING"); task.AgentID != first.ID {
		t.Errorf("the task runs on %s, want %s", task.AgentID, first.ID)
	}
	rig.StartAgentAt(t, 1)
}

func TestAFrameworkNeedsTheCredentialsOfTheRig(t *testing.T) {
	rig := Start(t, WithCredentials("tf", "s3cret"), WithCredentials("other", "0ther"))
	for want, login := range map[string][2]string{"401": {"tf", "wr0ng"}, "SUBSCRIBED": {"tf", "s3cret"}, "401 ": {}} {
		if answer := attempt(t, rig.Master(), "test", login); answer != strings.TrimSpace(want) {
			t.Errorf("as %q a framework gets %s, want %s", login, answer, want)
		}
	}
}

func TestARoleOutsideTheWhitelistIsAnError(t *testing.T) {
	rig := Start(t, WithRoles("ads", "test"))
	if answer := attempt(t, rig.Master(), "ml", [2]string{}); !strings.HasPrefix(answer, "ERROR") {
		t.Errorf("role ml gets %s, want an ERROR", answer)
	}
	if answer := attempt(t, rig.Master(), "ads", [2]string{}); answer != "SUBSCRIBED" {
		t.Errorf("role ads gets %s, want SUBSCRIBED", answer)
	}
}

func TestACLsRefuseARoleAndAUser(t *testing.T) {
	t.Parallel()
	rig := Start(t, WithACLs(`{
		"register_frameworks": [{"principals": {"type": "ANY"}, "roles": {"values": ["test"]}}, {"principals": {"type": "ANY"}, "roles": {"type": "NONE"}}],
		"run_tasks": [{"principals": {"type": "ANY"}, "users": {"values": ["root"]}}, {"principals": {"type": "ANY"}, "users": {"type": "NONE"}}]}`))
	if answer := attempt(t, rig.Master(), "ml", [2]string{}); !strings.HasPrefix(answer, "ERROR") {
		t.Errorf("role ml gets %s, want an ERROR", answer)
	}
	f := subscribe(t, rig.Master())
	f.launch("forbidden", "true", object{"user": "nobody"})
	if message, _ := f.await("forbidden", "TASK_ERROR"); !strings.Contains(message, "under user 'nobody'") {
		t.Errorf("the task of nobody: %q", message)
	}
	f.launch("allowed", "true", object{"user": "root"})
	f.await("allowed", "TASK_RUNNING")
}

func TestAnOfferThatNobodyAnswersIsRescinded(t *testing.T) {
	t.Parallel()
	f := subscribe(t, Start(t, WithOfferTimeout(300*time.Millisecond)).Master())
	offer := <-f.offers
	select {
	case id := <-f.rescinded:
		if id != offer.ID.Value {
			t.Errorf("offer %s is rescinded, want %s", id, offer.ID.Value)
		}
	case <-time.After(patience):
		t.Error("no offer is rescinded")
	}
}

func TestTasksAreUnreachableWhenTheirAgentDoesNotComeBackToANewMaster(t *testing.T) {
	t.Parallel()
	rig := Start(t, WithAgentReregisterTimeout(time.Second))
	f := subscribe(t, rig.Master())
	f.launch("lost", "sleep 1000")
	f.await("lost", "TASK_RUNNING")
	rig.StopAgent(t, syscall.SIGKILL)
	rig.StopMaster(t, syscall.SIGKILL)
	rig.StartMaster(t)
	eventually(t, "word that the agent is unreachable", func() bool {
		return strings.Contains(rig.Mesos.masters[0].logText(), "did not reregister within 1secs")
	})
	rig.StartAgent(t)
	rig.AwaitTask(t, "lost", "TASK_RUNNING")
}

func TestWhatCannotBeStartedIsSaid(t *testing.T) {
	for want, cfg := range map[string]Config{
		"2 masters":  {Masters: 2},
		`"10.0.0.1"`: {Agents: []AgentConfig{{IP: "10.0.0.1"}}},
		`"rack1"`:    {Agents: []AgentConfig{{IP: "rack1"}}},
	} {
		if _, err := Up(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %s, got %v", want, err)
		}
	}
}

// attempt subscribes a framework of a role with these credentials, if any, and returns the type of the first event (an ERROR's with its
// message), or else the HTTP status.
func attempt(t *testing.T, master, role string, login [2]string) string {
	t.Helper()
	info := object{"user": "root", "name": "attempt", "roles": []string{role}, "capabilities": []object{{"type": "MULTI_ROLE"}}}
	if login[0] != "" {
		info["principal"] = login[0]
	}
	body, _ := json.Marshal(object{"type": "SUBSCRIBE", "subscribe": object{"framework_info": info}})
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+master+"/api/v1/scheduler", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if login[0] != "" {
		request.SetBasicAuth(login[0], login[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return strconv.Itoa(response.StatusCode)
	}
	r := bufio.NewReader(response.Body)
	line, _ := r.ReadString('\n')
	length, _ := strconv.Atoi(strings.TrimSpace(line))
	record := make([]byte, length)
	if _, err := io.ReadFull(r, record); err != nil {
		t.Fatal(err)
	}
	var event struct {
		Type  string
		Error struct{ Message string }
	}
	if err := json.Unmarshal(record, &event); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(event.Type + " " + event.Error.Message)
}
