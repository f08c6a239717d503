package launch

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tfmesos/shared/callback"
	"tfmesos/sidecar/boot"
)

// Launcher runs the one child of a sidecar. Its methods may be called from any goroutine.
type Launcher struct {
	stdout, stderr io.Writer
	line           func(stream, text string)
	words          lastWords

	mu      sync.Mutex
	main    int      // pid of the child while it is not reaped, else 0
	config  *os.File // where Configure writes; nil outside server mode
	killing bool     // KillTree was called: go on until nothing is left
}

// New returns a Launcher that copies the child's output to stdout and stderr and calls line with each line of it, stream
// being "stdout" or "stderr".
func New(stdout, stderr io.Writer, line func(stream, text string)) *Launcher {
	return &Launcher{stdout: stdout, stderr: stderr, line: line, words: lastWords{lines: map[string][]string{}}}
}

// How long the output may still come after its writer is gone: it is in the pipe already, unless a process that is left
// holds the pipe open.
const (
	outputAfterChild = 100 * time.Millisecond
	outputAfterTree  = time.Second
)

// Run starts the child and posts what becomes of it; it returns after boot.ChildFailed or boot.TreeEmpty. Only one Run may
// be under way in a process, and no other code of the process may have children.
func (l *Launcher) Run(launch boot.Launch, post func(boot.Event)) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		post(boot.ChildFailed{Cause: callback.CauseSidecar, Code: boot.ExitFault, Reason: fmt.Sprintf("become a subreaper: %v", err)})
		return
	}
	path, failed := find(launch)
	if failed != nil {
		post(*failed)
		return
	}
	ends, err := openPipes(launch.Server)
	if err != nil {
		post(boot.ChildFailed{Cause: callback.CauseSidecar, Code: boot.ExitFault, Reason: fmt.Sprintf("open pipes: %v", err)})
		return
	}
	t := tree{launcher: l, started: make(chan error, 1), exited: make(chan unix.WaitStatus, 1), empty: make(chan struct{})}
	l.mu.Lock()
	l.config = ends.config
	l.mu.Unlock()
	go t.run(path, launch, ends.child)
	if err := <-t.started; err != nil {
		ends.close()
		post(notStarted(launch, path, err))
		return
	}
	post(boot.ChildStarted{})
	output := l.copyAll(ends, post)
	status := <-t.exited
	wait(output, t.empty, outputAfterChild)
	post(l.exited(status))
	<-t.empty
	wait(output, nil, outputAfterTree)
	ends.close()
	post(boot.TreeEmpty{})
}

// wait returns when the output has ended, or at latest some time after; with an early channel that comes first, the time
// counts from then.
func wait(output, early <-chan struct{}, longest time.Duration) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-output:
	case <-early:
		wait(output, nil, longest)
	case <-timer.C:
	}
}

// copyAll reads all pipes from the child until they end, and says so.
func (l *Launcher) copyAll(ends pipes, post func(boot.Event)) <-chan struct{} {
	var readers sync.WaitGroup
	take := func(stream string) func(string) {
		return func(text string) {
			l.words.add(stream, text)
			l.line(stream, text)
		}
	}
	readers.Go(func() { copyOutput(ends.stdout, l.stdout, take("stdout")) })
	readers.Go(func() { copyOutput(ends.stderr, l.stderr, take("stderr")) })
	if ends.control != nil {
		readers.Go(func() { readControl(ends.control, post) })
	}
	done := make(chan struct{})
	go func() { readers.Wait(); close(done) }()
	return done
}

// readControl reads what server.py tells.
func readControl(from io.Reader, post func(boot.Event)) {
	for scan := bufio.NewScanner(from); scan.Scan(); {
		word, rest, _ := strings.Cut(scan.Text(), " ")
		switch word {
		case "imported":
			how, reason, _ := strings.Cut(rest, " ")
			post(boot.Imported{How: how, Reason: reason})
		case "no_tensorflow":
			post(boot.TensorFlowMissing{Reason: rest})
		case "serving":
			post(boot.ServerStarted{})
		}
	}
}

func (l *Launcher) exited(status unix.WaitStatus) boot.ChildExited {
	ev := boot.ChildExited{Code: status.ExitStatus(), LastWords: l.words.get()}
	if status.Signaled() {
		ev.Code, ev.Signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	return ev
}

// Configure gives the Python of server mode its configuration. An error means that it does not read any more, so that its
// end is near.
func (l *Launcher) Configure(server boot.Server) error {
	l.mu.Lock()
	config := l.config
	l.config = nil
	l.mu.Unlock()
	if config == nil {
		return fmt.Errorf("launch: configure: no server waits for it")
	}
	text, err := json.Marshal(server)
	if err != nil {
		return fmt.Errorf("launch: configure: %w", err)
	}
	if _, err := config.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("launch: configure: %w", err)
	}
	return config.Close()
}

// signals are those of package boot.
var signals = map[boot.Signal]unix.Signal{
	boot.TERM: unix.SIGTERM, boot.INT: unix.SIGINT, boot.HUP: unix.SIGHUP, boot.QUIT: unix.SIGQUIT,
	boot.USR1: unix.SIGUSR1, boot.USR2: unix.SIGUSR2,
}

// Forward sends the signal to the child's process group, if the child is still there.
func (l *Launcher) Forward(s boot.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.main != 0 {
		_ = unix.Kill(-l.main, signals[s]) // its group is there as long as it is not reaped
	}
}

// EndTree sends TERM once to every descendant.
func (l *Launcher) EndTree() {
	l.Forward(boot.TERM)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range descendants() {
		if l.main == 0 || p.group != l.main {
			_ = unix.Kill(p.pid, unix.SIGTERM) // it may be gone by now
		}
	}
}

// KillTree kills every descendant, and whatever one of them still starts, until none is left.
func (l *Launcher) KillTree() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.killing = true
	l.killAll()
}

// killAll needs l.mu.
func (l *Launcher) killAll() {
	if l.main != 0 {
		_ = unix.Kill(-l.main, unix.SIGKILL)
	}
	for _, p := range descendants() {
		_ = unix.Kill(p.pid, unix.SIGKILL) // it may be gone by now
	}
}
