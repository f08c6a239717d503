package httpapi

import (
	"context"
	"fmt"

	"github.com/valyala/fasthttp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// v0Status says "ok" only when the job can be read: tfmesos2's sidecar reads it once, right after the first "ok", and dies
// of an empty cluster_def. A side task is no part of that cluster, and may be over long before the others begin. A task that has
// finished has run: with success: all it may have done so before the peer's sidecar, every 10 s, asks for the first time.
func (s *Server) v0Status(_ context.Context, r *request) error {
	c, _ := s.source.Snapshot()
	if c.ClusterDef == nil {
		r.SetStatusCode(fasthttp.StatusNoContent)
		return nil
	}
	for i := range c.Tasks {
		t := &c.Tasks[i]
		if job := c.Spec.Job(t.Name); job != nil && job.Side {
			continue
		}
		if t.State != cluster.TaskStateRunning && t.State != cluster.TaskStateFinished {
			r.SetStatusCode(fasthttp.StatusNoContent)
			return nil
		}
	}
	answerText(r.RequestCtx, "ok")
	return nil
}

// v0Job answers an operator's question about an unknown task with 200 and nothing, as tfmesos2 does.
func (s *Server) v0Job(_ context.Context, r *request) error {
	c, task, err := s.launch(r)
	if err != nil && r.who.operator {
		r.SetStatusCode(fasthttp.StatusOK)
		return nil
	}
	if err != nil {
		return err
	}
	job := c.Spec.Job(task.Name)
	if job == nil {
		return fmt.Errorf("task %s has no job in the spec", task.Name)
	}
	answerJSON(r.RequestCtx, fasthttp.StatusOK, callback.V0Job{
		JobName:    task.Name.JobName,
		TaskIndex:  task.Name.TaskIndex,
		CPUs:       job.Resources.CPUs.Float(),
		Mem:        job.Resources.Mem.Float(),
		GPUs:       int(job.Resources.GPUs.Float()),
		ClusterDef: v0ClusterDef(c, task.Name),
	})
	return nil
}

// v0ClusterDef is the cluster as the task may see it, the same as in TF_CONFIG; all of it for one that has no place there; {}
// while it is not complete.
func v0ClusterDef(c *cluster.Cluster, name tf.TaskName) tf.ClusterDef {
	if c.ClusterDef == nil {
		return tf.ClusterDef{}
	}
	config, err := tf.ConfigFor(c.ClusterDef, name)
	if err != nil {
		return c.ClusterDef
	}
	return config.Cluster
}

// v0Port is a registration. tfmesos2's sidecar repeats it every 10 s; the same port again costs nothing.
func (s *Server) v0Port(ctx context.Context, r *request) error {
	port, err := parsePort(pathValue(r.RequestCtx, "port"))
	if err != nil {
		return err
	}
	_, task, err := s.launch(r)
	if err != nil {
		return err
	}
	if task.Port == port {
		return nil
	}
	_, _, err = s.register(ctx, r, callback.Registration{Port: port})
	return err
}

// v0Initialised changes nothing: that a task serves comes from a connect of the scheduler's own.
func (s *Server) v0Initialised(_ context.Context, r *request) error {
	_, _, err := s.launch(r)
	return err
}
