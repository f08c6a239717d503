package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// container is what is used of Mesos' ContainerInfo.
type container struct {
	Docker struct {
		Image      string `json:"image"`
		Network    string `json:"network"`
		Privileged bool   `json:"privileged"`
		Parameters []struct {
			Key   string `json:"key"`
			Value string `json:"value"`
		} `json:"parameters"`
		PortMappings []struct {
			HostPort      int `json:"host_port"`
			ContainerPort int `json:"container_port"`
		} `json:"port_mappings"`
	} `json:"docker"`
	Volumes      []volume `json:"volumes"`
	NetworkInfos []struct {
		Name string `json:"name"`
	} `json:"network_infos"`
}

// volume is what is used of Mesos' Volume.
type volume struct {
	HostPath      string `json:"host_path"`
	ContainerPath string `json:"container_path"`
	Mode          string `json:"mode"`
}

// dockerTask runs the task in a container through Docker's command line, as Mesos' own executor does.
type dockerTask struct{ flags map[string]string }

func (dockerTask) noun() string { return "Container" }

// lookEvery is the pause between two looks at a container that is to come.
const lookEvery = 100 * time.Millisecond

// subscribed lets the Docker containerizer of an agent that was started again take this executor back. It does so only with executors
// that have a libprocess address, as Mesos' own has, and only if somebody listens there; what it is sent there needs no answer, since
// this executor subscribes again by itself.
func (d dockerTask) subscribed() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "the agent will not know this container after a restart:", err)
		return
	}
	go func() { // until the executor ends
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn); conn.Close() }()
		}
	}()
	path := metaDir(d.flags["sandbox_directory"]) + "/pids/libprocess.pid"
	if err := os.WriteFile(path, []byte("executor(1)@"+listener.Addr().String()), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "the agent will not know this container after a restart:", err)
	}
}

// metaDir is where an agent keeps what it must know of the run after a restart.
func metaDir(sandbox string) string {
	i := max(0, strings.LastIndex(sandbox, "/slaves/"))
	return sandbox[:i] + "/meta" + sandbox[i:]
}

// runs looks until the container runs. One that never does ends with the process of `docker run`, and so does the looking.
func (d dockerTask) runs() <-chan struct{} {
	running := make(chan struct{})
	go func() {
		for {
			out, err := d.docker("inspect", "--format", "{{.State.Running}}", d.flags["container"]).Output()
			if err == nil && strings.TrimSpace(string(out)) == "true" {
				close(running)
				return
			}
			time.Sleep(lookEvery) // what Docker starts for us is no event here
		}
	}()
	return running
}

// neverRan says whether `docker run` ended without the command having run.
func neverRan(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && slices.Contains([]int{125, 126, 127}, exit.ExitCode())
}

func (d dockerTask) terminate(_ *process, grace time.Duration) {
	go d.insist("stop", "-t", strconv.Itoa(int(math.Ceil(grace.Seconds()))), d.flags["container"]) // takes up to grace
}

func (d dockerTask) kill(*process) { go d.insist("kill", d.flags["container"]) }

// insist runs a command again while it fails, because the container may not be there yet. The end of the executor ends it.
func (d dockerTask) insist(args ...string) {
	for d.docker(args...).Run() != nil {
		time.Sleep(lookEvery) // see runs
	}
}

func (d dockerTask) docker(args ...string) *exec.Cmd {
	program := d.flags["docker"]
	if program == "" {
		program = "docker"
	}
	if socket := d.flags["docker_socket"]; socket != "" {
		args = append([]string{"--host", "unix://" + socket}, args...)
	}
	return exec.Command(program, args...)
}

func (d dockerTask) prepare(task taskInfo, flags map[string]string) *exec.Cmd {
	args := []string{"run", "--rm", "--name", flags["container"]}
	args = append(args, limitArgs(task.Resources)...)
	args = append(args, d.containerArgs(task.Container)...)
	for _, variable := range task.Command.Environment.list() {
		args = append(args, "-e", variable)
	}
	args = append(args,
		"-e", "MESOS_SANDBOX="+flags["mapped_directory"],
		"-e", "MESOS_TASK_ID="+task.TaskID.Value,
		"-e", "MESOS_CONTAINER_NAME="+flags["container"])
	return d.docker(append(args, imageArgs(task)...)...)
}

// limitArgs turns resources into Docker's limits.
func limitArgs(resources []resource) []string {
	var args []string
	for _, r := range resources {
		switch r.Name {
		case "cpus":
			args = append(args, "--cpu-shares", strconv.Itoa(int(r.Scalar.Value*1024)))
		case "mem":
			args = append(args, "--memory", strconv.FormatInt(int64(r.Scalar.Value*(1<<20)), 10))
		}
	}
	return args
}

// containerArgs turns network, ports, volumes and free parameters into Docker's.
func (d dockerTask) containerArgs(c container) []string {
	var args []string
	network := strings.ToLower(c.Docker.Network)
	if network == "user" && len(c.NetworkInfos) > 0 {
		network = c.NetworkInfos[0].Name
	}
	if network != "" {
		args = append(args, "--net", network)
	}
	if c.Docker.Privileged {
		args = append(args, "--privileged")
	}
	for _, p := range c.Docker.Parameters {
		args = append(args, "--"+p.Key+"="+p.Value)
	}
	for _, m := range c.Docker.PortMappings {
		args = append(args, "-p", fmt.Sprintf("%d:%d", m.HostPort, m.ContainerPort))
	}
	sandbox := d.flags["sandbox_directory"]
	args = append(args, "-v", sandbox+":"+d.flags["mapped_directory"])
	for _, v := range c.Volumes {
		args = append(args, "-v", v.arg(sandbox))
	}
	return args
}

// arg returns host:container:mode. A host path that is not absolute lies in the sandbox.
func (v volume) arg(sandbox string) string {
	arg := v.ContainerPath + ":" + strings.ToLower(v.Mode)
	switch {
	case v.HostPath == "":
		return arg
	case filepath.IsAbs(v.HostPath):
		return v.HostPath + ":" + arg
	default:
		return filepath.Join(sandbox, v.HostPath) + ":" + arg
	}
}

// imageArgs returns the image and what to run in it. As in Mesos' docker executor all arguments follow the value, the
// first is not the program's name.
func imageArgs(task taskInfo) []string {
	image := task.Container.Docker.Image
	if task.Command.isShell() {
		return []string{"--entrypoint", "/bin/sh", image, "-c", task.Command.Value}
	}
	args := []string{image}
	if task.Command.Value != "" {
		args = append(args, task.Command.Value)
	}
	return append(args, task.Command.Arguments...)
}
