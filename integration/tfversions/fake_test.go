//go:build tfversions

package tfversions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// patience is how long a step may take before it is called hung.
const patience = 90 * time.Second

// cluster is the callback API for a ps and a worker, and their sidecars. It hands out cluster_def when it knows both ports.
type cluster struct {
	*httptest.Server
	t       *testing.T
	sidecar []*sidecar

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something below changes
	ports   map[string]int
	phases  map[string]map[callback.Phase]callback.PhaseReport
}

// sidecar is a running one, whose task_id is the name of its job.
type sidecar struct {
	*exec.Cmd
	job    string
	output bytes.Buffer // to be read after the end
	ended  chan struct{}
}

// jobs have one task each.
var jobs = []string{tf.PS, tf.Worker}

// start starts the sidecars of a cluster in server mode; they are gone at the end of the test.
func start(t *testing.T, program string, env ...string) *cluster {
	c := &cluster{t: t, changed: make(chan struct{}), ports: map[string]int{}, phases: map[string]map[callback.Phase]callback.PhaseReport{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+callback.PathRegistration, c.register)
	mux.HandleFunc("GET "+callback.PathClusterDef, c.poll)
	mux.HandleFunc("PUT "+callback.PathPhase, c.report)
	mux.HandleFunc("POST "+callback.PathLog, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	c.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		for _, s := range c.sidecar {
			_ = s.Process.Kill() // it has ended before, unless the test failed; its Python then ends with it
			<-s.ended
			if t.Failed() {
				t.Logf("output of %s:\n%s", s.job, &s.output)
			}
		}
		c.CloseClientConnections()
		c.Close()
	})
	for _, job := range jobs {
		c.phases[job] = map[callback.Phase]callback.PhaseReport{}
	}
	for _, job := range jobs {
		c.start(program, job, env)
	}
	return c
}

func (c *cluster) start(program, job string, env []string) {
	s := &sidecar{Cmd: exec.Command(program), job: job, ended: make(chan struct{})}
	s.Stdout, s.Stderr, s.Dir = &s.output, &s.output, c.t.TempDir()
	s.WaitDelay = time.Second // a process that is left must not keep its pipes open for us
	s.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "TF_CPP_MIN_LOG_LEVEL=2",
		"TFMESOS_TASK_ID=" + job, "TFMESOS_TOKEN=s3cr3t-t0ken", "TFMESOS_CALLBACK=" + c.URL, "TFMESOS_CLUSTER=demo",
		"TFMESOS_JOB_NAME=" + job, "TFMESOS_TASK_INDEX=0", "TFMESOS_GPUS=0"}, env...)
	if err := s.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.sidecar = append(c.sidecar, s)
	go func() { _ = s.Wait(); close(s.ended) }()
}

func (c *cluster) register(w http.ResponseWriter, r *http.Request) {
	var body callback.Registration
	c.read(r, &body)
	job := r.PathValue("task_id")
	c.change(func() { c.ports[job] = body.Port })
	c.write(w, callback.Registered{JobName: job})
}

// poll holds the request until there is news.
func (c *cluster) poll(w http.ResponseWriter, r *http.Request) {
	held := time.After(callback.MaxWaitSeconds * time.Second)
	for {
		a, changed := c.assignment()
		if fmt.Sprint(a.Generation) != r.URL.Query().Get(callback.QueryGeneration) {
			c.write(w, a)
			return
		}
		select {
		case <-changed:
		case <-held:
			c.write(w, a)
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (c *cluster) report(w http.ResponseWriter, r *http.Request) {
	var body callback.PhaseReport
	c.read(r, &body)
	c.change(func() { c.phases[r.PathValue("task_id")][body.Phase] = body })
	w.WriteHeader(http.StatusNoContent)
}

func (c *cluster) read(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil && r.Context().Err() == nil {
		c.t.Errorf("%s %s: body: %v", r.Method, r.URL.Path, err)
	}
}

func (c *cluster) write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // a sidecar that is gone needs no answer
}

func (c *cluster) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

// assignment returns what a sidecar would be told, and what is closed when that may be another.
func (c *cluster) assignment() (callback.Assignment, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ports) < len(jobs) {
		return callback.Assignment{}, c.changed
	}
	d := tf.ClusterDef{}
	for job, port := range c.ports {
		d[job] = []string{tf.JoinAddress("127.0.0.1", port)}
	}
	return callback.Assignment{Generation: 1, ClusterDef: d}, c.changed
}

// phase waits until the sidecar reports the phase; the end of the sidecar without it fails the test.
func (c *cluster) phase(s *sidecar, p callback.Phase) callback.PhaseReport {
	c.t.Helper()
	limit := time.After(patience)
	for {
		c.mu.Lock()
		report, found := c.phases[s.job][p]
		ended, changed := c.phases[s.job][callback.PhaseEnded], c.changed
		c.mu.Unlock()
		switch {
		case found:
			return report
		case ended.Phase != "":
			c.t.Fatalf("%s ended before it was %s: %s", s.job, p, strings.TrimSpace(ended.Message))
		}
		select {
		case <-changed:
		case <-limit:
			c.t.Fatalf("%s is not %s after %s", s.job, p, patience)
		}
	}
}

// end stops the sidecars, and with them the servers.
func (c *cluster) end() {
	c.t.Helper()
	for _, s := range c.sidecar {
		if err := s.Process.Signal(syscall.SIGTERM); err != nil {
			c.t.Errorf("end %s: %v", s.job, err)
		}
	}
	for _, s := range c.sidecar {
		select {
		case <-s.ended:
		case <-time.After(patience):
			c.t.Fatalf("the sidecar of %s still runs %s after SIGTERM", s.job, patience)
		}
		if code := s.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
			c.t.Errorf("the sidecar of %s ended with %d", s.job, code)
		}
	}
}
