package main

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/local"
	"tfmesos/scheduler/offer"
)

// localResources is what the local agent offers: the machine's CPUs and memory, or what the spec asks for if that is more.
// One machine is not shared out: a spec that was written for a cluster shall be tried on a laptop. GPUs are those that are
// there, since each is one task's alone; they are looked for only if the spec asks for some.
func localResources(spec *cluster.Spec) local.Resources {
	var asked offer.Resources
	for _, job := range spec.Jobs {
		for range job.Num {
			asked = asked.Add(job.Resources)
		}
	}
	memory := 4096.0
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		memory = float64(info.Totalram) * float64(info.Unit) / (1 << 20)
	}
	return local.Resources{CPUs: max(float64(runtime.NumCPU()), asked.CPUs.Float()), Mem: max(memory, asked.Mem.Float()), Disk: max(1024, asked.Disk.Float()),
		GPUs: asked.GPUs > 0}
}

// localEnvironment is what local tasks inherit: ours without our own settings and secrets.
func localEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "TFMESOS") || strings.HasPrefix(name, "MESOS_") || name == "REDIS_URL" || name == "DOCKER_IMAGE"
	})
}

// differences lists what two specs do not share, as the lines of their JSON.
func differences(left, given *cluster.Spec) []string {
	a, b := specLines(left), specLines(given)
	var lines []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			lines = append(lines, "< "+strings.TrimSpace(line))
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			lines = append(lines, "> "+strings.TrimSpace(line))
		}
	}
	return lines
}

func specLines(s *cluster.Spec) []string {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		panic(err) // a spec always marshals
	}
	return strings.Split(string(text), "\n")
}
