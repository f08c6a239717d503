package mesos

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/local"
	"tfmesos/scheduler/local/faulttest"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// startLocal starts a local Mesos with a heartbeat of the given interval.
func startLocal(t *testing.T, heartbeat time.Duration) *local.Mesos {
	t.Helper()
	m, err := local.Start(t.Context(), local.Config{
		WorkDir: filepath.Join(t.TempDir(), "sandboxes"), Principal: "tester", Secret: "s3cret",
		Resources: local.Resources{CPUs: 4, Mem: 1024}, Logger: slog.New(slog.DiscardHandler), HeartbeatInterval: heartbeat,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return m
}

// faulty is a client whose master is a local Mesos behind a proxy with faults.
type faulty struct {
	*running
	t     *testing.T
	mesos *local.Mesos
	proxy *faulttest.Proxy
}

func startFaulty(t *testing.T, heartbeat time.Duration, change ...func(*timing)) *faulty {
	t.Helper()
	m := startLocal(t, heartbeat)
	p := faulttest.New(t, m.Addr())
	return &faulty{running: start(t, faultyConfig(p.Addr()), "", change...), t: t, mesos: m, proxy: p}
}

func faultyConfig(master string) Config {
	config := testConfig(master)
	config.Principal, config.Secret = "tester", "s3cret"
	return config
}

// subscribed waits for a subscription, and returns the framework id with the proxy's end of the stream.
func (f *faulty) subscribed() (string, *faulttest.Stream) {
	f.t.Helper()
	s := next(f.t, f.proxy.Streams, "subscription")
	return until[cluster.Subscribed](f.t, f.running).FrameworkID, s
}

// until passes over events up to one of the type.
func until[E cluster.Event](t *testing.T, r *running) E {
	t.Helper()
	for {
		if e, ok := next(t, r.events, fmt.Sprintf("%T event", *new(E))).(E); ok {
			return e
		}
	}
}

// updated acknowledges updates up to one that is of the task.
func (f *faulty) updated(task string) cluster.Updated {
	f.t.Helper()
	for {
		u := until[cluster.Updated](f.t, f.running)
		if len(u.UUID) > 0 {
			f.call(cluster.Acknowledge{TaskID: u.TaskID, AgentID: u.AgentID, UUID: u.UUID})
		}
		if u.TaskID == task {
			return u
		}
	}
}

func (f *faulty) call(call cluster.Call) {
	f.t.Helper()
	if err := f.Call(context.Background(), call); err != nil {
		f.t.Errorf("%T: %v", call, err)
	}
}

// accept launches a task that sleeps on the next offer.
func (f *faulty) accept(task string) cluster.Accept {
	f.t.Helper()
	o := until[cluster.Offered](f.t, f.running).Offers[0]
	return cluster.Accept{OfferIDs: []string{o.ID}, AgentID: o.AgentID, Role: "ml", RefuseSeconds: 3600, Launches: []cluster.Launch{{
		TaskID: task, Task: tf.TaskName{JobName: "ps"}, Parts: []offer.Part{{Resources: offer.Resources{CPUs: 1000, Mem: 32000}}}, Argv: []string{"/bin/sleep", "1000"}}}}
}
