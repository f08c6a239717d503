package mesosrig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopWithin is how long a daemon may take to end after a signal before it is killed.
const stopWithin = 5 * time.Second

// localIP is where all but some agents listen.
const localIP = "127.0.0.1"

// daemon is one mesosd (a master or an agent), a ZooKeeper or a Docker daemon. It can be started again after it ended, with the same port and work
// directory. Its methods are not for several goroutines at once.
type daemon struct {
	name string // for messages and files: "master", "agent-1"
	ip   string
	port int
	argv []string
	env  []string
	log  string // path, appended to by each start
	// deathSignal is what it gets when this process dies; zero for SIGKILL.
	deathSignal syscall.Signal

	pid   int
	ended chan struct{} // closed when the running process has ended; nil before the first start
}

func (d *daemon) address() string { return net.JoinHostPort(d.ip, strconv.Itoa(d.port)) }

// running says whether the daemon's process is there.
func (d *daemon) running() bool {
	if d.ended == nil {
		return false
	}
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

// start starts the process. The kernel kills it when this process dies, even by kill -9; that promise is bound to the
// thread that started it, so one goroutine keeps its thread for as long as the process lives.
func (d *daemon) start() error {
	if d.running() {
		return fmt.Errorf("start %s: it runs already", d.name)
	}
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(d.argv[0], d.argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = d.env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: cmp.Or(d.deathSignal, syscall.SIGKILL)}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	d.pid, d.ended = cmd.Process.Pid, ended
	return nil
}

// stop sends the signal and returns when the process has ended, by SIGKILL if need be. A daemon that does not run is no
// error.
func (d *daemon) stop(signal syscall.Signal) error {
	if !d.running() {
		return nil
	}
	for _, s := range []syscall.Signal{signal, syscall.SIGKILL} {
		if err := syscall.Kill(d.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal %s: %w", d.name, err)
		}
		select {
		case <-d.ended:
			return nil
		case <-time.After(stopWithin):
		}
	}
	return fmt.Errorf("stop %s: process %d does not end", d.name, d.pid)
}

// logTail returns the last lines of the daemon's log, each indented. What the rig itself has asked for does not count.
func (d *daemon) logTail(lines int) string {
	all := slices.DeleteFunc(strings.Split(strings.TrimSpace(d.logText()), "\n"), func(line string) bool {
		return strings.Contains(line, "/master/state") || strings.Contains(line, "/metrics/snapshot")
	})
	return "    " + strings.Join(all[max(0, len(all)-lines):], "\n    ")
}

// logText returns the daemon's log, or why there is none.
func (d *daemon) logText() string {
	content, err := os.ReadFile(d.log)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	return string(content)
}

// freePort returns a port of the IP nobody listens on. It lies below the range that outgoing connections get theirs from, and below
// the ports agents offer, so that it is still free when a daemon is started on it again.
func freePort(ip string) (int, error) {
	const first, count, attempts = 15000, 15000, 100
	for range attempts {
		port := first + rand.IntN(count)
		listener, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("find a free port: none")
}

// poll calls check until it says that it is done or returns an error, or until ctx ends.
func poll(ctx context.Context, every time.Duration, check func() (done bool, err error)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		done, err := check()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
