package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tfmesos/shared/callback"
)

// started is one start with the scheduler.
type started struct {
	answer time.Duration // from submit until the scheduler said that all servers answer
	own    time.Duration // the part that is ours: submit to the last Python started, and last import done to last server serving
	python time.Duration // the first of these two
	serve  time.Duration // the second
	memory int           // peak of the largest server, in KiB
}

// withScheduler runs the cluster until all of it serves, then ends it. Submit is the moment before the scheduler's exec.
func (m *machine) withScheduler(ctx context.Context) (started, error) {
	var s started
	state, err := os.MkdirTemp("", "tfmesos-bench-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(state)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	command := exec.CommandContext(ctx, m.scheduler, "run", "--local", "--log-format", "json", m.spec)
	command.Env = append(m.env, "XDG_STATE_HOME="+state)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 30 * time.Second
	lines, err := command.StderrPipe()
	if err != nil {
		return s, err
	}
	submit := time.Now()
	if err := command.Start(); err != nil {
		return s, err
	}
	said, err := untilReady(lines)
	s.answer = time.Since(submit)
	s.memory = peakOfServers(command.Process.Pid)
	command.Process.Signal(syscall.SIGINT) // a scheduler that is gone is seen below
	rest, _ := io.ReadAll(lines)           // what it says of its end, in case that is not the end we wanted
	ended := command.Wait()
	if err != nil {
		return s, fmt.Errorf("%w; it said:\n%s%s", err, said, rest)
	}
	if code := command.ProcessState.ExitCode(); code != 130 {
		return s, fmt.Errorf("exit code %d after SIGINT (%v):\n%s", code, ended, rest)
	}
	return s, s.readTimes(filepath.Join(state, "tfmesos", "servers", "final.json"), submit)
}

// untilReady reads records up to the one that says so, and returns them.
func untilReady(lines io.Reader) ([]byte, error) {
	var said []byte
	reader := bufio.NewReader(lines)
	for {
		line, err := reader.ReadBytes('\n')
		said = append(said, line...)
		var record struct {
			Msg string `json:"msg"`
		}
		if json.Unmarshal(bytes.TrimSpace(line), &record) == nil && record.Msg == "ready" {
			return said, nil
		}
		if err != nil {
			return said, errors.New("the scheduler ended before the servers were ready")
		}
	}
}

// readTimes takes the times of the tasks from final.json: all are of this machine's clock.
func (s *started) readTimes(path string, submit time.Time) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var final callback.Status
	if err := json.Unmarshal(text, &final); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	var python, imported, serving time.Time
	for _, t := range final.Tasks {
		if t.PythonStartedAt == nil || t.ImportedAt == nil || t.ServingAt == nil {
			return fmt.Errorf("%s lacks a time of %s", path, t.Task)
		}
		python, imported, serving = later(python, *t.PythonStartedAt), later(imported, *t.ImportedAt), later(serving, *t.ServingAt)
	}
	s.python, s.serve = python.Sub(submit), serving.Sub(imported)
	s.own = s.python + s.serve
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
