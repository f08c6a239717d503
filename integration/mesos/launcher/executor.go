package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

const (
	// defaultGrace is how long a task may take from SIGTERM to SIGKILL where nobody says it, as in Mesos.
	defaultGrace = 3 * time.Second
	// agentAway is how long a checkpointing executor waits for its agent to come back.
	agentAway = 30 * time.Second
	// subscribeEvery is the pause between two attempts to subscribe again. An agent that recovers waits 2 s for its
	// executors.
	subscribeEvery = 100 * time.Millisecond
	// ackTimeout is how long the acknowledgement of the last update is waited for.
	ackTimeout = 10 * time.Second
)

// executor runs the one task of its agent. Its loop owns all fields; the goroutines beside it (the subscription, the
// task's process) only send into its channels.
type executor struct {
	agent      agent
	kind       taskKind
	flags      map[string]string
	checkpoint bool // whether the executor outlives its agent
	known      bool // the agent has taken the executor in, once

	events chan event
	closed chan error // a subscription has ended
	retry  <-chan time.Time
	lostAt time.Time // when the agent went away; zero while it is there

	task         *taskInfo // nil before LAUNCH
	process      *process  // nil when none runs
	exited       chan error
	runs         <-chan struct{} // closed when the task runs; nil once that is told
	acknowledged bool            // the agent has acknowledged an update of the task, and so knows of it
	unacked      []object        // updates the agent has not acknowledged, oldest first
	giveUp       <-chan time.Time

	tellsKilling bool // the framework wants to hear TASK_KILLING
	killedAt     time.Time
	killDeadline time.Time
	killTimer    <-chan time.Time
	terminal     bool // the task's last update is out
	shutdown     bool // the agent wants the executor gone
}

// runExecutor subscribes with the agent, runs the task it is given, and returns when the task's last update is
// acknowledged, or when the agent is lost. It leaves no process of the task behind.
func runExecutor(kind taskKind, flags map[string]string) error {
	e := &executor{
		agent: agentFromEnv(), kind: kind, flags: flags,
		checkpoint: os.Getenv("MESOS_CHECKPOINT") == "1",
		events:     make(chan event), closed: make(chan error, 1), exited: make(chan error, 1),
	}
	defer e.killNow()
	return e.loop()
}

func (e *executor) loop() error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	e.subscribe()
	for {
		if e.terminal && (len(e.unacked) == 0 || e.shutdown) {
			return nil
		}
		select {
		case ev := <-e.events:
			e.lostAt = time.Time{}
			if err := e.handle(ev); err != nil {
				return err
			}
		case err := <-e.closed:
			if e.lostAt.IsZero() {
				e.lostAt = time.Now()
			}
			if !e.checkpoint || time.Since(e.lostAt) > agentAway {
				return fmt.Errorf("the agent is gone: %w", err)
			}
			e.retry = time.After(subscribeEvery)
		case <-e.retry:
			e.subscribe()
		case <-e.runs:
			e.runs = nil
			e.update("TASK_RUNNING", "", "")
		case err := <-e.exited:
			e.taskEnded(err)
		case <-e.killTimer:
			e.kind.kill(e.process)
		case <-e.giveUp:
			return fmt.Errorf("the last update of the task was not acknowledged")
		case s := <-signals:
			return fmt.Errorf("ended by signal: %s", s)
		}
	}
}

// subscribe starts one subscription, with all the agent may have missed.
func (e *executor) subscribe() {
	tasks := []json.RawMessage{}
	if e.task != nil && !e.acknowledged {
		tasks = append(tasks, e.task.raw)
	}
	updates := append([]object{}, e.unacked...)
	go func() { e.closed <- e.agent.subscribe(tasks, updates, e.events) }()
}

func (e *executor) handle(ev event) error {
	switch ev.Type {
	case "SUBSCRIBED":
		if !e.known && e.checkpoint {
			e.kind.subscribed()
		}
		e.known = true
		for _, c := range ev.Subscribed.FrameworkInfo.Capabilities {
			e.tellsKilling = e.tellsKilling || c.Type == "TASK_KILLING_STATE"
		}
	case "LAUNCH":
		return e.launch(ev.Launch.Task)
	case "KILL":
		e.kill(e.graceOf(ev.Kill.KillPolicy))
	case "SHUTDOWN":
		e.shutdown = true
		if e.task == nil {
			return fmt.Errorf("shut down without a task")
		}
		e.kill(min(e.graceOf(nil), defaultGrace))
	case "ACKNOWLEDGED":
		e.acknowledged = true
		e.unacked = slices.DeleteFunc(e.unacked, func(u object) bool {
			return u["status"].(object)["uuid"] == ev.Acknowledged.UUID
		})
	case "ERROR":
		return fmt.Errorf("refused by the agent: %s", ev.Error.Message)
	}
	return nil // others (MESSAGE, HEARTBEAT, types to come) ask for nothing
}

func (e *executor) launch(raw json.RawMessage) error {
	task, err := readTask(raw)
	if err != nil {
		return err
	}
	e.task = task
	e.update("TASK_STARTING", "", "")
	e.process, err = start(e.kind.prepare(*task, e.flags), e.exited)
	if err != nil {
		e.end("TASK_FAILED", err.Error(), "REASON_CONTAINER_LAUNCH_FAILED")
		return nil
	}
	if e.runs = e.kind.runs(); e.runs == nil {
		e.update("TASK_RUNNING", "", "")
	}
	return nil
}

// graceOf returns the grace period of the policy, else that of the task, else Mesos' default.
func (e *executor) graceOf(policy *killPolicy) time.Duration {
	if grace, ok := policy.grace(); ok {
		return grace
	}
	if e.task != nil {
		if grace, ok := e.task.KillPolicy.grace(); ok {
			return grace
		}
	}
	return defaultGrace
}

// kill asks the task to end and sees to it that it does within grace. A later kill can only shorten that time.
func (e *executor) kill(grace time.Duration) {
	if e.process == nil {
		return
	}
	first := e.killedAt.IsZero()
	if first {
		e.killedAt = time.Now()
	}
	deadline := e.killedAt.Add(grace)
	if !first && !deadline.Before(e.killDeadline) {
		return
	}
	e.killDeadline = deadline
	e.killTimer = time.After(time.Until(deadline))
	if first {
		if e.tellsKilling {
			e.update("TASK_KILLING", "", "")
		}
		e.kind.terminate(e.process, grace)
	}
}

// killNow ends the task at once, and returns when it has ended.
func (e *executor) killNow() {
	if e.process == nil {
		return
	}
	e.kind.kill(e.process)
	<-e.exited
	e.process.killGroup(syscall.SIGKILL)
}

func (e *executor) taskEnded(err error) {
	e.process.killGroup(syscall.SIGKILL)                        // what the task itself has left running
	if e.runs != nil && e.killedAt.IsZero() && !neverRan(err) { // it was faster than we looked
		e.update("TASK_RUNNING", "", "")
	}
	e.process, e.killTimer, e.runs = nil, nil, nil
	state := "TASK_FAILED"
	switch {
	case !e.killedAt.IsZero():
		state = "TASK_KILLED"
	case err == nil:
		state = "TASK_FINISHED"
	}
	e.end(state, e.kind.noun()+" "+exitText(err), "")
}

// end sends the last update of the task.
func (e *executor) end(state, message, reason string) {
	e.update(state, message, reason)
	e.terminal = true
	e.giveUp = time.After(ackTimeout)
}

func (e *executor) update(state, message, reason string) {
	status := object{
		"task_id": e.task.TaskID, "executor_id": idValue{e.agent.executorID}, "state": state,
		"source": "SOURCE_EXECUTOR", "uuid": newUUID(), "timestamp": float64(time.Now().UnixMicro()) / 1e6,
	}
	if message != "" {
		status["message"] = message
	}
	if reason != "" {
		status["reason"] = reason
	}
	update := object{"status": status}
	e.unacked = append(e.unacked, update)
	if err := e.agent.update(update); err != nil {
		fmt.Fprintf(os.Stderr, "update %s: %v\n", state, err)
	}
}

// newUUID returns a random (version 4) UUID's 16 bytes, which JSON carries as base64.
func newUUID() string {
	id := make([]byte, 16)
	rand.Read(id)
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return base64.StdEncoding.EncodeToString(id)
}
