package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// command is a program to run.
type command struct {
	path string // looked up in the PATH of env unless it has a slash
	args []string
	env  []string
	dir  string // the sandbox, made if it is not there
}

// process is a running task. Its pid is also the id of its process group.
type process struct {
	cmd *exec.Cmd
	pid int
}

// sandbox is the folder of a task.
func (m *Mesos) sandbox(t *task) string { return filepath.Join(m.config.WorkDir, t.id()) }

// forkTasks starts tasks on one thread until the mailbox is closed. The thread
// outlives its children: see the package comment.
func (m *Mesos) forkTasks() {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	for {
		tasks, open := m.forks.take()
		for _, t := range tasks {
			m.start(t)
		}
		if !open {
			return
		}
		<-m.forks.ready
	}
}

// startProcess makes the sandbox and starts the command in it, as the leader of
// a process group. It returns when the program has begun to run.
func startProcess(c command) (*process, error) {
	stdout, stderr, err := makeSandbox(c.dir)
	if err != nil {
		return nil, err
	}
	defer stdout.Close() // the child has its own
	defer stderr.Close()
	path, err := lookPath(c.path, c.env)
	if err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	cmd := &exec.Cmd{
		Path: path, Args: c.args, Env: c.env, Dir: c.dir, Stdout: stdout, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM},
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	return &process{cmd: cmd, pid: cmd.Process.Pid}, nil
}

// makeSandbox makes the folder and the two files in it. Its errors name the
// path that could not be made or written, as on a disk that is full.
func makeSandbox(dir string) (stdout, stderr *os.File, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make sandbox: %w", err)
	}
	if stdout, err = openOutput(filepath.Join(dir, "stdout")); err != nil {
		return nil, nil, fmt.Errorf("make sandbox: %w", err)
	}
	if stderr, err = openOutput(filepath.Join(dir, "stderr")); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make sandbox: %w", err), stdout.Close())
	}
	return stdout, stderr, nil
}

// openOutput opens a file for output. A full disk often still takes new files,
// only no content: a byte is written, and taken back, to see.
func openOutput(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryWrite(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func tryWrite(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if _, err := file.Write([]byte{'\n'}); err != nil {
		return err
	}
	return file.Truncate(info.Size())
}

// lookPath finds a program as execvpe does, in the PATH of the task. (That of
// os/exec looks in the PATH of this process.)
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("no program %q in %s", name, path)
}

// signal signals the whole process group. It may be called until await has
// returned: so long the pid cannot be another's.
func (p *process) signal(sig syscall.Signal) {
	_ = syscall.Kill(-p.pid, sig) // fails only if all have ended by themselves
}

// killTree kills the group and, since a program that is not asked cannot end
// them itself, the descendants that have left it. The leader is stopped first
// so that it starts no more. As signal, it may be called until await returns.
func (p *process) killTree() {
	p.signal(syscall.SIGSTOP)
	for _, pid := range descendants(p.pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // fails only if it has ended by itself
	}
	p.signal(syscall.SIGKILL)
}

// await blocks until the leader has ended, and then kills what is left of its
// group. The leader stays a zombie, which keeps its pid from being reused.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.signal(syscall.SIGKILL)
}

// reap takes the leader's status.
func (p *process) reap() syscall.WaitStatus {
	_ = p.cmd.Wait() // a status other than 0 is no error here
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status
}

// awaitGroup waits until no process of the group runs any more, which after
// SIGKILL takes the kernel a moment; at most 2 s, for one may hang in a device.
func (p *process) awaitGroup() (gone bool) {
	deadline := time.Now().Add(2 * time.Second)
	for groupRuns(p.pid) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(time.Millisecond) // the end of processes that are not our children is no event to wait for
	}
	return true
}

// describe says how a process ended, in the words of Mesos.
func describe(status syscall.WaitStatus) string {
	if !status.Signaled() {
		return fmt.Sprintf("exited with status %d", status.ExitStatus())
	}
	name := status.Signal().String()
	text := "terminated with signal " + strings.ToUpper(name[:1]) + name[1:]
	if status.CoreDump() {
		text += " (core dumped)"
	}
	return text
}
