//go:build integration

// Package conformance_test holds the local Mesos to what a real one does. Each story is a raw client's talk with a master, in
// protobuf and in JSON; what the master says is written down, with names for ids, and must be the same from a real Mesos and from
// scheduler/local. testdata has what the real one says. docs/stand-in.md has the list of differences that are allowed.
package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	mesosrig "tfmesos/integration/mesos"
	"tfmesos/scheduler/local"
)

const (
	// patience is how long a story waits for what must come; the longest is an update that comes again after 10 s.
	patience = 30 * time.Second
	// principal and secret are demanded by both masters.
	principal, secret = "tester", "s3cret"
)

// master is one of the two that a story is told to.
type master struct {
	name string
	addr string
	// maintain schedules maintenance of the agent's machine, or ends the schedule if the start is zero.
	maintain func(t *testing.T, start time.Time, duration time.Duration)
}

// startStandIn starts a local Mesos for one story.
func startStandIn(t *testing.T) master {
	t.Helper()
	m, err := local.Start(t.Context(), local.Config{
		WorkDir: filepath.Join(t.TempDir(), "sandboxes"), Principal: principal, Secret: secret,
		Resources:  local.Resources{CPUs: 4, Mem: 1024, Disk: 100},
		Attributes: map[string]string{"rack": "r1"},
		Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Logger:     slog.New(slog.DiscardHandler),
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
	return master{name: "the local Mesos", addr: m.Addr(), maintain: func(_ *testing.T, start time.Time, d time.Duration) { m.Maintain(start, d) }}
}

// startMesos starts a real Mesos for all stories: with the same resources, and offers as soon as something is free.
func startMesos(t *testing.T) master {
	t.Helper()
	credentials := filepath.Join(t.TempDir(), "credentials.json")
	text := fmt.Sprintf(`{"credentials":[{"principal":%q,"secret":%q}]}`, principal, secret)
	if err := os.WriteFile(credentials, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rig := mesosrig.Start(t,
		mesosrig.WithResources("cpus:4;mem:1024;disk:100;ports:[]"), mesosrig.WithAttributes("rack:r1"),
		mesosrig.WithMasterFlag("allocation_interval", "10ms"),
		mesosrig.WithMasterFlag("authenticate_http_frameworks", "true"),
		mesosrig.WithMasterFlag("http_framework_authenticators", "basic"),
		mesosrig.WithMasterFlag("credentials", credentials))
	return master{name: "Mesos 1.11.0", addr: rig.Master(), maintain: func(t *testing.T, start time.Time, d time.Duration) {
		t.Helper()
		var windows []any
		if !start.IsZero() {
			windows = []any{map[string]any{
				"machine_ids":    []any{map[string]any{"hostname": "localhost", "ip": "127.0.0.1"}},
				"unavailability": map[string]any{"start": nanoseconds(start.UnixNano()), "duration": nanoseconds(int64(d))},
			}}
		}
		body, _ := json.Marshal(map[string]any{"windows": windows})
		response, err := http.Post("http://"+rig.Master()+"/master/maintenance/schedule", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
			t.Fatalf("schedule maintenance: %s: %s", response.Status, text)
		}
	}}
}

func nanoseconds(n int64) map[string]any { return map[string]any{"nanoseconds": n} }
