package launch

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tfmesos/shared/callback"
	"tfmesos/sidecar/boot"
)

// serverScript is the program of server mode.
//
//go:embed server.py
var serverScript string

// find returns the file to execute, or why there is none.
func find(launch boot.Launch) (string, *boot.ChildFailed) {
	if launch.Dir != "" {
		if info, err := os.Stat(launch.Dir); err != nil || !info.IsDir() {
			return "", &boot.ChildFailed{Cause: callback.CauseSidecar, Code: boot.ExitFault,
				Reason: fmt.Sprintf("the working directory %s does not exist", launch.Dir)}
		}
	}
	name := launch.Argv[0]
	if strings.Contains(name, "/") { // relative to the child's directory, so only the kernel can tell
		return name, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		failed := notStarted(launch, name, err)
		return "", &failed
	}
	return path, nil
}

// notStarted explains why the child could not be started, with the exit codes of sh.
func notStarted(launch boot.Launch, path string, err error) boot.ChildFailed {
	failed := boot.ChildFailed{Cause: callback.CauseNoProgram, Code: boot.ExitNotRunnable}
	if launch.Server {
		failed.Cause = callback.CauseNoPython
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		failed.Code, failed.Reason = boot.ExitNoProgram, fmt.Sprintf("there is no program %s in PATH", path)
	case errors.Is(err, unix.ENOENT):
		failed.Code, failed.Reason = boot.ExitNoProgram, fmt.Sprintf("there is no program %s, or its interpreter does not exist", path)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EPERM), errors.Is(err, unix.EISDIR),
		errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		failed.Reason = fmt.Sprintf("%s cannot be executed: %v", path, err)
	default:
		failed.Cause, failed.Code, failed.Reason = callback.CauseSidecar, boot.ExitFault, fmt.Sprintf("start %s: %v", path, err)
	}
	return failed
}

// tree is the child and what comes of it.
type tree struct {
	launcher *Launcher
	started  chan error           // nil once the child runs
	exited   chan unix.WaitStatus // the child's
	empty    chan struct{}        // closed when no descendant is left
}

// run starts the child and waits until there are no descendants. It keeps its thread to itself all that time: the child
// gets SIGKILL when the thread that started it ends.
func (t *tree) run(path string, launch boot.Launch, files []*os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	argv := launch.Argv
	if launch.Server {
		argv = append([]string{argv[0], "-u", "-c", serverScript}, argv[1:]...)
	}
	pid, err := t.fork(path, argv, launch, files)
	for _, file := range files {
		file.Close()
	}
	t.started <- err
	if err != nil {
		return
	}
	defer close(t.empty)
	for t.reap(pid) {
	}
}

func (t *tree) fork(path string, argv []string, launch boot.Launch, files []*os.File) (int, error) {
	attributes := &syscall.ProcAttr{Dir: launch.Dir, Env: launch.Env,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	for _, file := range files {
		attributes.Files = append(attributes.Files, file.Fd())
		if err := unix.SetNonblock(int(file.Fd()), false); err != nil {
			return 0, err
		}
	}
	t.launcher.mu.Lock()
	defer t.launcher.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attributes)
	if err == nil {
		t.launcher.main = pid
	}
	return pid, err
}

// reap waits until some descendant ends and reaps all that have; false: there is none left. Reaping happens under the
// launcher's lock, so that no signal goes to a pid that may be somebody else's by now.
func (t *tree) reap(main int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
	if err == unix.ECHILD {
		return false
	}
	l := t.launcher
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err != nil || pid <= 0 {
			break
		}
		if pid == main {
			l.main = 0
			t.exited <- status
		}
	}
	if l.killing { // what the dead had started in between is our child now
		l.killAll()
	}
	return true
}

// process is one line of /proc.
type process struct{ pid, parent, group int }

// descendants returns all processes below this one, the dead that are not reaped included, in no order. Without /proc there are none to see.
func descendants() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]process{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if p, ok := readProcess(pid); ok {
				children[p.parent] = append(children[p.parent], p)
			}
		}
	}
	var found []process
	for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			found, next = append(found, p), append(next, p.pid)
		}
	}
	return found
}

// readProcess reads /proc/PID/stat: "PID (NAME) STATE PARENT GROUP …", where NAME may hold anything.
func readProcess(pid int) (process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(text, ')')
	if err != nil || end < 0 {
		return process{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 3 {
		return process{}, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	group, err2 := strconv.Atoi(fields[2])
	return process{pid, parent, group}, err1 == nil && err2 == nil
}
