package store

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

type taskField = field[cluster.Task]

var taskFields = []taskField{
	word("phase", func(t *cluster.Task) *cluster.TaskPhase { return &t.Phase },
		cluster.TaskWaiting, cluster.TaskStaging, cluster.TaskStarting, cluster.TaskRegistered, cluster.TaskServing,
		cluster.TaskTraining, cluster.TaskEnding, cluster.TaskDone, cluster.TaskFailed),
	text("why", func(t *cluster.Task) *string { return &t.Why }),
	text("state", func(t *cluster.Task) *cluster.State { return &t.State }),
	count("launch", func(t *cluster.Task) *int { return &t.Launch }),
	text("task_id", func(t *cluster.Task) *string { return &t.TaskID }),
	text("agent_id", func(t *cluster.Task) *string { return &t.AgentID }),
	text("hostname", func(t *cluster.Task) *string { return &t.Hostname }),
	text("address", func(t *cluster.Task) *string { return &t.Address }),
	number("port", func(t *cluster.Task) *int { return &t.Port }, 0),
	text("advertised", func(t *cluster.Task) *string { return &t.Advertised }),
	count("gpus", func(t *cluster.Task) *int { return &t.GPUs }),
	{"grouped", func(t *cluster.Task) string { return t.Grouped }, setGrouped},
	text("reason", func(t *cluster.Task) *string { return &t.Reason }),
	number("exit_code", func(t *cluster.Task) *int { return &t.ExitCode }, -1),
	flag("failed", func(t *cluster.Task) *bool { return &t.Failed }),
	text("import", func(t *cluster.Task) *string { return &t.Import }),
	instant("phase_at", func(t *cluster.Task) *time.Time { return &t.PhaseAt }),
	instant("launched_at", func(t *cluster.Task) *time.Time { return &t.LaunchedAt }),
	instant("running_at", func(t *cluster.Task) *time.Time { return &t.RunningAt }),
	instant("registered_at", func(t *cluster.Task) *time.Time { return &t.RegisteredAt }),
	instant("python_started_at", func(t *cluster.Task) *time.Time { return &t.PythonStartedAt }),
	instant("imported_at", func(t *cluster.Task) *time.Time { return &t.ImportedAt }),
	instant("serving_at", func(t *cluster.Task) *time.Time { return &t.ServingAt }),
	instant("heartbeat_at", func(t *cluster.Task) *time.Time { return &t.HeartbeatAt }),
	instant("killed_at", func(t *cluster.Task) *time.Time { return &t.KilledAt }),
	instant("vanished_at", func(t *cluster.Task) *time.Time { return &t.VanishedAt }),
	// The sidecar's report of its child's end; ended_exit_code is empty as long as there is none, and read first.
	{"ended_exit_code", endedExitCode, setEndedExitCode},
	ended("phase", func(r *callback.PhaseReport) *callback.Phase { return &r.Phase }),
	ended("cause", func(r *callback.PhaseReport) *callback.Cause { return &r.Cause }),
	ended("import", func(r *callback.PhaseReport) *string { return &r.Import }),
	ended("message", func(r *callback.PhaseReport) *string { return &r.Message }),
	{"ended_at", endedAt, setEndedAt},
	text("token_sha256", func(t *cluster.Task) *string { return &t.TokenSHA256 }),
	text("download_sha256", func(t *cluster.Task) *string { return &t.DownloadSHA256 }),
}

func setGrouped(t *cluster.Task, s string) error {
	if t.Grouped = s; s == "" {
		return nil
	}
	var values map[string]string
	if err := json.Unmarshal([]byte(s), &values); err != nil {
		return errors.New("is " + quote(s) + ", which is not the JSON it should be: " + err.Error())
	}
	return nil
}

func endedExitCode(t *cluster.Task) string {
	if t.Ended == nil {
		return ""
	}
	return strconv.Itoa(t.Ended.ExitCode)
}

func setEndedExitCode(t *cluster.Task, s string) error {
	if t.Ended = nil; s == "" {
		return nil
	}
	n, err := parseNumber(s, 0)
	t.Ended = &callback.PhaseReport{ExitCode: n}
	return err
}

func ended[S ~string](name string, at func(*callback.PhaseReport) *S) taskField {
	return taskField{"ended_" + name,
		func(t *cluster.Task) string {
			if t.Ended == nil {
				return ""
			}
			return string(*at(t.Ended))
		},
		func(t *cluster.Task, s string) error {
			if t.Ended != nil {
				*at(t.Ended) = S(s)
			}
			return nil
		}}
}

func endedAt(t *cluster.Task) string {
	if t.Ended == nil {
		return ""
	}
	return formatTime(t.Ended.At)
}

func setEndedAt(t *cluster.Task, s string) (err error) {
	if t.Ended != nil {
		t.Ended.At, err = parseTime(s)
	}
	return err
}

// checkTask finds what no Save can have written.
func checkTask(key string, t *cluster.Task) error {
	if t.Live() && t.TaskID == "" {
		return &CorruptError{key, "task_id", "is empty although phase is " + string(t.Phase)}
	}
	if t.Port > 65535 {
		return &CorruptError{key, "port", "is above 65535"}
	}
	return nil
}
