package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/runfile"
	"tfmesos/scheduler/store"
	"tfmesos/shared/logkey"
)

// peek is load, and refuses what can be refused before anything is changed: a run that is alive, and one that was left with
// another spec.
func (h *house) peek(ctx context.Context, spec *cluster.Spec) (*store.Record, error) {
	record, err := h.load(ctx, spec.Name)
	if err != nil || record == nil {
		return nil, err
	}
	if time.Now().Before(record.Leader.ExpiresAt) && !record.Leader.Dead() {
		return nil, alreadyRunning(spec.Name, record.Owner, record.Leader)
	}
	if h.resumes(record) {
		if diff := differences(&record.Cluster.Spec, spec); len(diff) > 0 {
			return nil, usage("%s was left by its scheduler with another spec; differences (< left, > given):\n%s\nrun it with the old spec, or give another --name", spec.Name, strings.Join(diff, "\n"))
		}
		return record, h.run.samePrincipal(spec.Name, record)
	}
	return record, nil
}

// lockName keeps two schedulers of one machine off one name, also when each has a Redis of its own.
func (h *house) lockName(name string) error {
	unlock, err := runfile.Lock(name)
	if errors.Is(err, runfile.ErrHeld) {
		who := ""
		if run, err := runfile.Read(name); err == nil {
			who = fmt.Sprintf(" (process %d, callbacks at %s)", run.PID, run.Address)
		}
		return usage("%s is already running on this machine, started by you%s; see scheduler status %s, or give another --name", name, who, name)
	}
	if err != nil {
		return &outcome{cluster.ExitJobFailed, err.Error()}
	}
	h.unlock = unlock
	return nil
}

// resumes reports whether the record is of a run to go on with. Local tasks are gone with their scheduler.
func (h *house) resumes(record *store.Record) bool {
	return record != nil && !record.Cluster.Ended() && !h.run.Local
}

func alreadyRunning(name string, owner store.Owner, leader store.Leader) error {
	who := "somebody"
	if owner.User != "" {
		who = owner.String()
	}
	return usage("%s is already running: %s started it; its scheduler is process %d on %s since %s; see scheduler status %s, or give another --name",
		name, who, leader.PID, leader.Host, leader.Since.Format(time.RFC3339), name)
}

// claim makes this process the leader of the name and returns a new cluster, or the one that a scheduler before us left.
func (h *house) claim(ctx context.Context, spec cluster.Spec, address string) (*cluster.Cluster, error) {
	self := store.ThisProcess()
	self.Version, self.Address = version, address
	lease, err := h.store.Acquire(ctx, spec.Name, self)
	var held *store.HeldError
	switch {
	case errors.As(err, &held):
		return nil, alreadyRunning(spec.Name, store.Owner{}, held.Leader)
	case err != nil:
		return nil, &outcome{cluster.ExitAway, err.Error()}
	}
	h.lease = lease
	record, err := h.load(ctx, spec.Name) // the leader before us may have written until now
	switch {
	case err != nil:
		return nil, err
	case !h.resumes(record):
		return h.begin(ctx, spec, record)
	}
	if err := h.lease.SaveOwner(ctx, record.Owner); err != nil {
		return nil, &outcome{cluster.ExitAway, err.Error()}
	}
	h.say(fmt.Sprintf("%s: resuming run %d, framework %s, which its scheduler left", spec.Name, record.Cluster.Run, record.Cluster.Framework.ID))
	return record.Cluster, nil
}

// load returns what Redis has of the name, nil if nothing.
func (h *house) load(ctx context.Context, name string) (*store.Record, error) {
	record, err := h.store.Load(ctx, name)
	var corrupt *store.CorruptError
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case errors.As(err, &corrupt):
		return nil, usage("%v; a person must look at it, nothing was changed", err)
	case err != nil:
		return nil, &outcome{cluster.ExitAway, err.Error()}
	}
	return record, nil
}

func (h *house) begin(ctx context.Context, spec cluster.Spec, last *store.Record) (*cluster.Cluster, error) {
	number := 1
	if last != nil {
		number = last.Cluster.Run + 1
	}
	hostname, _ := os.Hostname() // for people only
	owner := store.Owner{User: userName(), Host: hostname, PID: os.Getpid(), Argv: withoutPasswords(os.Args), Batch: batchJob(), Source: h.run.Spec}
	if err := h.lease.SaveOwner(ctx, owner); err != nil {
		return nil, &outcome{cluster.ExitAway, err.Error()}
	}
	return cluster.New(spec, number, randomHex(3), cluster.Settings{}, h.start), nil
}

var passwordInURL = regexp.MustCompile(`(://[^:/@]*:).*@`)

// withoutPasswords hides the passwords of URLs, which a person may have typed as arguments.
func withoutPasswords(argv []string) []string {
	hidden := make([]string, len(argv))
	for i, arg := range argv {
		hidden[i] = passwordInURL.ReplaceAllString(arg, "$1***@")
	}
	return hidden
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
	where := h.run.connection.where(&h.mesos)
	if h.local != nil {
		where = "this machine (a stand-in for Mesos)"
	}
	h.say(
		fmt.Sprintf("%s: run %d, %d tasks on %s; callbacks at %s", c.Spec.Name, c.Run, len(c.Tasks), where, address),
		fmt.Sprintf("%s: state: redis-cli -u %s HGETALL '%s'", c.Spec.Name, h.redisForPeople(), store.TasksKey(c.Spec.Name)),
	)
	switch {
	case h.unplaced:
		h.say(c.Spec.Name + ": constraints do not count on one machine")
	case h.run.Attributes != "": // agents read the same variable, so somebody may have meant them
		h.say(fmt.Sprintf("%s: only agents with MESOS_ATTRIBUTES=%s get tasks", c.Spec.Name, h.run.Attributes))
	}
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

// say tells people something on stderr, in the form they want.
func (h *house) say(lines ...string) {
	for _, line := range lines {
		switch {
		case h.run.LogFormat == "json":
			h.logger.Info(line)
		case h.terminal != nil:
			h.terminal.Say(line)
		default:
			fmt.Fprintln(os.Stderr, line)
		}
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
	if h.unlock != nil {
		h.unlock()
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
