package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// launchInfo is what is used of Mesos' ContainerLaunchInfo.
type launchInfo struct {
	Command     command     `json:"command"`
	Environment environment `json:"environment"`
	WorkingDir  string      `json:"working_directory"`
	User        string      `json:"user"`
}

// launchContainer is `mesos-containerizer launch`: it waits until the agent has noted the container, moves into the
// sandbox and becomes the container's command.
func launchContainer(args []string) error {
	if len(args) == 0 || args[0] != "launch" {
		return fmt.Errorf("unsupported subcommand %v", args)
	}
	flags := flagsOf(args[1:])
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if flag, ok := strings.CutPrefix(name, "MESOS_CONTAINERIZER_"); ok {
			flags[strings.ToLower(flag)] = value
		}
	}
	var info launchInfo
	if err := json.Unmarshal([]byte(flags["launch_info"]), &info); err != nil {
		return fmt.Errorf("read launch info: %w", err)
	}
	if err := awaitAgent(flags["pipe_read"], flags["pipe_write"]); err != nil {
		return err
	}
	if err := enterSandbox(info.WorkingDir); err != nil {
		return err
	}
	path, argv, err := info.Command.argv()
	if err != nil {
		return err
	}
	if isSelf(path) {
		path = "/proc/self/exe" // the task's user may have no way to where the rig is kept
	}
	if err := becomeUser(info.User); err != nil {
		return fmt.Errorf("become user %s: %w", info.User, err)
	}
	// Mesos gives a container none of the agent's environment, and the PATH of a bare system. Here it is the agent's own,
	// so that a test says by it which Python a task finds.
	env := append(info.Environment.list(), "PATH="+os.Getenv("PATH"))
	return fmt.Errorf("execute %s: %w", path, syscall.Exec(path, argv, env))
}

// awaitAgent reads the one byte by which the agent says that the container is isolated and may start.
func awaitAgent(readEnd, writeEnd string) error {
	if fd, err := strconv.Atoi(writeEnd); err == nil {
		syscall.Close(fd) // else the read below would not end when the agent dies
	}
	fd, err := strconv.Atoi(readEnd)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	for {
		n, err := syscall.Read(fd, make([]byte, 1))
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n != 1 {
			return errors.New("the agent went away before the launch")
		}
		return nil
	}
}

// enterSandbox makes the sandbox the working directory and its files stdout and stderr the output. An agent started the
// way the rig does it (as part of a local cluster) has containers write to its own output instead.
func enterSandbox(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("enter sandbox: %w", err)
	}
	for fd, name := range map[int]string{1: "stdout", 2: "stderr"} {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("open output: %w", err)
		}
		if err := syscall.Dup3(int(file.Fd()), fd, 0); err != nil {
			return fmt.Errorf("redirect output: %w", err)
		}
	}
	return nil
}

// isSelf says whether path is this program, under whatever name.
func isSelf(path string) bool {
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(self, other)
}

// becomeUser gives up root for the task's user; for anybody else, or no name, it changes nothing.
func becomeUser(name string) error {
	if name == "" || os.Geteuid() != 0 || name == "root" {
		return nil
	}
	who, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	for _, fd := range []int{1, 2} { // the task may open /dev/stdout anew
		if err := syscall.Fchown(fd, uid, gid); err != nil {
			return err
		}
	}
	return errors.Join(syscall.Setgroups([]int{gid}), syscall.Setgid(gid), syscall.Setuid(uid))
}

// command is Mesos' CommandInfo.
type command struct {
	Shell       *bool       `json:"shell"`
	Value       string      `json:"value"`
	Arguments   []string    `json:"arguments"`
	Environment environment `json:"environment"`
}

// isShell says whether the value is a line for the shell: the default, where it is not said.
func (c command) isShell() bool { return c.Shell == nil || *c.Shell }

// argv returns the program and its arguments, the first of which is by Mesos' rule the program's own name.
func (c command) argv() (path string, argv []string, err error) {
	if c.isShell() {
		return "/bin/sh", []string{"sh", "-c", c.Value}, nil
	}
	path, err = exec.LookPath(c.Value)
	if err != nil {
		return "", nil, err
	}
	if len(c.Arguments) == 0 {
		return path, []string{c.Value}, nil
	}
	return path, c.Arguments, nil
}

// environment is Mesos' Environment.
type environment struct {
	Variables []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"variables"`
}

// list returns the variables as NAME=value.
func (e environment) list() []string {
	var list []string
	for _, v := range e.Variables {
		list = append(list, v.Name+"="+v.Value)
	}
	return list
}
