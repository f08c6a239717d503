package store

import (
	"fmt"
	"strings"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/tf"
)

// clock is the time of day if that is on the day of base, else date and time.
func clock(t, base time.Time) string {
	t, base = t.UTC(), base.UTC()
	if t.Format(time.DateOnly) == base.Format(time.DateOnly) {
		return t.Format("15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05Z")
}

// sayTask is the sentence of a task. Its times are of the day on which the run started unless they have a date.
func sayTask(c *cluster.Cluster, t *cluster.Task) string {
	at := clock(t.PhaseAt, c.StartedAt)
	launch := fmt.Sprintf("launch %d", t.Launch)
	switch t.Phase {
	case cluster.TaskWaiting:
		return because(fmt.Sprintf("%s since %s", t.Phase, at), t.Why)
	case cluster.TaskStaging, cluster.TaskStarting, cluster.TaskEnding:
		return because(fmt.Sprintf("%s on %s since %s, %s", t.Phase, t.Hostname, at, launch), t.Why)
	case cluster.TaskRegistered, cluster.TaskServing, cluster.TaskTraining:
		return because(fmt.Sprintf("%s %s on %s, %s", t.Phase, tf.JoinAddress(t.Address, t.Port), t.Hostname, launch), t.Why)
	case cluster.TaskDone, cluster.TaskFailed:
		if t.ExitCode > 0 {
			launch += fmt.Sprintf(", exit code %d", t.ExitCode)
		}
		return because(fmt.Sprintf("%s at %s, %s", t.Phase, at, launch), t.Why)
	}
	return string(t.Phase)
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

func (o Owner) String() string { return o.User + "@" + o.Host }

// sayCluster is the line of ClustersKey, told on the day of now.
func sayCluster(c *cluster.Cluster, owner Owner, now time.Time) string {
	if c.Ended() {
		return fmt.Sprintf("ended with exit code %d, run %d, %s, at %s", c.ExitCode, c.Run, owner, clock(c.EndedAt, now))
	}
	ready, total := c.Ready()
	return fmt.Sprintf("%s %d/%d ready, run %d, %s, since %s", c.Phase, ready, total, c.Run, owner, clock(c.StartedAt, now))
}

// sayEnd is the line of HistoryKey.
func sayEnd(c *cluster.Cluster, owner Owner) string {
	took := c.EndedAt.Sub(c.StartedAt).Round(time.Second)
	line := fmt.Sprintf("run %d of %s ended at %s after %s with exit code %d", c.Run, owner, c.EndedAt.UTC().Format(time.RFC3339), took, c.ExitCode)
	return oneLine(because(line, c.Reason))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
