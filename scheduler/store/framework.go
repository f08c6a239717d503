package store

import (
	"time"

	"tfmesos/scheduler/cluster"
)

var frameworkFields = []field[cluster.Framework]{
	text("id", func(f *cluster.Framework) *string { return &f.ID }),
	text("role", func(f *cluster.Framework) *string { return &f.Role }),
	text("principal", func(f *cluster.Framework) *string { return &f.Principal }),
	text("master", func(f *cluster.Framework) *string { return &f.Master }),
	text("webui_url", func(f *cluster.Framework) *string { return &f.WebUIURL }),
	span("failover_timeout", func(f *cluster.Framework) *time.Duration { return &f.FailoverTimeout }),
	instant("registered_at", func(f *cluster.Framework) *time.Time { return &f.RegisteredAt }),
	instant("disconnected_at", func(f *cluster.Framework) *time.Time { return &f.DisconnectedAt }),
}
