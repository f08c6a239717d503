package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"tfmesos/scheduler/offer"
	"tfmesos/shared/logkey"
)

// ErrConfig is what Start's errors about its Config wrap.
var ErrConfig = errors.New("local: config")

// Resources is what the agent has to offer.
type Resources struct {
	CPUs float64 // CPUs, more than 0
	Mem  float64 // MiB, more than 0
	Disk float64 // MiB
	GPUs bool    // the devices of this machine, for which nvidia-smi is asked: that takes a while
}

// Config says how a local Mesos is to be.
type Config struct {
	// WorkDir is the absolute path of the folder of the sandboxes. The
	// sandbox of a task is WorkDir/<task_id>, with the files stdout and stderr.
	WorkDir string
	// Principal and Secret are demanded with each request (HTTP Basic). Both
	// are needed: an open port would let any user of this host run commands as you.
	Principal, Secret string
	// Resources is what the agent has.
	Resources Resources
	// Attributes of the agent, each a text.
	Attributes map[string]string
	// Env is the environment of the agent, as NAME=value: what each task starts
	// from. A task's own variables win over it.
	Env []string
	// Logger gets what happens at Debug, and refusals at Warn.
	Logger *slog.Logger
	// HeartbeatInterval is the time between heartbeats of a subscription. Default 15 s.
	HeartbeatInterval time.Duration
}

func (c Config) validate() error {
	r := c.Resources
	for _, v := range []float64{r.CPUs, r.Mem, r.Disk} {
		if math.IsNaN(v) || v < 0 || v > maxScalar {
			return fmt.Errorf("%w: resources %+v: each is a number from 0 to %g", ErrConfig, r, float64(maxScalar))
		}
	}
	switch {
	case !filepath.IsAbs(c.WorkDir):
		return fmt.Errorf("%w: work dir %q is not an absolute path", ErrConfig, c.WorkDir)
	case c.Principal == "" || c.Secret == "":
		return fmt.Errorf("%w: principal and secret are both needed", ErrConfig)
	case r.CPUs == 0 || r.Mem == 0:
		return fmt.Errorf("%w: an agent without cpus or mem can run nothing", ErrConfig)
	case c.Logger == nil:
		return fmt.Errorf("%w: a logger is needed", ErrConfig)
	case c.HeartbeatInterval < 0:
		return fmt.Errorf("%w: heartbeat interval %v is negative", ErrConfig, c.HeartbeatInterval)
	}
	return nil
}

// Mesos is a running local Mesos.
type Mesos struct {
	config   Config
	log      *slog.Logger
	id       string // of the master, a UUID
	agentID  string
	total    offer.Resources
	listener net.Listener
	server   *http.Server
	forks    *mailbox[*task] // tasks for the forking thread to start
	wake     chan struct{}   // capacity 1: the clock looks again
	stop     chan struct{}   // closed when the clock is to end

	serving sync.WaitGroup // the accept loop
	conns   sync.WaitGroup // one for each open connection
	running sync.WaitGroup // one for each task until its process group is gone
	loops   sync.WaitGroup // the clock, the forking thread
	closing sync.Once

	mu          sync.Mutex
	closed      bool
	mode        Mode
	timing      timing
	frameworks  map[string]*framework
	completed   []string // ids of removed frameworks, the newest last
	offers      map[string]*openOffer
	tasks       map[taskKey]*task
	devices     devices
	maintenance maintenance
	turn        int // of the allocator, counts offers
	sequence    struct{ framework, offer int }
}

// timing is apart so that tests need not wait as long as a user may.
type timing struct {
	resend    time.Duration // until an unacknowledged update is sent again, then doubled
	resendMax time.Duration
	refuseMin time.Duration // a declined offer does not come back sooner
}

// Start starts a local Mesos that runs until Close; ctx is for the start alone.
// Its errors wrap ErrConfig or are those of listening.
func Start(ctx context.Context, config Config) (*Mesos, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.HeartbeatInterval == 0 {
		config.HeartbeatInterval = 15 * time.Second
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for schedulers: %w", err)
	}
	var gpus []string
	if config.Resources.GPUs {
		gpus = findGPUs(ctx, config.Env, config.Logger)
	}
	m := newMesos(config, gpus, listener)
	m.serving.Go(func() { _ = m.server.Serve(listener) }) // ends with Close, which is its only error
	m.loops.Go(m.runClock)
	m.loops.Go(m.forkTasks)
	m.log.Debug("local Mesos listens", logkey.Master, m.Addr(), logkey.AgentID, m.agentID)
	return m, nil
}

// newMesos makes a Mesos that does not run yet.
func newMesos(config Config, gpus []string, listener net.Listener) *Mesos {
	r, id := config.Resources, newUUID().String()
	m := &Mesos{
		config: config, log: config.Logger, id: id, agentID: id + "-S0",
		total:    offer.Resources{CPUs: offer.FromFloat(r.CPUs), Mem: offer.FromFloat(r.Mem), Disk: offer.FromFloat(r.Disk), GPUs: offer.FromFloat(float64(len(gpus)))},
		devices:  newDevices(gpus),
		listener: listener,
		forks:    newMailbox[*task](),
		wake:     make(chan struct{}, 1), stop: make(chan struct{}),
		timing:     timing{resend: 10 * time.Second, resendMax: 10 * time.Minute, refuseMin: time.Second},
		frameworks: map[string]*framework{}, offers: map[string]*openOffer{}, tasks: map[taskKey]*task{},
		maintenance: maintenance{asked: map[mesos.OfferID]*framework{}},
	}
	m.server = &http.Server{
		Handler:           http.HandlerFunc(m.serveHTTP),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(m.log.Handler(), slog.LevelDebug),
		ConnState:         m.countConn,
	}
	return m
}

// Addr is where the master listens, as "127.0.0.1:port".
func (m *Mesos) Addr() string { return m.listener.Addr().String() }

// countConn lets Close wait for the goroutine of each connection.
func (m *Mesos) countConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		m.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		m.conns.Done()
	}
}

// Close ends the master and every task: SIGTERM at once, SIGKILL when ctx is
// done, or, if ctx has no deadline, after the task's grace period. It returns
// when no process of a task and no goroutine is left. Further calls do nothing.
func (m *Mesos) Close(ctx context.Context) error {
	var err error
	m.closing.Do(func() { err = m.close(ctx) })
	return err
}

func (m *Mesos) close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	deadline, bounded := ctx.Deadline()
	for _, t := range m.tasks {
		until := time.Now().Add(t.grace(nil))
		if bounded {
			until = deadline
		}
		m.kill(t, until)
	}
	m.settle()
	m.mu.Unlock()

	err := m.server.Close()
	m.serving.Wait()
	_ = m.server.Close() // again, for a connection that was accepted at that moment
	m.conns.Wait()
	defer context.AfterFunc(ctx, m.killNow)()
	m.running.Wait()
	close(m.stop)
	m.forks.close()
	m.loops.Wait()
	if err != nil {
		return fmt.Errorf("close the listener: %w", err)
	}
	return nil
}

// killNow kills what is left without further grace.
func (m *Mesos) killNow() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tasks {
		m.kill(t, time.Now())
	}
	m.settle()
}

// settle is called before m.mu is unlocked by who has changed the state.
func (m *Mesos) settle() {
	if !m.closed {
		m.allocate(time.Now())
		m.askBack(time.Now())
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// uuid is a random UUID (version 4).
type uuid [16]byte

func newUUID() (u uuid) {
	_, _ = rand.Read(u[:]) // never fails: crypto/rand ends the program instead
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

// validUUID tells whether the bytes are a UUID of one of the usual versions.
func validUUID(u []byte) bool {
	return len(u) == 16 && u[8]&0xc0 == 0x80 && u[6]>>4 >= 1 && u[6]>>4 <= 5
}

// String is the usual form, in groups of 8-4-4-4-12 hexadecimal digits.
func (u uuid) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
