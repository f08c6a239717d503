package view

import (
	"fmt"
	"io"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

// Status writes the table of `scheduler status`.
func Status(w io.Writer, s callback.Status, now time.Time) {
	fmt.Fprintf(w, "%s  run %d  %s  %d/%d ready", s.Name, s.Run, s.Phase, s.Ready, s.Total)
	if s.ExitCode != nil && s.EndedAt != nil {
		fmt.Fprintf(w, "  exit code %d", *s.ExitCode)
	}
	fmt.Fprintln(w)
	if s.Why != "" {
		fmt.Fprintf(w, "  %s\n", oneLine(s.Why))
	}
	for _, t := range s.Tasks {
		since := ""
		if t.PhaseAt != nil && s.EndedAt == nil {
			since = seconds(now.Sub(*t.PhaseAt))
		}
		fmt.Fprintf(w, "  %-12s %-9s %7s  %-22s %-16s launch %d  %s\n", t.Task, Word(cluster.TaskPhase(t.Phase)), since, t.Address, t.Hostname, t.Launch, oneLine(t.Reason))
	}
}
