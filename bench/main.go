// Bench measures how fast a cluster starts on this machine, against the same servers started by hand.
//
//	go run ./bench [-runs 5]          make bench builds what it needs first
//
// Each round starts the three servers of examples/servers twice, one after the other: with bin/scheduler run --local, and
// as three Python processes that import tensorflow and are told one another's addresses. The first round warms the disk
// cache and is not counted. It prints medians and never fails because something was slow: what else the machine does is
// in the numbers too, so it says how busy that was.
//
// The Python is that of TFMESOS_TEST_PYTHON, else .venv/bin/python.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// limit bounds one start: whatever takes longer hangs.
const limit = 2 * time.Minute

func main() {
	runs := flag.Int("runs", 5, "rounds that count")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// machine is what both ways of starting need.
type machine struct {
	python    string
	scheduler string
	spec      string
	env       []string // PATH begins with python's folder
}

func bench(ctx context.Context, runs int) error {
	if runs < 1 {
		return errors.New("-runs: want at least 1")
	}
	m, err := prepare()
	if err != nil {
		return err
	}
	var ours []started
	var plain []byHand
	busy := load()
	for round := range runs + 1 {
		a, err := m.withScheduler(ctx)
		if err != nil {
			return fmt.Errorf("start the servers with the scheduler: %w", err)
		}
		b, err := m.withoutScheduler(ctx)
		if err != nil {
			return fmt.Errorf("start the servers by hand: %w", err)
		}
		if round == 0 {
			fmt.Fprintf(os.Stderr, "warm-up: %.3f s with the scheduler, %.3f s by hand\n", a.answer.Seconds(), b.answer.Seconds())
			continue
		}
		fmt.Fprintf(os.Stderr, "round %d: %.3f s with the scheduler, %.3f s by hand\n", round, a.answer.Seconds(), b.answer.Seconds())
		ours, plain = append(ours, a), append(plain, b)
	}
	fmt.Printf("1 ps and 2 workers in server mode, on %d CPUs, load average %s before and %s after; median of %d\n\n", runtime.NumCPU(), busy, load(), runs)
	report(os.Stdout, ours, plain)
	return nil
}

// prepare finds the programs.
func prepare() (*machine, error) {
	top, err := repository()
	if err != nil {
		return nil, err
	}
	m := &machine{python: os.Getenv("TFMESOS_TEST_PYTHON"), scheduler: filepath.Join(top, "bin", "scheduler"),
		spec: filepath.Join(top, "examples", "servers", "cluster.yaml")}
	if m.python == "" {
		m.python = filepath.Join(top, ".venv", "bin", "python")
	}
	for path, remedy := range map[string]string{m.python: "make venv", m.scheduler: "make build", filepath.Join(top, "bin", "sidecar"): "make build"} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%w: %s makes it", err, remedy)
		}
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "TFMESOS_") && !strings.HasPrefix(name, "MESOS_") && name != "REDIS_URL" && name != "DOCKER_IMAGE" && name != "PATH" {
			m.env = append(m.env, pair)
		}
	}
	m.env = append(m.env, "PATH="+filepath.Dir(m.python)+":"+os.Getenv("PATH"), "TF_CPP_MIN_LOG_LEVEL=2")
	return m, nil
}

// repository returns the folder of go.mod.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
	}
}

// load returns the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
