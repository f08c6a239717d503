package store

import (
	"fmt"
	"slices"
	"strconv"
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

// waitingFields are in each hash of WaitingKey, beside those of the reasons.
var waitingFields = []string{"offers", "since", "last_offer_at"}

// sayWait returns the fields of a WaitingKey: a reason by its resource or attribute, as in mem: "12 too small, largest 6144 of 8192".
func sayWait(w *cluster.Wait) []string {
	pairs := []string{"offers", strconv.Itoa(w.Offers), "since", formatTime(w.Since), "last_offer_at", formatTime(w.LastOfferAt)}
	at := map[string]int{}
	for _, r := range w.Reasons {
		field, said := r.Field, fmt.Sprintf("%d %s", r.Count, r.Short)
		if slices.Contains(waitingFields, field) {
			field += "_attribute"
		}
		if i, there := at[field]; there {
			pairs[i] += "; " + said
			continue
		}
		at[field] = len(pairs) + 1
		pairs = append(pairs, field, said)
	}
	return pairs
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
