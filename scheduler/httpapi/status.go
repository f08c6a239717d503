package httpapi

import (
	"cmp"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// StatusOf returns the cluster as people see it: the answer of GET /v1/cluster, and final.json but for its events. It holds
// no secret.
func StatusOf(c *cluster.Cluster) callback.Status {
	ready, total := c.Ready()
	status := callback.Status{
		Name:       c.Spec.Name,
		Run:        c.Run,
		Phase:      string(c.Phase),
		Ready:      ready,
		Total:      total,
		Generation: c.Generation,
		Why:        c.Why,
		Framework:  c.Framework.ID,
		Master:     c.Framework.Master,
		ClusterDef: c.ClusterDef,
		StartedAt:  at(c.StartedAt),
		ReadyAt:    at(c.ReadyAt),
		EndedAt:    at(c.EndedAt),
		Tasks:      make([]callback.TaskStatus, len(c.Tasks)),
	}
	if c.Phase == cluster.PhaseEnding || c.Phase == cluster.PhaseEnded {
		status.ExitCode = &c.ExitCode
		status.Why = cmp.Or(c.Reason, c.Why)
	}
	for i := range c.Tasks {
		status.Tasks[i] = taskStatusOf(&c.Tasks[i])
	}
	return status
}

func taskStatusOf(t *cluster.Task) callback.TaskStatus {
	status := callback.TaskStatus{
		Task:     t.Name.String(),
		Phase:    string(t.Phase),
		State:    string(t.State),
		Launch:   t.Launch,
		TaskID:   t.TaskID,
		AgentID:  t.AgentID,
		Hostname: t.Hostname,
		Address:  t.Address,
		Reason:   cmp.Or(t.Why, t.Reason),
		PhaseAt:  at(t.PhaseAt),

		LaunchedAt:      at(t.LaunchedAt),
		RegisteredAt:    at(t.RegisteredAt),
		PythonStartedAt: at(t.PythonStartedAt),
		ImportedAt:      at(t.ImportedAt),
		ServingAt:       at(t.ServingAt),
	}
	if w := t.Wait; w != nil {
		status.Waiting = &callback.WaitingStatus{Offers: w.Offers, Since: at(w.Since), LastOfferAt: at(w.LastOfferAt)}
		for _, r := range w.Reasons {
			status.Waiting.Reasons = append(status.Waiting.Reasons, callback.RefusalStatus{Field: r.Field, Count: r.Count, Text: r.Long})
		}
	}
	if t.Address != "" && t.Port != 0 {
		status.Address = tf.JoinAddress(t.Address, t.Port)
	}
	if (t.Ended != nil || t.Over()) && t.ExitCode >= 0 {
		status.ExitCode = &t.ExitCode
	}
	return status
}

// at is nil for a time that has not come.
func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}
