package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
)

// span is a stretch of the run in the summary.
type span struct {
	what string
	took time.Duration
}

// Summary returns the lines that say where the time of an ended run went.
func Summary(c *cluster.Cluster) []string {
	marks := []struct {
		what string
		at   time.Time
	}{
		{"registering with the master", c.Framework.RegisteredAt},
		{"waiting for resources", c.LaunchedAt},
		{"starting the containers", latest(c, func(t *cluster.Task) time.Time { return t.RunningAt })},
		{"reporting the ports", c.CompletedAt},
		{becomingReady(c), c.ReadyAt},
		{doing(c), c.EndingAt},
		{"ending", c.EndedAt},
	}
	var spans []span
	last := c.StartedAt
	for _, m := range marks {
		if m.at.IsZero() {
			continue
		}
		spans = append(spans, span{m.what, max(0, m.at.Sub(last))})
		if m.at.After(last) {
			last = m.at
		}
	}
	lines := []string{fmt.Sprintf("%s took %s:", c.Spec.Name, seconds(c.EndedAt.Sub(c.StartedAt)))}
	for _, s := range spans {
		lines = append(lines, fmt.Sprintf("  %8.3f s  %s", s.took.Seconds(), s.what))
	}
	return lines
}

func doing(c *cluster.Cluster) string {
	if c.ReadyAt.IsZero() {
		return "until the end was decided"
	}
	for _, job := range c.Spec.Jobs {
		if len(job.Command) > 0 && !job.Side {
			return "training"
		}
	}
	return "serving"
}

func becomingReady(c *cluster.Cluster) string {
	for _, job := range c.Spec.Jobs {
		if len(job.Command) == 0 && job.Num > 0 {
			return "importing TensorFlow and serving"
		}
	}
	return "starting the programs"
}

func latest(c *cluster.Cluster, at func(*cluster.Task) time.Time) time.Time {
	var last time.Time
	for i := range c.Tasks {
		if t := at(&c.Tasks[i]); t.After(last) {
			last = t
		}
	}
	return last
}

// LastLine says how the run ended, in words.
func LastLine(name string, code int, reason string) string {
	return fmt.Sprintf("%s: %s; exit code %d", name, oneLine(reason), code)
}

// Plan writes what a spec would launch.
func Plan(w io.Writer, spec *cluster.Spec) {
	fmt.Fprintf(w, "%s: %d tasks\n", spec.Name, len(spec.TaskNames()))
	for _, job := range spec.Jobs {
		does := "tf.distribute.Server"
		switch {
		case len(job.Command) > 0:
			does = strings.Join(job.Command, " ")
		case len(job.Entrypoint) > 0:
			does = strings.Join(job.Entrypoint, " ")
		}
		if job.Side {
			does += " (side)"
		}
		image := job.Image
		if image == "" {
			image = "no image"
		}
		if job.Placement != "" {
			does += " (" + job.Placement + ")"
		}
		fmt.Fprintf(w, "  %-12s %3d × (%s)  %s  %s\n", job.Name, job.Num, job.Resources, image, oneLine(does))
		if len(job.Constraints) > 0 {
			fmt.Fprintf(w, "  %-12s only where %s\n", "", constraints(job.Constraints))
		}
	}
	if len(spec.Constraints) > 0 {
		fmt.Fprintf(w, "  all          only where %s\n", constraints(spec.Constraints))
	}
	if len(spec.Driver) > 0 {
		fmt.Fprintf(w, "  driver, here: %s\n", oneLine(strings.Join(spec.Driver, " ")))
	}
}

func constraints(list []offer.Constraint) string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.String()
	}
	return strings.Join(texts, ", ")
}
