package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// callTimeout bounds an update, so that an agent that hangs does not keep a task from being killed.
const callTimeout = 5 * time.Second

// agent speaks the v1 executor API with the agent that started this executor.
type agent struct {
	url         string
	token       string // empty: the agent does not authenticate executors
	frameworkID string
	executorID  string
}

// agentFromEnv reads what an agent tells its executors.
func agentFromEnv() agent {
	process, _, _ := strings.Cut(os.Getenv("MESOS_SLAVE_PID"), "@") // slave(1)@127.0.0.1:5051
	return agent{
		url:         "http://" + os.Getenv("MESOS_AGENT_ENDPOINT") + "/" + process + "/api/v1/executor",
		token:       os.Getenv("MESOS_EXECUTOR_AUTHENTICATION_TOKEN"),
		frameworkID: os.Getenv("MESOS_FRAMEWORK_ID"),
		executorID:  os.Getenv("MESOS_EXECUTOR_ID"),
	}
}

// object is a JSON object on its way to the agent.
type object map[string]any

// idValue is any of Mesos' ids.
type idValue struct {
	Value string `json:"value"`
}

// event is one record of the agent's stream; only the part its type names is there.
type event struct {
	Type       string `json:"type"`
	Subscribed struct {
		FrameworkInfo struct {
			Capabilities []struct {
				Type string `json:"type"`
			} `json:"capabilities"`
		} `json:"framework_info"`
	} `json:"subscribed"`
	Launch struct {
		Task json.RawMessage `json:"task"`
	} `json:"launch"`
	Kill struct {
		KillPolicy *killPolicy `json:"kill_policy"`
	} `json:"kill"`
	Acknowledged struct {
		UUID string `json:"uuid"`
	} `json:"acknowledged"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// killPolicy says how long a task may take from SIGTERM to SIGKILL.
type killPolicy struct {
	GracePeriod *struct {
		Nanoseconds int64 `json:"nanoseconds"`
	} `json:"grace_period"`
}

// grace returns the policy's grace period, and whether it has one.
func (p *killPolicy) grace() (time.Duration, bool) {
	if p == nil || p.GracePeriod == nil {
		return 0, false
	}
	return time.Duration(p.GracePeriod.Nanoseconds), true
}

// subscribe opens the stream and sends each event of it, until the agent closes it or goes away.
func (a agent) subscribe(tasks []json.RawMessage, updates []object, events chan<- event) error {
	body, err := a.call(context.Background(), object{"type": "SUBSCRIBE", "subscribe": object{
		"unacknowledged_tasks":   tasks,
		"unacknowledged_updates": updates,
	}}, http.StatusOK)
	if err != nil {
		return err
	}
	defer body.Close()
	records := bufio.NewReader(body)
	for {
		record, err := nextRecord(records)
		if err != nil {
			return err
		}
		var ev event
		if err := json.Unmarshal(record, &ev); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		events <- ev
	}
}

// nextRecord reads one record: its length in decimal, a newline, that many bytes.
func nextRecord(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	length, err := strconv.ParseUint(strings.TrimSpace(line), 10, 31)
	if err != nil {
		return nil, fmt.Errorf("read record length: %w", err)
	}
	record := make([]byte, length)
	_, err = io.ReadFull(r, record)
	return record, err
}

// update sends one status update. One that does not arrive is sent again with the next subscription.
func (a agent) update(update object) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	body, err := a.call(ctx, object{"type": "UPDATE", "update": update}, http.StatusAccepted)
	if err != nil {
		return err
	}
	return body.Close()
}

// call posts one executor call. Any answer but the wanted one is an error, with the reason the agent gives.
func (a agent) call(ctx context.Context, call object, want int) (io.ReadCloser, error) {
	call["framework_id"] = idValue{a.frameworkID}
	call["executor_id"] = idValue{a.executorID}
	encoded, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != want {
		defer response.Body.Close()
		reason, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return nil, fmt.Errorf("%s: %s: %s", call["type"], response.Status, reason)
	}
	return response.Body, nil
}
