package schedclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
	"tfmesos/sidecar/boot"
)

// Either calls a scheduler of which it is not known whether it has /v1: the registration asks /v1, and a 404 that is not in
// the words of /v1 means that it is tfmesos2's, with /v0 alone. It then polls where /v1 would hold the answer back, and keeps
// to itself what /v0 has no route for. Its methods may be called from any goroutine, Register and Poll by one at a time.
type Either struct {
	*Client
	mu sync.Mutex
	v0 bool
	v1 bool

	port       int                 // what was registered
	seen       boot.V0             // of the cluster_def
	assignment callback.Assignment // what Poll has returned last
}

// NewEither returns a client that calls the first URL of the Config only, with Basic credentials; nothing is called yet.
func NewEither(config Config) *Either {
	config.URLs = config.URLs[:1]
	config.Basic = true
	return &Either{Client: New(config)}
}

// OnlyV0 tells whether the scheduler was found to have /v0 alone.
func (e *Either) OnlyV0() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.v0 }

// missing tells whether nobody at that address has this route, so that it may be one of /v0 alone.
func (e *Either) missing(err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	var failed *Error
	return !e.v1 && errors.As(err, &failed) && failed.Status == http.StatusNotFound && failed.failure == boot.Away
}

// Register reports the port.
func (e *Either) Register(ctx context.Context, r callback.Registration) (callback.Registered, error) {
	if !e.OnlyV0() {
		answer, err := e.Client.Register(ctx, r)
		if !e.missing(err) {
			e.mu.Lock()
			e.v1 = e.v1 || err == nil
			e.mu.Unlock()
			return answer, err
		}
	}
	job, err := e.job(ctx)
	if err != nil {
		return callback.Registered{}, err
	}
	path := strings.Replace(callback.For(callback.PathV0Port, e.config.TaskID), "{port}", strconv.Itoa(r.Port), 1)
	if _, _, err := e.ask(ctx, http.MethodPut, e.config.URLs[0]+path, e.config.RequestTimeout, nil); err != nil {
		return callback.Registered{}, err
	}
	e.mu.Lock()
	e.v0 = true
	e.mu.Unlock()
	e.port = r.Port
	return callback.Registered{JobName: job.JobName, TaskIndex: job.TaskIndex}, nil
}

// job reads the job. An empty one means that the scheduler does not know the task_id.
func (e *Either) job(ctx context.Context) (callback.V0Job, error) {
	_, text, err := e.ask(ctx, http.MethodGet, e.config.URLs[0]+callback.For(callback.PathV0Job, e.config.TaskID), e.config.RequestTimeout, nil)
	switch {
	case err != nil && err.Status == http.StatusNotFound:
		return callback.V0Job{}, &Error{failure: boot.Away, err: fmt.Errorf("there is neither /v1 nor /v0, so no scheduler: %w", err.err)}
	case err != nil:
		return callback.V0Job{}, err
	case len(bytes.TrimSpace(text)) == 0:
		return callback.V0Job{}, &Error{failure: boot.Superseded, err: fmt.Errorf("%s does not know the task_id %s: its job is empty", e.host(), e.config.TaskID)}
	}
	var job struct { // without the numbers, which may be of any kind there
		JobName    string        `json:"job_name"`
		TaskIndex  int           `json:"task_index"`
		ClusterDef tf.ClusterDef `json:"cluster_def"`
	}
	if err := decode(e.host(), text, &job); err != nil {
		return callback.V0Job{}, err
	}
	if job.JobName == "" {
		return callback.V0Job{}, &Error{failure: boot.Away, err: fmt.Errorf("%s: the job has no job_name: %s", e.host(), excerpt(text))}
	}
	return callback.V0Job{JobName: job.JobName, TaskIndex: job.TaskIndex, ClusterDef: job.ClusterDef}, nil
}

func (e *Either) host() string {
	_, host, _ := strings.Cut(e.config.URLs[0], "://")
	return host
}

// Poll waits for a complete cluster_def, for callback.MaxWaitSeconds at most; for who has one, it says after that time whether
// it has changed.
func (e *Either) Poll(ctx context.Context, generation int) (callback.Assignment, error) {
	if !e.OnlyV0() {
		return e.Client.Poll(ctx, generation)
	}
	end := time.Now().Add(callback.MaxWaitSeconds * time.Second)
	if generation > 0 {
		return e.look(ctx, end)
	}
	for attempt := 0; ; attempt++ {
		why, err := e.gather(ctx)
		next := time.Now().Add(boot.V0Polling.Delay(attempt, rand.Float64()))
		if err != nil || e.assignment.Generation > 0 || next.After(end) {
			assignment := e.assignment
			assignment.Why = why
			return assignment, err
		}
		if err := until(ctx, next); err != nil {
			return callback.Assignment{}, err
		}
	}
}

// gather asks once, and fills the assignment when the cluster_def is complete; else it says why it is not.
func (e *Either) gather(ctx context.Context) (why string, err error) {
	status, text, failed := e.ask(ctx, http.MethodGet, e.config.URLs[0]+callback.PathV0Status, e.config.RequestTimeout, nil)
	if failed != nil {
		return "", failed
	}
	if status != http.StatusOK || string(bytes.TrimSpace(text)) != "ok" {
		e.seen = e.seen.NotOK()
		return e.seen.Waits(), nil
	}
	job, err := e.job(ctx)
	if err != nil {
		return "", err
	}
	var done bool
	if e.seen, why, done, err = e.seen.OK(job, e.port, time.Now()); err != nil {
		return "", &Error{failure: boot.Useless, err: fmt.Errorf("%s: %w", e.host(), err)}
	}
	if done {
		e.assignment = callback.Assignment{Generation: 1, ClusterDef: job.ClusterDef}
	}
	return why, nil
}

// look waits, and reads the cluster_def again: it is of a new generation when it is whole and another.
func (e *Either) look(ctx context.Context, at time.Time) (callback.Assignment, error) {
	if err := until(ctx, at); err != nil {
		return callback.Assignment{}, err
	}
	job, err := e.job(ctx)
	if err != nil {
		return callback.Assignment{}, err
	}
	if job.ClusterDef.Validate() == nil && !job.ClusterDef.Equal(e.assignment.ClusterDef) {
		e.assignment = callback.Assignment{Generation: e.assignment.Generation + 1, ClusterDef: job.ClusterDef}
	}
	return e.assignment, nil
}

// until waits for a time.
func until(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return &Error{failure: boot.Away, err: ctx.Err()}
	}
}

// Report tells of a phase; /v0 hears only of a server that answers.
func (e *Either) Report(ctx context.Context, r callback.PhaseReport) error {
	if !e.OnlyV0() {
		if err := e.Client.Report(ctx, r); !e.missing(err) {
			return err
		}
	}
	if r.Phase != callback.PhaseServing {
		return nil
	}
	_, _, err := e.ask(ctx, http.MethodPut, e.config.URLs[0]+callback.For(callback.PathV0Initialised, e.config.TaskID), e.config.RequestTimeout, nil)
	if err != nil {
		return err
	}
	return nil
}

// Log hands over output; /v0 takes none, and the sandbox of the task has it anyway.
func (e *Either) Log(ctx context.Context, l callback.Log) error {
	if e.OnlyV0() {
		return nil
	}
	if err := e.Client.Log(ctx, l); !e.missing(err) {
		return err
	}
	return nil
}
