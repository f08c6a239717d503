// Package driver runs the program that uses a cluster of servers from beside the scheduler: its output is taken line by
// line, and it ends with its context.
package driver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

// lastWords is how many lines of a driver that failed are kept.
const lastWords = 10

// Config says how to run drivers.
type Config struct {
	// Environ is the environment to start from, as NAME=value.
	Environ []string
	// Output takes each line; it may be called by two goroutines at once, one for each stream.
	Output func(line callback.LogLine)
	// Grace is the time from TERM to KILL once the context has ended.
	Grace time.Duration
}

// Run starts the driver, waits for its end, and says how it was. When ctx ends, its whole process group gets TERM and after
// the grace KILL. It does not outlive this process. Nothing is read from standard input.
func Run(ctx context.Context, cfg Config, drive cluster.Drive) cluster.DriverEnded {
	runtime.LockOSThread() // Pdeathsig is the death of the thread that forked; this one lives until the driver has ended
	defer runtime.UnlockOSThread()
	cmd := exec.Command(drive.Argv[0], drive.Argv[1:]...)
	cmd.Env = cfg.Environ
	for _, v := range drive.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	words := &tail{}
	outputs, err := pipes(cmd)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return cluster.DriverEnded{ExitCode: codeOf(err), Message: err.Error()}
	}
	ended := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() { endWith(ctx, cfg.Grace, -cmd.Process.Pid, ended) })
	var reading sync.WaitGroup
	for stream, output := range outputs {
		reading.Go(func() { copyLines(stream, output, cfg.Output, words) })
	}
	reading.Wait() // before Wait, which closes the pipes
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind; most often nothing
	close(ended)
	working.Wait()
	return result(cmd.ProcessState, err, words)
}

func pipes(cmd *exec.Cmd) (map[string]io.Reader, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	return map[string]io.Reader{"stdout": stdout, "stderr": stderr}, err
}

// codeOf is a shell's exit code for a program that cannot be started.
func codeOf(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return 127
	}
	return 126
}

// endWith ends the process group when ctx ends, unless it has ended by then.
func endWith(ctx context.Context, grace time.Duration, group int, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = syscall.Kill(group, syscall.SIGTERM) // fails only if it has just ended
	select {
	case <-ended:
	case <-time.After(grace):
		_ = syscall.Kill(group, syscall.SIGKILL)
	}
}

// copyLines hands on each line; one that is too long comes in parts.
func copyLines(stream string, from io.Reader, output func(callback.LogLine), words *tail) {
	lines := bufio.NewReaderSize(from, callback.MaxLogLine)
	for {
		text, err := lines.ReadSlice('\n')
		if len(text) > 0 {
			line := strings.TrimSuffix(string(text), "\n")
			words.add(line)
			output(callback.LogLine{Stream: stream, Text: line})
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func result(state *os.ProcessState, err error, words *tail) cluster.DriverEnded {
	if state == nil {
		return cluster.DriverEnded{ExitCode: 126, Message: err.Error()}
	}
	end := cluster.DriverEnded{ExitCode: state.ExitCode()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.ExitCode = 128 + int(status.Signal())
	}
	if end.ExitCode != 0 {
		end.Message = words.String()
	}
	return end
}

// tail keeps the last lines of both streams.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > lastWords {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
