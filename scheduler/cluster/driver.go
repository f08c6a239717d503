package cluster

import (
	"encoding/json"
	"fmt"

	"tfmesos/shared/tf"
)

// startDriver hands the driver out once every server answers. A scheduler that resumes starts it again: it ended with the
// one before.
func (d *decider) startDriver() {
	if len(d.Spec.Driver) == 0 || d.Driving || d.Phase != PhaseReady || !d.Connected {
		return
	}
	d.Driving = true
	config := mustJSON(map[string]tf.ClusterDef{"cluster": d.ClusterDef})
	env := []EnvVar{{"TFMESOS_TARGETS", mustJSON(d.ClusterDef.Targets())}, {"TF_CONFIG", config}}
	if d.Spec.Dir != "" {
		env = append([]EnvVar{{"TFMESOS_SPEC_DIR", d.Spec.Dir}}, env...)
	}
	d.work.Drive = &Drive{Argv: d.Spec.Driver, Env: env}
	d.note(Note{Kind: "driver_started", Text: "the driver runs"})
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}

// driverEnded makes the driver's exit code the run's.
func (d *decider) driverEnded(ev DriverEnded) {
	d.Driving = false
	words := lastLine(ev.Message)
	switch {
	case ev.ExitCode == 0:
		d.end(ExitSuccess, "the driver finished")
	case ev.ExitCode == 126 || ev.ExitCode == 127:
		d.end(ExitUsage, withWords("the driver could not be started", words))
	case ev.ExitCode > 128:
		d.end(ev.ExitCode, withWords(fmt.Sprintf("the driver was ended by signal %d", ev.ExitCode-128), words))
	default:
		d.end(ev.ExitCode, withWords(fmt.Sprintf("the driver ended with exit code %d", ev.ExitCode), words))
	}
}
