package cluster

import (
	"fmt"
	"time"

	"tfmesos/shared/tf"
)

func (d *decider) hasCommand(t *Task) bool { return len(d.Spec.Job(t.Name).Command) > 0 }

func (d *decider) isSide(t *Task) bool { return d.Spec.Job(t.Name).Side }

// known reports whether the task's address can be given to its peers: Mesos has said that it runs, and where.
func (d *decider) known(t *Task) bool {
	return t.Port != 0 && (t.Address != "" || t.Advertised != "") && !t.RunningAt.IsZero() && t.Live()
}

// completeClusterDef publishes cluster_def as soon as every task's address is known; before that there is none.
func (d *decider) completeClusterDef() {
	if d.ClusterDef != nil || d.Phase == PhaseEnding {
		return
	}
	def := tf.ClusterDef{}
	for i := range d.Tasks { // in task order, so that entry i is task i
		t := &d.Tasks[i]
		if d.isSide(t) {
			continue
		}
		if !d.known(t) {
			return
		}
		def[t.Name.JobName] = append(def[t.Name.JobName], t.PeerAddress())
	}
	if len(def) == 0 {
		return
	}
	if err := def.Validate(); err != nil {
		d.end(ExitInternal, err.Error())
		return
	}
	d.ClusterDef, d.CompletedAt = def, d.now
	d.Generation++
	d.note(Note{Kind: "cluster_def", Text: fmt.Sprintf("generation %d: every task has its port", d.Generation)})
}

// movePhase follows the tasks. From ready and training only an end leads on.
func (d *decider) movePhase() {
	if d.Phase == PhaseReady || d.Phase == PhaseTraining || d.Phase == PhaseEnding {
		return
	}
	ready, total := d.Ready()
	switch {
	case len(d.waiting()) > 0:
		d.Phase = PhaseWaiting
	case ready < total:
		d.Phase = PhaseStarting
		d.Why = d.missing()
	default:
		d.Phase, d.ReadyAt, d.Why = PhaseReady, d.now, ""
		if d.anyCommand() {
			d.Phase = PhaseTraining
		}
		d.note(Note{Kind: "ready", Text: fmt.Sprintf("all %d tasks ready %s after submit", total, d.now.Sub(d.StartedAt).Round(time.Millisecond))})
	}
}

func (d *decider) anyCommand() bool {
	for i := range d.Tasks {
		if d.hasCommand(&d.Tasks[i]) && !d.isSide(&d.Tasks[i]) {
			return true
		}
	}
	return false
}

// missing names the first task that others wait for.
func (d *decider) missing() string {
	for i := range d.Tasks {
		t := &d.Tasks[i]
		switch {
		case t.Ready():
		case t.Why != "":
			return fmt.Sprintf("%s: %s", t.Name, t.Why)
		case t.Phase == TaskStaging:
			return fmt.Sprintf("%s has been staging on %s since %s", t.Name, t.Hostname, t.LaunchedAt.UTC().Format(time.TimeOnly+"Z"))
		case t.Phase == TaskStarting:
			return fmt.Sprintf("%s runs on %s and has not reported its port", t.Name, t.Hostname)
		case d.ClusterDef != nil:
			return fmt.Sprintf("%s does not serve yet", t.Name)
		}
	}
	return ""
}
