package cluster

import (
	"slices"
	"strings"
)

// entrypoint returns the argv of a launch: our sidecar, or what the job has in its place.
func (d *decider) entrypoint(t *Task, job *Job) []string {
	switch {
	case len(job.Entrypoint) > 0:
	case job.Sidecar == SidecarOfImage:
		return nil
	default:
		return []string{d.Settings.Sidecar}
	}
	callback := ""
	if len(d.Settings.Callbacks) > 0 {
		_, callback, _ = strings.Cut(d.Settings.Callbacks[0], "://")
	}
	names := strings.NewReplacer("{task_id}", t.TaskID, "{callback}", callback)
	argv := make([]string, len(job.Entrypoint))
	for i, arg := range job.Entrypoint {
		argv[i] = names.Replace(arg)
	}
	return argv
}

// startProbes looks at the servers of launches that have nobody to report their phases.
func (d *decider) startProbes() {
	if d.ClusterDef == nil || d.Phase == PhaseEnding {
		return
	}
	for i := range d.Tasks {
		t := &d.Tasks[i]
		if len(d.Spec.Job(t.Name).Entrypoint) > 0 && t.Phase == TaskRegistered && !slices.Contains(d.Probing, t.TaskID) {
			d.Probing = append(d.Probing, t.TaskID)
			d.work.Probes = append(d.work.Probes, Probe{TaskID: t.TaskID, Address: t.PeerAddress()})
		}
	}
}

func (d *decider) answered(ev Answered) {
	d.Probing = slices.DeleteFunc(d.Probing, func(id string) bool { return id == ev.TaskID })
	if t := d.Launch(ev.TaskID); t != nil && t.Phase == TaskRegistered {
		t.ServingAt = d.now
		d.move(t, TaskServing, "answers at "+t.PeerAddress())
	}
}
