package view

import (
	"fmt"
	"strings"
	"time"

	"tfmesos/scheduler/cluster"
)

// NoteLine returns the plain line of a note, without a newline; empty if people need not see it.
func NoteLine(name string, n cluster.Note, at time.Time) string {
	subject := name
	if n.Task.JobName != "" {
		subject = n.Task.String()
	}
	text := n.Text
	switch n.Kind {
	case "task_phase":
		if text == "" || n.To == string(cluster.TaskFailed) { // a failure has a note of its own
			return ""
		}
		text = Word(cluster.TaskPhase(n.To)) + ": " + text
	case "cluster_def", "ending", "ended":
		return "" // said by what comes with them
	case "waiting":
		text = "waits: " + text
	case "task_failed":
		text = "failed: " + text
	}
	return fmt.Sprintf("%s %-10s %s", at.Format("15:04:05.000"), subject, oneLine(text))
}

// Word is what people read for a phase of a task.
func Word(p cluster.TaskPhase) string {
	switch p {
	case cluster.TaskStaging, cluster.TaskStarting, cluster.TaskRegistered:
		return "starting"
	case cluster.TaskServing:
		return "ready"
	}
	return string(p)
}

// TaskLine is the live line of a task: its name, where it is, for how long, and what there is to say.
func TaskLine(t *cluster.Task, now time.Time) string {
	detail := t.Why
	switch {
	case detail != "":
	case t.Port != 0 && t.Address != "":
		detail = fmt.Sprintf("%s:%d on %s", t.Address, t.Port, t.Hostname)
	case t.Hostname != "":
		detail = "on " + t.Hostname
	}
	return fmt.Sprintf("%-12s %-9s %6s  %s", t.Name, Word(t.Phase), seconds(now.Sub(t.PhaseAt)), oneLine(detail))
}

func oneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", " / ") }

func seconds(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0s"
	case d < 10*time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
