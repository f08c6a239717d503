package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tfmesos/shared/tf"
)

// TaskID returns the Mesos task_id of a launch, CLUSTER.NONCE.JOB-INDEX.LAUNCH. It is used once: Mesos refuses the id of a
// task that runs or is unreachable, and agents keep the ends of old ones on record.
func TaskID(cluster, nonce string, name tf.TaskName, launch int) string {
	return fmt.Sprintf("%s.%s.%s-%d.%d", cluster, nonce, name.JobName, name.TaskIndex, launch)
}

// describe returns what Mesos must be told to start the launch of t, but for its resources.
func (d *decider) describe(t *Task, job *Job, token string) Launch {
	return Launch{
		TaskID:    t.TaskID,
		Task:      t.Name,
		Argv:      d.entrypoint(t, job),
		Env:       d.environment(t, job, token),
		Image:     job.Image,
		Docker:    job.Image != "" && d.Spec.Containerizer != "MESOS",
		ForcePull: job.ForcePullImage, Parameters: job.DockerParameters,
		Volumes:   job.Volumes,
		URIs:      d.uris(t, job),
		User:      job.User,
		KillGrace: killGrace(d.Settings.Grace),
		Labels:    d.labels(t),
	}
}

// labels are what other programs can tell a launch by in Mesos: whose it is, and for which cluster_def.
func (d *decider) labels(t *Task) []EnvVar {
	generation := d.Generation
	if d.ClusterDef == nil {
		generation++ // the one that is to come of it
	}
	return []EnvVar{{"tfmesos_cluster", d.Spec.Name}, {"tfmesos_generation", strconv.Itoa(generation)}, {"tfmesos_job", t.Name.JobName},
		{"tfmesos_run", strconv.Itoa(d.Run)}, {"tfmesos_task_index", strconv.Itoa(t.Name.TaskIndex)}}
}

// The end of a run nests: the program has 3/5 of the grace from TERM to KILL, its sidecar 4/5, and at the whole the
// framework is torn down.
func programGrace(grace time.Duration) time.Duration { return grace * 3 / 5 }
func killGrace(grace time.Duration) time.Duration    { return grace * 4 / 5 }

// environment returns the variables of a launch sorted by name: those of the spec, and on top of them ours, which a
// spec may not name. cmd/sidecar explains each of ours.
func (d *decider) environment(t *Task, job *Job, token string) []EnvVar {
	vars := map[string]string{}
	for name, value := range job.Env {
		if value != nil {
			vars[name] = *value
		} else {
			vars[name] = d.Settings.Values[name]
		}
	}
	maps.Copy(vars, map[string]string{
		"TFMESOS_TASK_ID":          t.TaskID,
		"TFMESOS_TOKEN":            token,
		"TFMESOS_CALLBACK":         strings.Join(d.Settings.Callbacks, ","),
		"TFMESOS_CLUSTER":          d.Spec.Name,
		"TFMESOS_JOB_NAME":         t.Name.JobName,
		"TFMESOS_TASK_INDEX":       strconv.Itoa(t.Name.TaskIndex),
		"TFMESOS_GPUS":             strconv.Itoa(t.GPUs),
		"TFMESOS_GRACE":            programGrace(d.Settings.Grace).String(),
		"TFMESOS_ORPHAN_TIMEOUT":   d.Settings.OrphanTimeout.String(),
		"TFMESOS_TF_IMPORT":        d.Settings.TFImport,
		"TFMESOS2_CLIENT_USERNAME": t.TaskID,
		"TFMESOS2_CLIENT_PASSWORD": token,
	})
	if job.Side {
		vars["TFMESOS_SIDE"] = "1"
	}
	if len(job.Command) > 0 {
		argv, err := json.Marshal(job.Command)
		if err != nil {
			panic(err) // strings always marshal
		}
		vars["TFMESOS_COMMAND"] = string(argv)
	}
	if job.Workdir != "" {
		vars["TFMESOS_WORKDIR"] = job.Workdir
	}
	if job.Image == "" && d.Spec.Dir != "" {
		vars["TFMESOS_SPEC_DIR"] = d.Spec.Dir
	}
	env := make([]EnvVar, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, EnvVar{name, vars[name]})
	}
	return env
}
