package spec

import (
	"maps"
	"slices"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// Defaults are what flags and the environment say; each is used where the spec has none of its own.
type Defaults struct {
	// Name is used even where the spec has one.
	Name          string
	Image         string
	Containerizer string
	Role          string
	// Attributes are those that agents must have, as in MESOS_ATTRIBUTES; they are added to the constraints of the spec.
	Attributes string
	// Dir is what becomes Spec.Dir, an absolute path; it is not looked at.
	Dir string
}

// What a job gets that asks for nothing: one CPU and 1 GiB.
const (
	defaultCPUs = offer.Milli(1000)
	defaultMem  = offer.Milli(1024 * 1000)
)

// Parse reads a spec. name stands before the line numbers of an error, which is Problems. The cluster's Name is empty when
// neither the spec nor the defaults have one.
func Parse(name string, text []byte, defaults Defaults) (cluster.Spec, error) {
	r := &reader{source: name}
	root := r.parseTree(text)
	if root == nil {
		return cluster.Spec{}, r.problems.err()
	}
	spec := r.cluster(group{at: root}, defaults)
	if err := r.problems.err(); err != nil {
		return cluster.Spec{}, err
	}
	return spec, nil
}

// job is a job with its place in the text.
type job struct {
	cluster.Job
	group
	num string // the field of the group that has Num
}

func (r *reader) cluster(g group, defaults Defaults) cluster.Spec {
	r.onlyKnown(g, clusterFields)
	spec := cluster.Spec{Dir: defaults.Dir, Deadlines: cluster.DefaultDeadlines}
	r.head(g, defaults, &spec)
	shared := cluster.Job{Num: 1, Image: spec.Image, Resources: offer.Resources{CPUs: defaultCPUs, Mem: defaultMem}}
	r.inherited(g, &shared)
	read(r, g, "success", &spec.Success, success)
	if v, found := g.get("driver"); found {
		spec.Driver = r.command(v)
	}
	if deadlines, found := g.sub("deadlines"); found {
		r.deadlines(deadlines, &spec.Deadlines)
	}
	r.finish(g, &spec, r.jobs(g, shared))
	return spec
}

// head reads what only a cluster has, with the defaults of the flags.
func (r *reader) head(g group, defaults Defaults, spec *cluster.Spec) {
	flags := flagGroup(map[string]string{"name": defaults.Name, "image": defaults.Image,
		"containerizer": defaults.Containerizer, "role": defaults.Role, "attributes": defaults.Attributes})
	read(r, flags.orElse(g, "name"), "name", &spec.Name, clusterName) // the flag wins: so one spec can run twice at a time
	read(r, g.orElse(flags, "role"), "role", &spec.Role, role)
	read(r, g.orElse(flags, "containerizer"), "containerizer", &spec.Containerizer, containerizer)
	read(r, g.orElse(flags, "image"), "image", &spec.Image, orNone(image))
	spec.Constraints = append(r.constraints(g), r.attributes(flags)...)
}

// inherited reads what a job has of its own or from its cluster, but for the image; null takes away what the cluster gave.
func (r *reader) inherited(g group, into *cluster.Job) {
	read(r, g, "workdir", &into.Workdir, orNone(workdir))
	read(r, g, "user", &into.User, orNone(user))
	read(r, g, "placement", &into.Placement, orNone(placement))
	if v, found := g.get("command"); found {
		into.Command = r.command(v)
	}
	if v, found := g.get("volumes"); found {
		into.Volumes = r.volumes(v)
	}
	if v, found := g.get("env"); found {
		r.env(v, &into.Env)
	}
	if v, found := g.get("uris"); found {
		into.URIs = r.uris(v)
	}
	if v, found := g.get("docker_parameters"); found {
		into.DockerParameters = r.dockerParameters(v)
	}
	read(r, g, "force_pull_image", &into.ForcePullImage, truth)
	read(r, g, "sidecar", &into.Sidecar, orNone(sidecarSource))
}

func (r *reader) jobs(g group, shared cluster.Job) []job {
	v, found := g.get("jobs")
	if !found || v.kind == nothing && !v.refused || v.kind == list && len(v.items) == 0 {
		r.refuse(Problem{Line: g.at.line, Column: g.at.column, Field: "jobs", Rule: "want a list with at least one job, as in - {name: worker, num: 2}"})
		return nil
	}
	if v.kind != list {
		r.wrong(v, "want a list of jobs, as in - {name: worker, num: 2}")
		return nil
	}
	var jobs []job
	for i, item := range v.items {
		at := v.item(i)
		if item.kind != mapping {
			r.wrong(at, "want the fields of a job, as in {name: worker, num: 2}")
			continue
		}
		jobs = append(jobs, r.job(group{at: item, path: at.path}, shared))
	}
	return jobs
}

func (r *reader) job(g group, shared cluster.Job) job {
	r.onlyKnown(g, jobFields)
	j := job{Job: shared, group: g, num: "num"}
	j.Command, j.Volumes, j.Env = slices.Clone(shared.Command), slices.Clone(shared.Volumes), maps.Clone(shared.Env)
	j.URIs, j.DockerParameters = slices.Clone(shared.URIs), slices.Clone(shared.DockerParameters)
	if _, found := g.get("name"); !found {
		r.refuse(Problem{Line: g.at.line, Column: g.at.column, Field: g.name("name"), Rule: "want a name, as in worker"})
	}
	read(r, g, "name", &j.Name, jobName)
	read(r, g, "num", &j.Num, count)
	read(r, g, "start", &j.Start, count)
	read(r, g, "side", &j.Side, truth)
	read(r, g, "image", &j.Image, orNone(image))
	r.resources(g, "", &j.Resources)
	r.inherited(g, &j.Job)
	j.Constraints = r.constraints(g)
	if v, found := g.get("entrypoint"); found {
		if j.Entrypoint = r.command(v); len(j.Entrypoint) > 0 && (j.Command != nil || j.Side) {
			r.wrong(v, "want no command and no side: true beside it: an entrypoint is a server that takes the place of the sidecar")
		}
	}
	return j
}

// resources reads cpus, mem and gpus; the flags have a prefix before gpus.
func (r *reader) resources(g group, gpusOf string, into *offer.Resources) {
	read(r, g, "cpus", &into.CPUs, cpus)
	read(r, g, "mem", &into.Mem, mem)
	read(r, g, gpusOf+"gpus", &into.GPUs, gpus)
}

func (r *reader) deadlines(g group, into *cluster.Deadlines) {
	if g.at.kind != mapping {
		r.wrong(value{g.at, g.path, false}, "want a mapping, as in {resources: 15m}")
		return
	}
	r.onlyKnown(g, deadlineFields)
	for name, deadline := range map[string]*time.Duration{"run": &into.Run, "resources": &into.Resources,
		"staging": &into.Staging, "registration": &into.Registration, "serving": &into.Serving, "ending": &into.Ending} {
		read(r, g, name, deadline, duration)
	}
}

// finish checks the jobs together and puts them into the spec.
func (r *reader) finish(g group, spec *cluster.Spec, jobs []job) {
	if runsPrograms(jobs) {
		for i := range jobs {
			if jobs[i].Name == tf.Master && !jobs[i].Side {
				jobs[i].Name = tf.Chief
			}
		}
	}
	r.check(g, jobs)
	if len(spec.Driver) > 0 && runsPrograms(jobs) {
		r.wrongIn(g, "driver", "want no command in the jobs: a driver uses a cluster of servers")
	}
	for _, j := range jobs {
		spec.Jobs = append(spec.Jobs, j.Job)
	}
	r.checkContainers(g, spec, jobs)
	if spec.Containerizer == "" {
		spec.Containerizer = mesosContainerizer
		if slices.ContainsFunc(spec.Jobs, func(j cluster.Job) bool { return j.Image != "" }) {
			spec.Containerizer = dockerContainerizer
		}
	}
}
