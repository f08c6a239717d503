package cluster

import (
	"time"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// Spec is the cluster somebody wants, as validated. It is stored as JSON, so it holds no secret: an environment variable
// whose value is the caller's has a nil value here.
type Spec struct {
	// Name is 1 to 40 of [a-z0-9-], with no '-' at either end.
	Name string `json:"name"`
	// Image is the container image of every job that has none of its own; empty: a plain command on the agent.
	Image string `json:"image,omitempty"`
	// Containerizer is "DOCKER" or "MESOS"; without an image always MESOS.
	Containerizer string `json:"containerizer,omitempty"`
	// Role is the Mesos role that the framework registers with.
	Role string `json:"role,omitempty"`
	// Jobs are in the order of the spec, each with all that it inherits from the cluster filled in.
	Jobs []Job `json:"jobs"`
	// Constraints hold for each task; what counts in them counts all tasks.
	Constraints []offer.Constraint `json:"constraints,omitempty"`
	// Success says whose programs make the run a success: "" the chief's, else worker 0's, else all; "all", "any" or a share
	// as in "50%" of the chief's and the workers'.
	Success string `json:"success,omitempty"`
	// Driver is the argv of a program that runs beside the scheduler once all servers answer, and whose exit code is the
	// run's; only where no job of the training has a command.
	Driver []string `json:"driver,omitempty"`
	// Deadlines bound each wait.
	Deadlines Deadlines `json:"deadlines"`
	// Dir is the absolute directory of the spec file, given to tasks without an image as TFMESOS_SPEC_DIR; empty
	// if the spec came from standard input or from flags, where it is the current directory.
	Dir string `json:"dir,omitempty"`
}

// Job is a number of equal tasks: all of a TensorFlow job, or a part of one. Parts stand one behind the other.
type Job struct {
	// Name is the job name in TensorFlow; see Spec validation for what it may be.
	Name string `json:"name"`
	// Num is how many tasks it has. 0 leaves the job out of cluster_def.
	Num int `json:"num"`
	// Start is the index of its first task: 0, or where the part of the same name before it ends.
	Start int `json:"start,omitempty"`
	// Resources of each task.
	Resources offer.Resources `json:"resources"`
	// Command is the argv of the user's program; nil: the task is a tf.distribute.Server (server mode). A command that
	// was written as one string is ["/bin/sh", "-c", it].
	Command []string `json:"command,omitempty"`
	// Entrypoint is the argv of a program that speaks the /v0 routes itself, in place of our sidecar, as tfmesos2's does;
	// {task_id} and {callback}, our HOST:PORT, are filled in. Only without a Command.
	Entrypoint []string `json:"entrypoint,omitempty"`
	// Env are the variables of the user; a nil value means the caller's own, which is not stored.
	Env map[string]*string `json:"env,omitempty"`
	// Image as in Spec.
	Image string `json:"image,omitempty"`
	// ForcePullImage pulls the image anew for each launch, whatever the agent has under its name.
	ForcePullImage bool `json:"force_pull_image,omitempty"`
	// DockerParameters are further options of `docker run`, sorted by name; only with the Docker containerizer.
	DockerParameters []Parameter `json:"docker_parameters,omitempty"`
	// Sidecar is where our sidecar comes from: "" as Settings.Sidecar says, "image": it is the image's own entrypoint.
	Sidecar string `json:"sidecar,omitempty"`
	// Volumes are mounted into the container; only with an image.
	Volumes []Volume `json:"volumes,omitempty"`
	// URIs are fetched into the sandbox of each task before it starts.
	URIs []URI `json:"uris,omitempty"`
	// Workdir is the working directory of the program; empty: the sandbox.
	Workdir string `json:"workdir,omitempty"`
	// User runs the task; empty: the user of the framework.
	User string `json:"user,omitempty"`
	// Constraints hold for the tasks of the job beside those of the cluster; what counts in them counts tasks of the job.
	Constraints []offer.Constraint `json:"constraints,omitempty"`
	// Placement is PlacementSpread, or empty: tasks go where the least is left over.
	Placement string `json:"placement,omitempty"`
	// Side keeps the job out of cluster_def and TF_CONFIG: it is scheduled and watched, no more.
	Side bool `json:"side,omitempty"`
}

// PlacementSpread has each task of a job go rather where few others of it are.
const PlacementSpread = "spread"

// Volume is a directory of the agent seen in the container.
type Volume struct {
	HostPath      string `json:"host_path"`
	ContainerPath string `json:"container_path"`
	ReadOnly      bool   `json:"read_only,omitempty"`
}

// SidecarOfImage is the Job.Sidecar of an image whose own entrypoint is our sidecar.
const SidecarOfImage = "image"

// Parameter is an option of `docker run` without its dashes. One name may be there several times.
type Parameter struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// URI is something for Mesos' fetcher (CommandInfo.URI in mesos.proto). Value is never changed, save for files of our own
// download folder (see callback.PathV0Download).
type URI struct {
	Value      string `json:"value"`
	Extract    bool   `json:"extract"`
	Executable bool   `json:"executable,omitempty"`
	Cache      bool   `json:"cache,omitempty"`
	OutputFile string `json:"output_file,omitempty"`
}

// Deadlines bound the waits of a run; 0 means none. JSON has nanoseconds.
type Deadlines struct {
	// Run bounds the whole run: exit code 124.
	Run time.Duration `json:"run,omitempty"`
	// Resources bounds the wait for offers that hold the whole gang: exit code 3.
	Resources time.Duration `json:"resources,omitempty"`
	// Staging bounds ACCEPT to TASK_RUNNING, which includes pulling an image.
	Staging time.Duration `json:"staging,omitempty"`
	// Registration bounds TASK_RUNNING to the report of a port.
	Registration time.Duration `json:"registration,omitempty"`
	// Serving bounds cluster_def to an answering port in server mode.
	Serving time.Duration `json:"serving,omitempty"`
	// Ending is what programs have to finish by themselves after a success: workers without a ps, and evaluators.
	Ending time.Duration `json:"ending,omitempty"`
}

// DefaultDeadlines suit real life: images of several GB and busy clusters, but nothing for ever except the run itself.
var DefaultDeadlines = Deadlines{Resources: 15 * time.Minute, Staging: 15 * time.Minute, Registration: 5 * time.Minute, Serving: 5 * time.Minute, Ending: 10 * time.Second}

// Job returns the job of the task, or that part of it which has its index; nil if there is none of the name.
func (s *Spec) Job(task tf.TaskName) *Job {
	var found *Job
	for i := range s.Jobs {
		if job := &s.Jobs[i]; job.Name == task.JobName && (found == nil || task.TaskIndex >= job.Start) {
			found = job
		}
	}
	return found
}

// TaskNames returns the name of every task in task order: jobs as the spec has them, each by index.
func (s *Spec) TaskNames() []tf.TaskName {
	var names []tf.TaskName
	for _, job := range s.Jobs {
		for i := range job.Num {
			names = append(names, tf.TaskName{JobName: job.Name, TaskIndex: job.Start + i})
		}
	}
	return names
}
