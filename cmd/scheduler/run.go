package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"tfmesos/scheduler"
	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/httpapi"
	"tfmesos/scheduler/runfile"
	"tfmesos/scheduler/store"
	"tfmesos/scheduler/view"
	"tfmesos/shared/logkey"
)

const (
	// defaultPort is tfmesos2's, so that its users' scripts find ours.
	defaultPort = 11000
	// renewEvery is a third of the store's lease of 15 s.
	renewEvery = 5 * time.Second
	// redraw is the time between two looks of the live lines, whose clocks go on.
	redraw = 200 * time.Millisecond
)

// Run starts the cluster and follows it.
func (r *runCommand) Run(inv *invocation) error {
	if r.Local {
		r.Attributes = "" // they are of agents elsewhere, or of one here that is not ours
	}
	spec, err := r.read(inv.command)
	if err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if r.Local && r.Spec == "" {
		standHere(&spec)
	}
	unplaced := r.Local && unplace(&spec)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)

	h := &house{run: r, start: inv.start, signals: signals, unplaced: unplaced, logger: r.logger()}
	defer h.close()
	building, built := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	err = h.build(building, spec)
	interrupted := building.Err() != nil
	built()
	if err != nil && interrupted {
		stop := stopFor(<-signals)
		return &outcome{stop.ExitCode, stop.Reason + " before anything was started"}
	}
	if err != nil {
		return err
	}
	return h.live(ctx)
}

// standHere lets programs that were typed on the command line run where it was typed, as they would without us. Those of a
// spec run in their sandboxes, as on an agent.
func standHere(spec *cluster.Spec) {
	for i := range spec.Jobs {
		if job := &spec.Jobs[i]; len(job.Command) > 0 && job.Workdir == "" {
			job.Workdir = spec.Dir
		}
	}
}

// unplace takes the constraints away, of which a machine alone can keep none that matters, and reports whether there were any.
func unplace(spec *cluster.Spec) bool {
	had := len(spec.Constraints) > 0
	spec.Constraints = nil
	for i := range spec.Jobs {
		had = had || len(spec.Jobs[i].Constraints) > 0
		spec.Jobs[i].Constraints = nil
	}
	return had
}

// stopFor says how a signal ends a run.
func stopFor(got os.Signal) cluster.Stopped {
	if got == syscall.SIGTERM {
		return cluster.Stopped{ExitCode: cluster.ExitTerminated, Reason: "ended by SIGTERM"}
	}
	return cluster.Stopped{ExitCode: cluster.ExitInterrupted, Reason: "interrupted by SIGINT"}
}

// check finds what cannot work together.
func (r *runCommand) check() error {
	switch {
	case r.Grace < time.Second:
		return usage("--grace %s: want at least 1s", r.Grace)
	case r.OrphanTimeout < 0 || r.Keep < time.Second:
		return usage("--orphan-timeout %s, --keep %s: want times above 0", r.OrphanTimeout, r.Keep)
	case r.Port < 0 || r.Port > 65535:
		return usage("--port %d: want 1 to 65535", r.Port)
	}
	if !r.Local {
		if err := r.connection.check(); err != nil {
			return err
		}
	}
	if r.OrphanTimeout == 0 {
		r.OrphanTimeout = 15 * time.Minute
		if r.Redis == "" {
			r.OrphanTimeout = 5 * time.Minute
		}
	}
	return nil
}

// logger writes to stderr: everything as JSON, or in text form only what is worse than the lines people get anyway.
func (r *runCommand) logger() *slog.Logger {
	level := slog.LevelWarn
	if r.Verbose {
		level = slog.LevelDebug
	}
	if r.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: min(level, slog.LevelInfo)}))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// terminal returns where notes, live lines and output go.
func (r *runCommand) terminal(c *cluster.Cluster) *view.Terminal {
	fd := int(os.Stderr.Fd())
	return view.NewTerminal(view.TerminalConfig{
		Out: os.Stdout, Err: os.Stderr, Notes: r.LogFormat == "text", Name: c.Spec.Name, Tasks: len(c.Tasks), Now: time.Now,
		Live: r.LogFormat == "text" && !r.Verbose && term.IsTerminal(fd),
		Width: func() int {
			width, _, err := term.GetSize(fd)
			if err != nil {
				return 80
			}
			return width
		},
	})
}

// live runs the loop and its servers until the cluster has ended.
func (h *house) live(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.api.Run(ctx) })
	group.Go(func() error { return h.watchSignals(ctx) })
	group.Go(func() error { return h.redraw(ctx) })
	var last *cluster.Cluster
	var failure error
	group.Go(func() error {
		defer cancel() // the rest serves the loop
		last, failure = h.loop.Run(ctx)
		return nil
	})
	if err := group.Wait(); err != nil && last == nil {
		return &outcome{cluster.ExitInternal, err.Error()}
	}
	h.terminal.Close()
	if h.run.ClusterFile != "" {
		_ = os.Remove(h.run.ClusterFile) // the servers are gone; it may never have been there
	}
	return h.farewell(last, failure)
}

// watchSignals ends the run at the first SIGINT or SIGTERM, and at the second at once.
func (h *house) watchSignals(ctx context.Context) error {
	for count := 0; ; count++ {
		select {
		case <-ctx.Done():
			return nil
		case got := <-h.signals:
			stop := stopFor(got)
			stop.Now = count > 0
			if count == 0 {
				h.stop.Store(&stop)
				h.say(fmt.Sprintf("%s: ending the cluster, at most %s; once more ends it at once", stop.Reason, h.run.Grace))
			}
			h.loop.Post(stop)
		}
	}
}

func (h *house) redraw(ctx context.Context) error {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			h.terminal.Tick()
		}
	}
}

// observe shows and logs what the loop has published.
func (h *house) observe(c *cluster.Cluster, notes []cluster.Note) {
	if slices.ContainsFunc(notes, func(n cluster.Note) bool { return n.Kind == "ready" }) {
		h.writeClusterFile(c) // first: who reads that all is ready, looks for the file
	}
	h.terminal.Observe(c, notes)
	h.events = append(h.events, eventStatuses(notes, time.Now())...)
	if h.run.LogFormat != "json" {
		return
	}
	for _, n := range notes {
		level := slog.LevelInfo
		if n.Bad {
			level = slog.LevelWarn
		}
		h.logger.Log(context.Background(), level, n.Kind, noteAttributes(c, n)...)
	}
}

// writeClusterFile tells programs outside of the cluster where its servers are. The file is there whole or not at all.
func (h *house) writeClusterFile(c *cluster.Cluster) {
	path := h.run.ClusterFile
	if path == "" {
		return
	}
	text, err := json.Marshal(map[string]any{"cluster_def": c.ClusterDef, "targets": c.ClusterDef.Targets()})
	if err == nil {
		err = os.WriteFile(path+".new", append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		h.logger.Warn("write the cluster file", logkey.Path, path, logkey.Error, err)
	}
}

// farewell stores and says how the run ended.
func (h *house) farewell(c *cluster.Cluster, failure error) error {
	final := httpapi.StatusOf(c)
	final.Events = h.events
	if failure != nil {
		return h.abandon(c, failure)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := h.lease.Finish(ctx, c, h.run.Keep); err != nil {
		h.logger.Warn("finish in redis", logkey.Error, err)
	}
	h.lease = nil
	if err := runfile.Finish(c.Spec.Name, final); err != nil {
		h.logger.Warn("write final.json", logkey.Error, err)
	}
	h.closeLocal()
	if h.run.LogFormat == "text" {
		h.say(view.Summary(c)...)
		h.sayWhereToLook(c)
	}
	h.say(view.LastLine(c.Spec.Name, c.ExitCode, c.Reason))
	if c.ExitCode == cluster.ExitSuccess {
		return nil
	}
	return &outcome{code: c.ExitCode}
}

// abandon leaves a run whose state cannot be stored any more. Another scheduler may go on with it, unless somebody wanted
// it to end: then the loop has removed the framework, though Redis could not be told.
func (h *house) abandon(c *cluster.Cluster, failure error) error {
	code, reason := cluster.ExitAway, failure.Error()
	stop := h.stop.Load()
	switch {
	case errors.Is(failure, store.ErrFenced):
		reason = "another scheduler leads this cluster now"
	case h.local != nil: // nobody can go on with a local one
		h.closeLocal()
	case stop == nil && errors.Is(failure, scheduler.ErrStoreAway):
		reason = fmt.Sprintf("%s; framework %s is kept for %s: run the same command again when redis is back", reason, c.Framework.ID, c.Framework.FailoverTimeout)
	}
	if stop != nil {
		code, reason = stop.ExitCode, stop.Reason+"; "+reason
	}
	h.say(view.LastLine(c.Spec.Name, code, reason))
	return &outcome{code: code}
}

// sayWhereToLook points at the sandboxes of a local run that failed.
func (h *house) sayWhereToLook(c *cluster.Cluster) {
	if h.sandboxes != "" && c.ExitCode != cluster.ExitSuccess {
		h.say("the tasks' output and files: " + h.sandboxes)
	}
}
