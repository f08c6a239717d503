package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
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

func (d dockerTask) terminate(_ *process, grace time.Duration) {
	seconds := strconv.Itoa(int(math.Ceil(grace.Seconds())))
	stop := d.docker("stop", "-t", seconds, d.flags["container"])
	go func() { report(stop) }() // takes up to grace
}

func (d dockerTask) kill(*process) { report(d.docker("kill", d.flags["container"])) }

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

// report runs a command whose only use is its effect.
func report(cmd *exec.Cmd) {
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v: %s\n", strings.Join(cmd.Args, " "), err, out)
	}
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
