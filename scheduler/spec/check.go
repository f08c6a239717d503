package spec

import (
	"fmt"
	"slices"
	"strings"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/tf"
)

// runsPrograms tells whether some job has a program that may read TF_CONFIG. If not, all are plain servers.
func runsPrograms(jobs []job) bool {
	return slices.ContainsFunc(jobs, func(j job) bool { return j.Command != nil && !j.Side })
}

// check looks at what the jobs demand of one another. A job whose name was refused has none.
func (r *reader) check(g group, jobs []job) {
	programs, tasks, training := runsPrograms(jobs), 0, 0
	for i, j := range jobs {
		r.checkName(j, programs)
		r.checkTwice(j, jobs[:i])
		if (j.Name == tf.Chief || j.Name == tf.Evaluator) && j.Num > 0 && j.Start+j.Num > 1 {
			r.wrongIn(j.group, j.num, fmt.Sprintf("want at most one %s: TensorFlow takes no more", j.Name))
		}
		if tasks += j.Num; tasks > maxTasks {
			r.wrongIn(j.group, j.num, fmt.Sprintf("want at most %d tasks in all, these are %d", maxTasks, tasks))
		}
		if !j.Side {
			training += j.Num
		}
	}
	if training == 0 && len(jobs) > 0 {
		r.wrongIn(g, "jobs", "want at least one task of the training: a num above 0 without side: true")
	}
}

func (r *reader) checkName(j job, programs bool) {
	known := tf.KnownJob(j.Name) || j.Name == tf.Master
	switch {
	case j.Name == "":
	case j.Side && known:
		r.wrongIn(j.group, "name", "want a name of its own for a side job: TensorFlow knows this one as a part of the training")
	case j.Side && j.Command == nil:
		r.wrongIn(j.group, "side", "want a command: a side job is a program beside the training")
	case !j.Side && programs && !known:
		rule := "want chief, worker, ps or evaluator where a job has a command: TensorFlow takes no other; or side: true"
		if near := nearest(j.Name, []string{tf.Chief, tf.Worker, tf.Evaluator}); near != "" {
			rule += fmt.Sprintf("; did you mean %s?", near)
		}
		r.wrongIn(j.group, "name", rule)
	}
}

// checkTwice refuses a name that a job before has, in this or another case, unless it is the next part of that job.
func (r *reader) checkTwice(j job, before []job) {
	if len(before) > 0 && j.Name != "" && j.Start > 0 && before[len(before)-1].Name == j.Name {
		r.checkPart(j, before[len(before)-1])
		return
	}
	for _, other := range before {
		if j.Name == "" || !strings.EqualFold(j.Name, other.Name) {
			continue
		}
		rule := fmt.Sprintf("want each job once, %s is %s too (its next part would come right behind it, with a start)", other.path, other.Name)
		if j.Name != other.Name {
			rule = fmt.Sprintf("want names that differ in more than upper and lower case, %s is %s", other.path, other.Name)
		}
		r.wrongIn(j.group, "name", rule)
		return
	}
	if j.Start > 0 {
		r.wrongIn(j.group, "start", "want 0 where the entry before is no part of the same job: TensorFlow counts its tasks from 0")
	}
}

// checkPart refuses what is no continuation of the part before.
func (r *reader) checkPart(j, before job) {
	if end := before.Start + before.Num; j.Start != end {
		r.wrongIn(j.group, "start", fmt.Sprintf("want %d, where %s ends: the indexes of a job have no gaps", end, before.path))
	}
	if j.Side != before.Side {
		r.wrongIn(j.group, "side", fmt.Sprintf("want it as %s has it, which is a part of the same job", before.path))
	}
}

// checkContainers refuses what cannot be without an image.
func (r *reader) checkContainers(g group, spec *cluster.Spec, jobs []job) {
	for _, j := range jobs {
		if len(j.Volumes) > 0 && j.Image == "" {
			r.wrongIn(j.group, "volumes", "want an image beside volumes: without one the task sees the agent's own files")
		}
		if j.Image == "" && j.ForcePullImage {
			r.wrongIn(j.group, "force_pull_image", "want an image beside it")
		}
		if j.Image == "" && j.Sidecar != "" {
			r.wrongIn(j.group, "sidecar", "want an image whose entrypoint is the sidecar")
		}
		if len(j.DockerParameters) > 0 && (j.Image == "" || spec.Containerizer == mesosContainerizer) {
			r.wrongIn(j.group, "docker_parameters", "want an image and the containerizer DOCKER beside options of docker run")
		}
		if spec.Containerizer == dockerContainerizer && j.Image == "" {
			r.wrongIn(g, "containerizer", fmt.Sprintf("want an image for each job, %s has none; or MESOS", j.Name))
		}
	}
}

// wrongIn refuses the field of a group, or the group itself if the field came from elsewhere.
func (r *reader) wrongIn(g group, field, rule string) {
	v, found := g.get(field)
	if !found {
		r.refuse(Problem{Line: g.at.line, Column: g.at.column, Field: g.name(field), Rule: rule})
		return
	}
	r.wrong(v, rule)
}
