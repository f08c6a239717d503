package main

import (
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/logkey"
)

func eventStatuses(notes []cluster.Note, at time.Time) []callback.EventStatus {
	events := make([]callback.EventStatus, 0, len(notes))
	for _, n := range notes {
		event := callback.EventStatus{At: at.UTC(), Kind: n.Kind, Text: n.Text}
		if n.Task.JobName != "" {
			event.Task = n.Task.String()
		}
		if n.To != "" && n.Text == "" {
			event.Text = n.From + " → " + n.To
		}
		events = append(events, event)
	}
	return events
}

func noteAttributes(c *cluster.Cluster, n cluster.Note) []any {
	attributes := []any{logkey.Cluster, c.Spec.Name, logkey.Run, c.Run}
	if n.Task.JobName != "" {
		attributes = append(attributes, logkey.Task, n.Task.String(), logkey.Launch, n.Launch)
	}
	if n.AgentID != "" {
		attributes = append(attributes, logkey.AgentID, n.AgentID)
	}
	if n.To != "" {
		attributes = append(attributes, logkey.From, n.From, logkey.To, n.To)
	}
	if n.Text != "" {
		attributes = append(attributes, logkey.Reason, n.Text)
	}
	return attributes
}
