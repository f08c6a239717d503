package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

func TestHealthIsToldToAnyone(t *testing.T) {
	a := serve(t, newLoop(2))
	if got := a.call(asNobody, "GET", callback.PathHealth, ""); got.status != 200 || got.body != "ok" {
		t.Errorf("GET /healthz: %d %q, want 200 ok", got.status, got.body)
	}
}

func TestARegistrationIsStoredAndAnswered(t *testing.T) {
	a := serve(t, newLoop(2))
	got := a.call(asTask(worker1), "PUT", path(callback.PathRegistration, worker1),
		`{"port": 41873, "address": "[fd00::5]:41873", "hostname": "a7", "version": "1", "of_a_newer_sidecar": 1}`)
	a.want(got, 200, "registration")
	want := callback.Registered{JobName: "worker", TaskIndex: 1, Callbacks: []string{"http://10.0.0.1:11000"}}
	if diff := cmp.Diff(want, parse[callback.Registered](t, got.body)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	wantEvents := []cluster.Event{cluster.Registered{TaskID: idOf(worker1, 2),
		Registration: callback.Registration{Port: 41873, Address: "[fd00::5]:41873", Hostname: "a7", Version: "1"}}}
	if diff := cmp.Diff(wantEvents, a.loop.submitted()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAnotherPortIsAConflictOnceClusterDefIsOut(t *testing.T) {
	l := newLoop(2)
	l.change(complete)
	a := serve(t, l)
	port := l.current.Task(worker1).Port
	a.want(a.call(asTask(worker1), "PUT", path(callback.PathRegistration, worker1), `{"port": 9}`), 409, "another port in /v1")
	a.want(a.call(asTask(worker1), "PUT", strings.Replace(path(callback.PathV0Port, worker1), "{port}", "9", 1), ""), 409, "another port in /v0")
	a.want(a.call(asTask(worker1), "PUT", path(callback.PathRegistration, worker1), fmt.Sprintf(`{"port": %d}`, port)), 200, "the same port")
}

func TestBodiesThatAreWrongAreRefusedWithTheReason(t *testing.T) {
	a := serve(t, newLoop(2))
	for _, c := range []struct{ method, path, body, reason string }{
		{"PUT", callback.PathRegistration, ``, "body"},
		{"PUT", callback.PathRegistration, `{"port": 1} {}`, "body"},
		{"PUT", callback.PathRegistration, `{"port": "80"}`, "body"},
		{"PUT", callback.PathRegistration, `{"port": 0}`, "port 0"},
		{"PUT", callback.PathRegistration, `{"port": 65536}`, "port 65536"},
		{"PUT", callback.PathRegistration, `{"port": 1, "address": "a:1\nb:2"}`, "address"},
		{"PUT", callback.PathRegistration, `{"port": 1, "address": ":80"}`, "address"},
		{"PUT", callback.PathRegistration, `{"port": 1, "address": "fd00::5:80"}`, "address"},
		{"PUT", callback.PathRegistration, `{"port": 1, "hostname": "\u001b[2J"}`, "hostname"},
		{"PUT", callback.PathPhase, `{"phase": "dancing", "at": "2026-01-31T12:00:00Z"}`, "dancing"},
		{"PUT", callback.PathPhase, `{"phase": "serving"}`, "at"},
		{"POST", callback.PathLog, `{"lines": [{"stream": "stdin", "text": ""}]}`, "lines[0].stream"},
		{"POST", callback.PathLog, `{"lines": [{"stream": "stdout", "text": "a\nb"}]}`, "lines[0].text"},
		{"POST", callback.PathLog, `{"dropped": -1}`, "dropped"},
	} {
		got := a.call(asTask(worker0), c.method, path(c.path, worker0), c.body)
		if reason := parse[callback.Error](t, got.body).Error; got.status != 400 || !strings.Contains(reason, c.reason) {
			t.Errorf("%s %s %s: %d %q, want 400 that names %s", c.method, c.path, c.body, got.status, reason, c.reason)
		}
	}
	if events := a.loop.submitted(); len(events) > 0 {
		t.Errorf("refused bodies became events: %v", events)
	}
}

func TestAPhaseIsStored(t *testing.T) {
	a := serve(t, newLoop(2))
	got := a.call(asTask(worker0), "PUT", path(callback.PathPhase, worker0),
		`{"phase": "ended", "at": "2026-01-31T12:00:00Z", "exit_code": 3, "cause": "program", "message": "boom"}`)
	a.want(got, 204, "phase")
	want := []cluster.Event{cluster.PhaseReported{TaskID: idOf(worker0, 2), Report: callback.PhaseReport{
		Phase: callback.PhaseEnded, At: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), ExitCode: 3, Cause: callback.CauseProgram, Message: "boom"}}}
	if diff := cmp.Diff(want, a.loop.submitted()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestLogLinesReachTheirTaker(t *testing.T) {
	var gotTask tf.TaskName
	var gotLaunch int
	var gotLog callback.Log
	a := serve(t, newLoop(2), func(c *Config) {
		c.Logs = func(task tf.TaskName, launch int, log callback.Log) { gotTask, gotLaunch, gotLog = task, launch, log }
	})
	a.want(a.call(asTask(worker1), "POST", path(callback.PathLog, worker1), `{"lines": [{"stream": "stderr", "text": "loss 0.1"}], "dropped": 2}`), 204, "log")
	want := callback.Log{Lines: []callback.LogLine{{Stream: "stderr", Text: "loss 0.1"}}, Dropped: 2}
	if gotTask != worker1 || gotLaunch != 2 || !reflect.DeepEqual(gotLog, want) {
		t.Errorf("took %v launch %d %+v, want worker:1 launch 2 %+v", gotTask, gotLaunch, gotLog, want)
	}
}

func TestNothingIsPromisedThatCannotBeStored(t *testing.T) {
	l := newLoop(2)
	l.err = errors.New("Redis is away")
	a := serve(t, l)
	for _, c := range []struct{ method, path, body string }{
		{"PUT", callback.PathRegistration, `{"port": 1}`},
		{"PUT", callback.PathPhase, `{"phase": "serving", "at": "2026-01-31T12:00:00Z"}`},
		{"PUT", strings.Replace(callback.PathV0Port, "{port}", "1", 1), ""},
	} {
		got := a.call(asTask(worker0), c.method, path(c.path, worker0), c.body)
		if got.status != 503 || got.header.Get("Retry-After") == "" || strings.Contains(got.body, "Redis") {
			t.Errorf("%s %s: %d %v %s, want a plain 503 with Retry-After", c.method, c.path, got.status, got.header, got.body)
		}
	}
	a.want(a.call(asTask(worker0), "GET", path(callback.PathClusterDef, worker0), ""), 200, "a poll meanwhile")
	a.want(a.call(asOperator, "GET", callback.PathCluster, ""), 200, "status meanwhile")
}

func TestAStuckStoreIsToldAfterAWhile(t *testing.T) {
	l := newLoop(2)
	l.stuck = make(chan struct{})
	a := serve(t, l, func(c *Config) { c.Limits.Submit = 20 * time.Millisecond })
	a.want(a.call(asTask(worker0), "PUT", path(callback.PathRegistration, worker0), `{"port": 1}`), 503, "registration")
}

// Known fault 71: what an earlier launch says late changes nothing, and it learns that it is over.
func TestKnownFault071AnEarlierLaunchIsTold(t *testing.T) {
	a := serve(t, newLoop(2))
	old := idOf(worker1, 1)
	asOld := func(r *http.Request) { r.SetBasicAuth(old, tokenOf(old)) }
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/v0/task/" + old + "/port/5555", ""},
		{"PUT", "/v0/task/" + old, ""},
		{"PUT", callback.For(callback.PathRegistration, old), `{"port": 5555}`},
		{"PUT", callback.For(callback.PathPhase, old), `{"phase": "ended", "at": "2026-01-31T12:00:00Z", "message": "` + strings.Repeat("x", callback.MaxMessage) + `"}`},
		{"GET", callback.For(callback.PathClusterDef, old), ""},
	} {
		a.want(a.call(asOld, c.method, c.path, c.body), 410, c.method+" "+c.path)
		a.want(a.call(asNobody, c.method, c.path, c.body), 401, c.method+" "+c.path+" without credentials")
	}
	for _, id := range []string{idOf(worker1, 3), "ctr.ffffff.worker-1.1", "ctr.a1b2c3.worker-9.1", "ctr.a1b2c3.worker-1.01", "ctr.a1b2c3.worker-1.0", "x"} {
		a.want(a.call(asOld, "GET", callback.For(callback.PathClusterDef, id), ""), 401, "an id that was never launched: "+id)
	}
	if events := a.loop.submitted(); len(events) > 0 {
		t.Errorf("an old launch made events: %v", events)
	}
}

func TestALaunchThatWentBackToWaitingIsOver(t *testing.T) {
	l := newLoop(2)
	l.change(func(c *cluster.Cluster) {
		task := c.Task(worker1)
		task.Phase, task.TaskID, task.TokenSHA256 = cluster.TaskWaiting, "", ""
	})
	a := serve(t, l)
	a.want(a.call(asTask(worker1), "GET", path(callback.PathClusterDef, worker1), ""), 410, "poll")
}
