package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/runfile"
	"tfmesos/scheduler/store"
	"tfmesos/shared/logkey"
)

// claim makes this process the leader of the name. It returns a new cluster, or the one that a scheduler before us left,
// then with that scheduler.
func (h *house) claim(ctx context.Context, spec cluster.Spec) (*cluster.Cluster, *store.Leader, error) {
	record, err := h.store.Load(ctx, spec.Name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		var corrupt *store.CorruptError
		if errors.As(err, &corrupt) {
			return nil, nil, usage("%v; a person must look at it, nothing was changed", err)
		}
		return nil, nil, &outcome{cluster.ExitAway, err.Error()}
	}
	self := store.ThisProcess()
	self.Version = version
	lease, err := h.store.Acquire(ctx, spec.Name, self)
	var held *store.HeldError
	switch {
	case errors.As(err, &held):
		owner := "somebody"
		if record != nil && record.Owner.User != "" {
			owner = record.Owner.String()
		}
		return nil, nil, usage("%s is already running: %s started it; its scheduler is process %d on %s since %s; see scheduler status %s, or give another --name",
			spec.Name, owner, held.Leader.PID, held.Leader.Host, held.Leader.Since.Format(time.RFC3339), spec.Name)
	case err != nil:
		return nil, nil, &outcome{cluster.ExitAway, err.Error()}
	}
	h.lease = lease
	if record == nil || record.Cluster.Ended() || h.run.Local {
		return h.begin(ctx, spec, record)
	}
	if diff := differences(&record.Cluster.Spec, &spec); len(diff) > 0 {
		return nil, nil, usage("%s was left by its scheduler with another spec; differences (< left, > given):\n%s\nrun it with the old spec, or give another --name", spec.Name, strings.Join(diff, "\n"))
	}
	h.say(fmt.Sprintf("%s: resuming run %d, framework %s, which process %d on %s left", spec.Name, record.Cluster.Run, record.Cluster.Framework.ID, record.Leader.PID, record.Leader.Host))
	return record.Cluster, &record.Leader, nil
}

func (h *house) begin(ctx context.Context, spec cluster.Spec, last *store.Record) (*cluster.Cluster, *store.Leader, error) {
	number := 1
	if last != nil {
		number = last.Cluster.Run + 1
	}
	hostname, _ := os.Hostname() // for people only
	owner := store.Owner{User: userName(), Host: hostname, PID: os.Getpid(), Argv: os.Args, Batch: batchJob(), Source: h.run.Spec}
	if err := h.lease.SaveOwner(ctx, owner); err != nil {
		return nil, nil, &outcome{cluster.ExitAway, err.Error()}
	}
	return cluster.New(spec, number, randomHex(3), cluster.Settings{}, h.start), nil, nil
}

// batchJob names the batch system's job that we are part of.
func batchJob() string {
	for _, name := range []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"} {
		if id := os.Getenv(name); id != "" {
			return name + "=" + id
		}
	}
	return ""
}

// announce writes run.json and says where to look.
func (h *house) announce(c *cluster.Cluster, address string) error {
	err := runfile.Write(runfile.Run{Name: c.Spec.Name, Run: c.Run, PID: os.Getpid(), Address: address, Token: h.token, Redis: h.run.Redis, Sandboxes: h.sandboxes})
	if err != nil {
		return &outcome{cluster.ExitJobFailed, err.Error()}
	}
	where := "Mesos master " + h.master
	if h.local != nil {
		where = "this machine (a stand-in for Mesos)"
	}
	h.say(
		fmt.Sprintf("%s: run %d, %d tasks on %s; callbacks at %s", c.Spec.Name, c.Run, len(c.Tasks), where, address),
		fmt.Sprintf("%s: state: redis-cli -u %s HGETALL '%s'", c.Spec.Name, h.redisForPeople(), store.TasksKey(c.Spec.Name)),
	)
	if h.embedded == nil {
		h.say(fmt.Sprintf("%s: redis %s: %s", c.Spec.Name, h.store.Address(), h.store.Durability()))
	}
	return nil
}

// redisForPeople is the whole URL of the own Redis, whose password is of this run alone; that of another hides it.
func (h *house) redisForPeople() string {
	if h.embedded != nil {
		return h.embedded.URL()
	}
	return "redis://" + h.store.Address()
}

func (h *house) say(lines ...string) {
	if h.run.LogFormat == "json" {
		for _, line := range lines {
			h.logger.Info(line)
		}
		return
	}
	for _, line := range lines {
		fmt.Fprintln(os.Stderr, line)
	}
}

// close ends what build made, in the opposite order, whatever came of the run.
func (h *house) close() {
	h.closeLocal()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if h.lease != nil {
		if err := h.lease.Release(ctx); err != nil && !errors.Is(err, store.ErrFenced) {
			h.logger.Debug("release the lease", logkey.Error, err)
		}
	}
	if h.store != nil {
		h.store.Close()
	}
	if h.embedded != nil {
		h.embedded.Close()
	}
}

// closeLocal ends the local Mesos with all tasks; those that are left by now get no more time.
func (h *house) closeLocal() {
	if h.local == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.local.Close(ctx); err != nil {
		h.logger.Warn("end the local Mesos", logkey.Error, err)
	}
	h.local = nil
}
