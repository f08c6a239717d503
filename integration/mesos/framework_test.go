package mesosrig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// framework is the least of a scheduler: it launches commands on the first offer and collects the updates.
type framework struct {
	t       *testing.T
	url     string
	id      string
	stream  string // Mesos-Stream-Id
	offers  chan offered
	updates chan update
	// rescinded are the ids of offers that are no more.
	rescinded chan string
}

type value struct {
	Value string `json:"value"`
}

type offered struct {
	ID    value `json:"id"`
	Agent value `json:"agent_id"`
}

type update struct {
	TaskID  value  `json:"task_id"`
	Agent   value  `json:"agent_id"`
	State   string `json:"state"`
	Message string `json:"message"`
	UUID    string `json:"uuid"`
}

type object map[string]any

// subscribe registers a framework whose stream ends with the test.
func subscribe(t *testing.T, master string) *framework {
	t.Helper()
	f := &framework{t: t, url: "http://" + master + "/api/v1/scheduler",
		offers: make(chan offered, 100), updates: make(chan update, 100), rescinded: make(chan string, 100)}
	response := f.post(object{"type": "SUBSCRIBE", "subscribe": object{"framework_info": object{
		"user": "root", "name": "rig-test", "roles": []string{"test"}, "checkpoint": true, "failover_timeout": 60,
		"capabilities": []object{{"type": "MULTI_ROLE"}, {"type": "PARTITION_AWARE"}, {"type": "TASK_KILLING_STATE"}},
	}}})
	f.stream = response.Header.Get("Mesos-Stream-Id")
	subscribed := make(chan string, 1)
	go f.read(response.Body, subscribed)
	f.id = <-subscribed
	if f.id == "" {
		t.Fatal("the master did not subscribe the framework")
	}
	return f
}

// read sends on what the stream brings, until the master or the test ends.
func (f *framework) read(body io.ReadCloser, subscribed chan<- string) {
	defer body.Close()
	defer close(subscribed)
	r := bufio.NewReader(body)
	for {
		line, err := r.ReadString('\n')
		length, _ := strconv.Atoi(strings.TrimSpace(line))
		record := make([]byte, length)
		if err != nil {
			return
		}
		if _, err := io.ReadFull(r, record); err != nil {
			return
		}
		var event struct {
			Subscribed struct {
				FrameworkID value `json:"framework_id"`
			} `json:"subscribed"`
			Offers  struct{ Offers []offered } `json:"offers"`
			Update  struct{ Status update }    `json:"update"`
			Rescind struct {
				OfferID value `json:"offer_id"`
			} `json:"rescind"`
		}
		if json.Unmarshal(record, &event) != nil {
			return
		}
		if id := event.Subscribed.FrameworkID.Value; id != "" {
			subscribed <- id
		}
		for _, o := range event.Offers.Offers {
			f.offers <- o
		}
		if id := event.Rescind.OfferID.Value; id != "" {
			f.rescinded <- id
		}
		if event.Update.Status.State != "" {
			f.updates <- event.Update.Status
		}
	}
}

func (f *framework) post(call object) *http.Response {
	f.t.Helper()
	if f.id != "" {
		call["framework_id"] = value{f.id}
	}
	body, _ := json.Marshal(call)
	request, _ := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if f.stream != "" {
		request.Header.Set("Mesos-Stream-Id", f.stream)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatalf("%s: %v", call["type"], err)
	}
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(response.Body)
		f.t.Fatalf("%s: %s: %s", call["type"], response.Status, text)
	}
	return response
}

func (f *framework) call(call object) {
	f.t.Helper()
	f.post(call).Body.Close()
}

// launch runs a shell command as the task id; more is added to its CommandInfo.
func (f *framework) launch(id, shell string, more ...object) {
	f.t.Helper()
	f.launchIn(nil, id, shell, more...)
}

// launchIn is launch in a container, unless that is nil.
func (f *framework) launchIn(container object, id, shell string, more ...object) {
	f.t.Helper()
	offer := <-f.offers
	scalar := func(name string, v float64) object {
		return object{"name": name, "type": "SCALAR", "scalar": object{"value": v}}
	}
	command := object{"value": shell, "environment": object{"variables": []object{{"name": "GREETING", "value": "hello"}}}}
	for _, fields := range more {
		maps.Copy(command, fields)
	}
	task := object{"name": id, "task_id": value{id}, "agent_id": offer.Agent, "command": command,
		"resources": []object{scalar("cpus", 0.1), scalar("mem", 32)}}
	if container != nil {
		task["container"] = container
	}
	f.call(object{"type": "ACCEPT", "accept": object{
		"offer_ids":  []value{offer.ID},
		"operations": []object{{"type": "LAUNCH", "launch": object{"task_infos": []object{task}}}},
		"filters":    object{"refuse_seconds": 0},
	}})
}

// kill asks for the task's end within grace nanoseconds.
func (f *framework) kill(id string, grace int64) {
	f.t.Helper()
	f.call(object{"type": "KILL", "kill": object{"task_id": value{id},
		"kill_policy": object{"grace_period": object{"nanoseconds": grace}}}})
}

// await acknowledges updates up to one of the task that has the state, and returns its message and the states seen. An
// end of the task with another state fails the test.
func (f *framework) await(id, state string) (message, seen string) {
	f.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case u := <-f.updates:
			if u.UUID != "" {
				f.call(object{"type": "ACKNOWLEDGE", "acknowledge": object{
					"agent_id": u.Agent, "task_id": u.TaskID, "uuid": u.UUID}})
			}
			if u.TaskID.Value != id {
				continue
			}
			seen = strings.TrimSpace(fmt.Sprintf("%s %s", seen, u.State))
			if u.State == state {
				return u.Message, seen
			}
			if slices.Contains([]string{"TASK_FINISHED", "TASK_FAILED", "TASK_KILLED", "TASK_ERROR", "TASK_DROPPED"}, u.State) {
				f.t.Fatalf("%s ended, want %s: %s: %s", id, state, seen, u.Message)
			}
		case <-timeout:
			f.t.Fatalf("no %s of %s within 20 s, only %q", state, id, seen)
		}
	}
}
