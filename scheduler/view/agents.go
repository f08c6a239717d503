package view

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// Agents writes the table of `scheduler agents`: what is free for the role, and of how much.
func Agents(w io.Writer, agents []offer.Agent) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "AGENT\tCPUS\tMEM\tDISK\tGPUS\tATTRIBUTES")
	for _, a := range agents {
		free, all := offer.Sum(a.Parts), offer.Sum(a.Total)
		about := make([]string, 0, len(a.Attributes)+2)
		if a.Down != "" {
			about = append(about, "("+a.Down+")")
		}
		for _, attribute := range a.Attributes {
			about = append(about, attribute.Name+":"+attribute.String())
		}
		if a.Others != (offer.Resources{}) {
			about = append(about, fmt.Sprintf("(%s for other roles)", a.Others))
		}
		fmt.Fprintf(table, "%s\t%s/%s\t%s/%s\t%s/%s\t%s/%s\t%s\n", a.Hostname, free.CPUs, all.CPUs, free.Mem, all.Mem, free.Disk, all.Disk, free.GPUs, all.GPUs, strings.Join(about, " "))
	}
	table.Flush()
}

// Foresight writes where tasks would go, or why they would wait: a line for the tasks of a job that lack the same.
func Foresight(w io.Writer, f cluster.Foresight) {
	for _, p := range f.Places {
		fmt.Fprintf(w, "  %-16s %s\n", p.Hostname, taskNames(p.Tasks))
	}
	for i := 0; i < len(f.Short); {
		first, tasks := f.Short[i], []tf.TaskName{}
		text := first.Of("agent")
		for ; i < len(f.Short) && f.Short[i].Of("agent") == text; i++ {
			tasks = append(tasks, f.Short[i].Task)
		}
		fmt.Fprintf(w, "  %-16s waits: %s\n", taskNames(tasks), text)
	}
}

// taskNames lists tasks with runs of indices put together, as in ps:0 worker:0-3.
func taskNames(tasks []tf.TaskName) string {
	var parts []string
	for i := 0; i < len(tasks); {
		first := tasks[i]
		last := first
		for i++; i < len(tasks) && tasks[i].JobName == first.JobName && tasks[i].TaskIndex == last.TaskIndex+1; i++ {
			last = tasks[i]
		}
		text := first.String()
		if last != first {
			text += fmt.Sprintf("-%d", last.TaskIndex)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}
