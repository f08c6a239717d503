package spec

import (
	"slices"
	"strings"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// Flags are the common case without a file, each as typed; an empty one was not given.
type Flags struct {
	Defaults
	// How many tasks of each job: --chief, --ps, --worker, --evaluator.
	Chief, PS, Worker, Evaluator string
	// CPUs and Mem are those of each task, WorkerGPUs those of each worker: --cpus, --mem, --worker-gpus.
	CPUs, Mem, WorkerGPUs string
	// Command is the argv that every task runs; none: each is a tf.distribute.Server.
	Command []string
}

// FromFlags makes a spec of flags. The error is Problems that have flags as their fields.
func FromFlags(f Flags) (cluster.Spec, error) {
	r := &reader{}
	typed := flagGroup(map[string]string{
		tf.Chief: f.Chief, tf.PS: f.PS, tf.Worker: f.Worker, tf.Evaluator: f.Evaluator,
		"cpus": f.CPUs, "mem": f.Mem, "worker-gpus": f.WorkerGPUs,
	})
	spec := cluster.Spec{Dir: f.Dir, Deadlines: cluster.DefaultDeadlines}
	r.head(typed, f.Defaults, &spec)
	ask := offer.Resources{CPUs: defaultCPUs, Mem: defaultMem}
	r.resources(typed, "worker-", &ask)
	var jobs []job
	for _, name := range []string{tf.Chief, tf.PS, tf.Worker, tf.Evaluator} {
		j := job{Job: cluster.Job{Name: name, Resources: ask, Image: spec.Image, Command: slices.Clone(f.Command)}, group: typed, num: name}
		if name != tf.Worker {
			j.Resources.GPUs = 0
		}
		read(r, typed, name, &j.Num, count)
		if j.Num > 0 {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 && len(r.problems) == 0 {
		r.refuse(Problem{Rule: "want a spec, or at least one task by --chief, --ps, --worker or --evaluator"})
	}
	for i, argument := range f.Command {
		if strings.ContainsRune(argument, 0) || i == 0 && argument == "" {
			r.refuse(Problem{Field: "--", Value: showText(argument, true), Rule: "want a command: a program and its arguments, without NUL bytes"})
		}
	}
	r.finish(typed, &spec, jobs)
	if err := r.problems.err(); err != nil {
		return cluster.Spec{}, err
	}
	return spec, nil
}
