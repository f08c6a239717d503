package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// One goroutine of fasthttp keeps the Date header for the whole process.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		// The cleaner of a server that was shut down sleeps on for 10 s at most, then ends.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

const operatorToken = "an operator's token: with a colon"

var (
	ps0     = tf.TaskName{JobName: tf.PS}
	worker0 = tf.TaskName{JobName: tf.Worker}
	worker1 = tf.TaskName{JobName: tf.Worker, TaskIndex: 1}
)

// loop is a Source that knows no more of clusters than that a port is stored, and stays once cluster_def is out.
type loop struct {
	mu      sync.Mutex
	current *cluster.Cluster
	changed chan struct{}
	events  []cluster.Event
	err     error         // what Submit returns
	stuck   chan struct{} // Submit waits for it, or for its context
	arrived chan cluster.Event
}

// newLoop has a cluster of n workers, a chief, a ps and an evaluator, all launched.
func newLoop(workers int) *loop {
	spec := cluster.Spec{Name: "ctr", Jobs: []cluster.Job{
		{Name: tf.Chief, Num: 1}, {Name: tf.PS, Num: 1}, {Name: tf.Evaluator, Num: 1},
		{Name: tf.Worker, Num: workers, Resources: offer.Resources{CPUs: offer.FromFloat(0.5), Mem: offer.FromFloat(1024), GPUs: offer.FromFloat(2)}},
	}}
	settings := cluster.Settings{Callbacks: []string{"http://10.0.0.1:11000"}}
	c := cluster.New(spec, 7, "a1b2c3", settings, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	for i := range c.Tasks {
		launchTask(&c.Tasks[i], 2)
	}
	c.Why = ""
	return &loop{current: c, changed: make(chan struct{}), arrived: make(chan cluster.Event, 100000)}
}

func launchTask(t *cluster.Task, launch int) {
	t.Launch = launch
	t.TaskID = idOf(t.Name, launch)
	t.Phase = cluster.TaskStarting
	t.State = cluster.TaskStateRunning
	t.Why = ""
	t.Address = "10.0.3.14"
	t.Port = 0
	t.TokenSHA256 = cluster.HashToken(tokenOf(t.TaskID))
}

func idOf(name tf.TaskName, launch int) string {
	return fmt.Sprintf("ctr.a1b2c3.%s-%d.%d", name.JobName, name.TaskIndex, launch)
}

func tokenOf(taskID string) string { return cluster.Token([]byte("secret"), taskID) }

func (l *loop) Snapshot() (*cluster.Cluster, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current, l.changed
}

func (l *loop) Submit(ctx context.Context, ev cluster.Event) error {
	l.mu.Lock()
	stuck, err := l.stuck, l.err
	l.events = append(l.events, ev)
	l.mu.Unlock()
	l.arrived <- ev
	if stuck != nil {
		select {
		case <-stuck:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	if reg, ok := ev.(cluster.Registered); ok {
		l.change(func(c *cluster.Cluster) {
			if t := c.Launch(reg.TaskID); t != nil && (c.ClusterDef == nil || t.Port == 0) {
				t.Port = reg.Registration.Port
			}
		})
	}
	return nil
}

// change publishes a new cluster.
func (l *loop) change(edit func(*cluster.Cluster)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.current.Clone()
	edit(next)
	l.current = next
	close(l.changed)
	l.changed = make(chan struct{})
}

// submitted returns the events so far, without the heartbeats.
func (l *loop) submitted() (events []cluster.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range l.events {
		if _, ok := ev.(cluster.Heard); !ok {
			events = append(events, ev)
		}
	}
	return events
}

// complete gives every task a port and the cluster its next generation.
func complete(c *cluster.Cluster) {
	c.ClusterDef = tf.ClusterDef{}
	for i := range c.Tasks {
		t := &c.Tasks[i]
		t.Port = 4000 + i
		c.ClusterDef[t.Name.JobName] = append(c.ClusterDef[t.Name.JobName], tf.JoinAddress(t.Address, t.Port))
	}
	c.Generation++
}

// api is a running server.
type api struct {
	t    *testing.T
	addr string
	loop *loop
	logs *lockedBuffer
	stop func() // ends Run and returns when it has returned
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// serve starts a server on a free port of 127.0.0.1 and ends it with the test.
func serve(t *testing.T, l *loop, edits ...func(*Config)) *api {
	t.Helper()
	logs := &lockedBuffer{}
	config := Config{
		Listen:        "127.0.0.1:0",
		OperatorToken: operatorToken,
		Logger:        slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, edit := range edits {
		edit(&config)
	}
	s, err := New(config, l)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return &api{t: t, addr: s.Addr().String(), loop: l, logs: logs, stop: stop}
}

// answer is a response that was read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// asOperator and asTask are what the two kinds of callers send.
func asOperator(r *http.Request) { r.SetBasicAuth("operator", operatorToken) }

func asTask(name tf.TaskName) func(*http.Request) {
	id := idOf(name, 2)
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+tokenOf(id)) }
}

func asNobody(*http.Request) {}

// call sends one request on a connection of its own.
func (a *api) call(as func(*http.Request), method, target, body string) answer {
	a.t.Helper()
	got, err := a.try(as, method, target, body)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, target, err)
	}
	return got
}

func (a *api) try(as func(*http.Request), method, target, body string) (answer, error) {
	r, err := http.NewRequest(method, "http://"+a.addr+target, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Close = true
	as(r)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(res)
}

func readAnswer(res *http.Response) (answer, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body)}, err
}

// want fails unless the answer has the status.
func (a *api) want(got answer, status int, what string) {
	a.t.Helper()
	if got.status != status {
		a.t.Errorf("%s: answer %d %s, want %d", what, got.status, got.body, status)
	}
}

// raw is one TCP connection, for requests that no client would send.
type raw struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func (a *api) dial() *raw {
	a.t.Helper()
	conn, err := net.Dial("tcp", a.addr)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &raw{a.t, conn, bufio.NewReader(conn)}
}

func (c *raw) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one response; ok is false when the connection ended without one.
func (c *raw) answer() (got answer, ok bool) {
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return answer{}, false
	}
	got, err = readAnswer(res)
	return got, err == nil
}

// closed waits for the server to close the connection.
func (c *raw) closed() bool {
	_, err := c.r.ReadByte()
	var timeout net.Error
	return err != nil && !(errors.As(err, &timeout) && timeout.Timeout())
}

const basicOperator = "Authorization: Basic b3BlcmF0b3I6YW4gb3BlcmF0b3IncyB0b2tlbjogd2l0aCBhIGNvbG9u\r\n"

// operatorRequest is the text of a request with the operator's credentials.
func operatorRequest(line string) string { return line + "\r\nHost: x\r\n" + basicOperator + "\r\n" }

func parse[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("body %q: %v", body, err)
	}
	return v
}

func path(route string, name tf.TaskName) string { return callback.For(route, idOf(name, 2)) }
