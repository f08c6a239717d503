package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/valyala/fasthttp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

func (s *Server) health(_ context.Context, r *request) error {
	answerText(r.RequestCtx, "ok")
	return nil
}

func (s *Server) cluster(_ context.Context, r *request) error {
	c, _ := s.source.Snapshot()
	answerJSON(r.RequestCtx, fasthttp.StatusOK, StatusOf(c))
	return nil
}

func (s *Server) putRegistration(ctx context.Context, r *request) error {
	var registration callback.Registration
	if err := decode(r, &registration); err != nil {
		return err
	}
	if err := checkRegistration(registration); err != nil {
		return err
	}
	c, task, err := s.register(ctx, r, registration)
	if err != nil {
		return err
	}
	answerJSON(r.RequestCtx, fasthttp.StatusOK, callback.Registered{
		JobName: task.Name.JobName, TaskIndex: task.Name.TaskIndex, Callbacks: callbacksOf(c),
	})
	return nil
}

// register hands a registration to the loop and returns the cluster and the task as they are after it. Whether a port may
// still change is the loop's to say: the port that the task has then is the answer.
func (s *Server) register(ctx context.Context, r *request, registration callback.Registration) (*cluster.Cluster, *cluster.Task, error) {
	if _, _, err := s.launch(r); err != nil {
		return nil, nil, err
	}
	if err := s.submit(ctx, cluster.Registered{TaskID: r.taskID, Registration: registration}); err != nil {
		return nil, nil, err
	}
	c, task, err := s.launch(r)
	switch {
	case err != nil:
		return nil, nil, err
	case task.Port == registration.Port:
		return c, task, nil
	case task.Phase == cluster.TaskEnding || task.Over():
		return nil, nil, errGone
	}
	return nil, nil, refuse(fasthttp.StatusConflict,
		fmt.Sprintf("port %d: the launch has port %d, which is in use in cluster_def", registration.Port, task.Port))
}

// launch returns the cluster as it is now and the task whose current launch the path names.
func (s *Server) launch(r *request) (*cluster.Cluster, *cluster.Task, error) {
	c, _ := s.source.Snapshot()
	if task := c.Launch(r.taskID); task != nil {
		return c, task, nil
	}
	if r.who.operator && !isPastLaunch(c, r.taskID) {
		return nil, nil, errNoTask
	}
	return nil, nil, errGone
}

// submit hands an event to the loop; its error is 503.
func (s *Server) submit(ctx context.Context, ev cluster.Event) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Limits.Submit)
	defer cancel()
	if err := s.source.Submit(ctx, ev); err != nil {
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	return nil
}

// getClusterDef is the long poll. It is also the task's heartbeat, which must not hold it up: it is answered from the
// published cluster even while nothing can be stored.
func (s *Server) getClusterDef(ctx context.Context, r *request) error {
	generation, wait, err := pollQuery(r.QueryArgs())
	if err != nil {
		return err
	}
	if !r.who.operator {
		s.hearings.note(r.taskID)
	}
	late := time.NewTimer(time.Duration(wait) * time.Second)
	defer late.Stop()
	for {
		_, changed := s.source.Snapshot()
		c, task, err := s.launch(r)
		if err != nil {
			return err
		}
		if task.Over() || c.Ended() {
			return errGone
		}
		last := wait == 0 || ctx.Err() != nil
		if last || c.ClusterDef != nil && c.Generation != generation {
			answerJSON(r.RequestCtx, fasthttp.StatusOK, assignmentOf(c))
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-late.C:
			wait = 0
		}
	}
}

func assignmentOf(c *cluster.Cluster) callback.Assignment {
	a := callback.Assignment{Callbacks: callbacksOf(c), Why: c.Why}
	if c.ClusterDef != nil {
		a.Generation, a.ClusterDef = c.Generation, c.ClusterDef
	}
	return a
}

// callbacksOf never returns nil: JSON would have null.
func callbacksOf(c *cluster.Cluster) []string { return append([]string{}, c.Settings.Callbacks...) }

func (s *Server) putPhase(ctx context.Context, r *request) error {
	var report callback.PhaseReport
	if err := decode(r, &report); err != nil {
		return err
	}
	if err := report.Validate(); err != nil {
		return refuse(fasthttp.StatusBadRequest, err.Error())
	}
	if _, _, err := s.launch(r); err != nil {
		return err
	}
	if err := s.submit(ctx, cluster.PhaseReported{TaskID: r.taskID, Report: report}); err != nil {
		return err
	}
	r.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

func (s *Server) postLog(_ context.Context, r *request) error {
	var log callback.Log
	if err := decode(r, &log); err != nil {
		return err
	}
	if err := checkLog(log); err != nil {
		return err
	}
	_, task, err := s.launch(r)
	if err != nil {
		return err
	}
	if s.config.Logs != nil {
		s.config.Logs(task.Name, task.Launch, log)
	}
	r.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// decode reads a JSON body; its strings are copies. Fields that this version does not know are those of a newer sidecar.
func decode(r *request, into any) error {
	if err := json.Unmarshal(r.PostBody(), into); err != nil {
		return refuse(fasthttp.StatusBadRequest, "body: "+strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// maxName is the longest text of a registration in bytes, that of a DNS name.
const maxName = 255

func checkRegistration(reg callback.Registration) error {
	if err := reg.Validate(); err != nil {
		return refuse(fasthttp.StatusBadRequest, err.Error())
	}
	for _, field := range []struct{ name, value string }{{"address", reg.Address}, {"hostname", reg.Hostname}, {"version", reg.Version}} {
		if len(field.value) > maxName || strings.ContainsFunc(field.value, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }) {
			return refuse(fasthttp.StatusBadRequest, fmt.Sprintf("%s: want %d bytes at most, all of them printable", field.name, maxName))
		}
	}
	return nil
}

func checkLog(log callback.Log) error {
	if log.Dropped < 0 {
		return refuse(fasthttp.StatusBadRequest, "dropped: want 0 or more")
	}
	for i, line := range log.Lines {
		if line.Stream != "stdout" && line.Stream != "stderr" {
			return refuse(fasthttp.StatusBadRequest, fmt.Sprintf("lines[%d].stream: want stdout or stderr", i))
		}
		if len(line.Text) > callback.MaxLogLine || strings.Contains(line.Text, "\n") {
			return refuse(fasthttp.StatusBadRequest, fmt.Sprintf("lines[%d].text: want one line of %d bytes at most", i, callback.MaxLogLine))
		}
	}
	return nil
}
