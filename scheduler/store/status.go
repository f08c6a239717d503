package store

import (
	"fmt"
	"strconv"
	"time"

	"tfmesos/scheduler/cluster"
)

// schema is the version of everything this package writes for a cluster. Another one is not read.
const schema = "1"

type clusterField = field[cluster.Cluster]

var statusFields = []clusterField{
	{"schema", func(*cluster.Cluster) string { return schema }, checkSchema},
	count("run", func(c *cluster.Cluster) *int { return &c.Run }),
	text("nonce", func(c *cluster.Cluster) *string { return &c.Nonce }),
	word("phase", func(c *cluster.Cluster) *cluster.Phase { return &c.Phase },
		cluster.PhaseWaiting, cluster.PhaseStarting, cluster.PhaseReady, cluster.PhaseTraining, cluster.PhaseEnding, cluster.PhaseEnded),
	derived("ready", func(c *cluster.Cluster) string {
		ready, total := c.Ready()
		return fmt.Sprintf("%d/%d", ready, total)
	}),
	count("generation", func(c *cluster.Cluster) *int { return &c.Generation }),
	derived("restarts", restarts),
	text("why", func(c *cluster.Cluster) *string { return &c.Why }),
	instant("started_at", func(c *cluster.Cluster) *time.Time { return &c.StartedAt }),
	instant("launched_at", func(c *cluster.Cluster) *time.Time { return &c.LaunchedAt }),
	instant("completed_at", func(c *cluster.Cluster) *time.Time { return &c.CompletedAt }),
	instant("ready_at", func(c *cluster.Cluster) *time.Time { return &c.ReadyAt }),
	instant("ending_at", func(c *cluster.Cluster) *time.Time { return &c.EndingAt }),
	instant("ended_at", func(c *cluster.Cluster) *time.Time { return &c.EndedAt }),
	{"exit_code", exitCode, setExitCode},
	text("reason", func(c *cluster.Cluster) *string { return &c.Reason }),
}

func checkSchema(_ *cluster.Cluster, s string) error {
	if s != schema {
		return fmt.Errorf("is %s: another version of tfmesos wrote it, and this one reads only %s", quote(s), schema)
	}
	return nil
}

// restarts counts launches beyond the first of each task.
func restarts(c *cluster.Cluster) string {
	n := 0
	for i := range c.Tasks {
		n += max(0, c.Tasks[i].Launch-1)
	}
	return strconv.Itoa(n)
}

// exitCode is empty until the outcome is decided.
func exitCode(c *cluster.Cluster) string {
	if c.ExitCode == 0 && c.Phase != cluster.PhaseEnding && c.Phase != cluster.PhaseEnded {
		return ""
	}
	return strconv.Itoa(c.ExitCode)
}

func setExitCode(c *cluster.Cluster, s string) (err error) {
	c.ExitCode, err = parseNumber(s, 0)
	return err
}
