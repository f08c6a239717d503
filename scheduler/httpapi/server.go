package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/logkey"
	"tfmesos/shared/tf"
)

// Source is the loop, as handlers see it. Both methods may be called by many goroutines at once.
type Source interface {
	// Snapshot returns the published cluster, never nil and never changed afterwards, and a channel that is closed when
	// a newer one is published.
	Snapshot() (*cluster.Cluster, <-chan struct{})
	// Submit hands an event to the loop and returns nil when what follows from it is stored and published. On any
	// error the caller is told 503 and comes again.
	Submit(ctx context.Context, ev cluster.Event) error
}

// Config is what the server must be told.
type Config struct {
	// Listen is HOST:PORT. Port 0 takes a free one. A host that is empty, 0.0.0.0 or [::] means every address of
	// the machine, IPv4 and IPv6.
	Listen string
	// OperatorToken lets people in: all of it may be read and done. It may not be empty.
	OperatorToken string
	// Logs takes the output of tasks' programs, from many goroutines at once; nil drops it. The strings are its own.
	Logs func(task tf.TaskName, launch int, log callback.Log)
	// DownloadDir is the folder of /v0/download; empty: there is none.
	DownloadDir string
	// Logger gets one record a request at Debug, and faults of the server.
	Logger *slog.Logger
	// Limits bound what clients can hold; zero fields have the defaults.
	Limits Limits
}

// Limits bound what one client, or all of them, can hold of the server.
type Limits struct {
	// Read is the time from the first byte of a request to its last, and from a new connection to its first byte;
	// default 10 s. So a client that sends nothing of use is gone after twice that.
	Read time.Duration
	// Write is the time that a client may take to read an answer; default 10 s. A long poll's wait does not count.
	Write time.Duration
	// Idle is how long a connection is kept between two requests; default 60 s.
	Idle time.Duration
	// Connections is how many are served at once, long polls among them; default 4096. One more is told 503.
	Connections int
	// Submit is how long the loop may take to store an event before the caller is told 503; default 10 s.
	Submit time.Duration
	// Close is how long requests under way have to end once Run's context has; default 1 s.
	Close time.Duration
}

// DefaultLimits stand for the zero fields of Config.Limits.
var DefaultLimits = Limits{
	Read:        10 * time.Second,
	Write:       10 * time.Second,
	Idle:        60 * time.Second,
	Connections: 4096,
	Submit:      10 * time.Second,
	Close:       time.Second,
}

// ErrPortTaken is wrapped by New's error when another process has the port.
var ErrPortTaken = errors.New("httpapi: the port is taken")

// Server is the callback API of one scheduler.
type Server struct {
	config         Config
	source         Source
	logger         *slog.Logger
	operatorSHA256 string
	listener       *listener
	connections    connections
	hearings       hearings
}

// New checks the config and binds the address at once, so that Addr is known before any task is launched. Connections
// wait in the kernel until Run. Errors: ErrPortTaken, a bad address, an empty operator token.
func New(config Config, source Source) (*Server, error) {
	if strings.TrimSpace(config.OperatorToken) == "" {
		return nil, errors.New("httpapi: operator token: want one that is not empty, it is what keeps strangers out")
	}
	config.Limits = config.Limits.orDefault()
	ln, err := listen(config.Listen)
	if err != nil {
		return nil, err
	}
	return &Server{
		config:         config,
		source:         source,
		logger:         config.Logger,
		operatorSHA256: cluster.HashToken(config.OperatorToken),
		listener:       ln,
		connections:    connections{open: map[net.Conn]struct{}{}},
		hearings:       hearings{waiting: map[string]struct{}{}, wake: make(chan struct{}, 1)},
	}, nil
}

func (l Limits) orDefault() Limits {
	for _, d := range []struct {
		limit *time.Duration
		value time.Duration
	}{
		{&l.Read, DefaultLimits.Read}, {&l.Write, DefaultLimits.Write}, {&l.Idle, DefaultLimits.Idle},
		{&l.Submit, DefaultLimits.Submit}, {&l.Close, DefaultLimits.Close},
	} {
		if *d.limit == 0 {
			*d.limit = d.value
		}
	}
	if l.Connections == 0 {
		l.Connections = DefaultLimits.Connections
	}
	return l
}

// Addr returns the bound address, with the port that was chosen for port 0.
func (s *Server) Addr() *net.TCPAddr { return s.listener.Addr().(*net.TCPAddr) }

// Run serves until ctx ends, then returns nil within about twice Limits.Close: the listener is closed and long polls are
// answered at once, requests under way may end, then every connection is closed. It returns an error if the listener broke.
// It may be called once.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { s.forwardHearings(ctx) })

	fast := s.fasthttpServer(ctx)
	served := make(chan error, 1)
	running.Go(func() { served <- fast.Serve(s.listener) })
	var broken error
	select {
	case err := <-served:
		broken = fmt.Errorf("serve the callback API on %s: %w", s.Addr(), err)
		cancel()
	case <-ctx.Done():
		s.listener.Close()
		<-served // Shutdown would do nothing if Serve had not begun yet
	}
	s.shutdown(context.WithoutCancel(ctx), fast)
	return broken
}

// shutdown ends what is left after the listener. fasthttp waits for clients that keep a connection open or half a request
// back; this does not.
func (s *Server) shutdown(ctx context.Context, fast *fasthttp.Server) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Limits.Close)
	defer cancel()
	err := fast.ShutdownWithContext(ctx)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return // the only other error is that of closing the listener twice
	}
	select {
	case <-s.connections.closeAll():
	case <-time.After(s.config.Limits.Close):
		s.logger.Warn("requests to the callback API did not end")
	}
}

func (s *Server) fasthttpServer(ctx context.Context) *fasthttp.Server {
	limits := s.config.Limits
	handler := s.handler(ctx)
	return &fasthttp.Server{
		Name:                         "tfmesos",
		Handler:                      handler,
		HeaderReceived:               s.bodyLimit,
		ErrorHandler:                 s.refuseBroken,
		ConnState:                    s.connections.observe,
		Logger:                       serverLog{s.logger},
		ReadBufferSize:               callback.MaxHeader,
		MaxRequestBodySize:           callback.MaxBody,
		ReadTimeout:                  limits.Read,
		WriteTimeout:                 limits.Write,
		IdleTimeout:                  limits.Idle,
		Concurrency:                  limits.Connections,
		ReduceMemoryUsage:            true, // halves the memory of idle polls
		DisablePreParseMultipartForm: true, // it writes files
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
	}
}

// serverLog takes what fasthttp has to say of itself. What it says of a request may quote its header, and so a credential.
type serverLog struct{ logger *slog.Logger }

// Printf is fasthttp.Logger.
func (l serverLog) Printf(format string, args ...any) {
	if !strings.HasPrefix(format, "error when serving connection") {
		l.logger.Warn("callback API", logkey.Error, fmt.Sprintf(format, args...))
	}
}
