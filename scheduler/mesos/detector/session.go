package detector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"tfmesos/shared/logkey"
)

const (
	sessionTimeout = 10 * time.Second // that of Mesos' own detectors
	dialTimeout    = 3 * time.Second
	// maxPacket bounds an answer; ZooKeeper itself has 1 MiB.
	maxPacket = 4 << 20
	// maxGreeting bounds the first answer of a server, which has 40 bytes. Other protocols begin with what is no such length.
	maxGreeting = 1 << 10
)

// session is a connection to one ensemble, by whichever of its servers answers. It ends with the connection: what the library does
// to go on with another one races (its sendSetWatches reads what its recvLoop writes), and to list anew is as cheap.
type session struct {
	*zk.Conn
	events <-chan zk.Event
	lost   chan struct{} // closed when the connection has broken

	mu      sync.Mutex
	met     bool // a server has answered
	closed  bool
	sockets []net.Conn
	trouble map[string]string // what went wrong last, by server
}

func open(ctx context.Context, e *Ensemble, log *slog.Logger) (*session, error) {
	s := &session{lost: make(chan struct{}), trouble: map[string]string{}}
	conn, events, err := zk.Connect(slices.Clone(e.Servers), sessionTimeout, // which shuffles them
		zk.WithDialer(func(network, address string, _ time.Duration) (net.Conn, error) { return s.dial(ctx, network, address) }),
		zk.WithHostProvider(&turn{}), zk.WithLogger(debugLog{log}), zk.WithLogInfo(false), zk.WithMaxBufferSize(maxPacket))
	if err != nil {
		return nil, err
	}
	s.Conn, s.events = conn, events
	return s, nil
}

// dial connects to one server, and keeps the connection to close it: the library would wait on it after its end.
func (s *session) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.over() {
		return nil, net.ErrClosed
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.trouble[address] = short(err)
		return nil, err
	case s.closed:
		conn.Close()
		return nil, net.ErrClosed
	}
	s.trouble[address] = "no answer"
	s.sockets = append(s.sockets[:0], conn) // the one before is closed by now
	return &greeted{Conn: conn, told: func(err error) { s.note(address, err) }}, nil
}

// over tells whether the session has had its connection.
func (s *session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met || s.closed
}

// note takes what a server has come to: a proper first answer if err is nil, and then, once, the end of the connection.
func (s *session) note(address string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.met, s.trouble = true, map[string]string{} // that of those before does not matter any more
	case s.met && !s.closed:
		s.trouble[address] = "the connection broke: " + short(err)
		select {
		case <-s.lost:
		default:
			close(s.lost)
		}
	case err != io.EOF && !errors.Is(err, net.ErrClosed):
		s.trouble[address] = short(err)
	}
}

// short leaves the addresses out of an error: they are known.
func short(err error) string {
	if opErr := (*net.OpError)(nil); errors.As(err, &opErr) {
		err = opErr.Err
	}
	return err.Error()
}

// why says what each server that was tried has come to.
func (s *session) why(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for address, trouble := range s.trouble {
		if trouble != "" {
			parts = append(parts, address+": "+trouble)
		}
	}
	if len(parts) == 0 {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "zk: "))
	}
	slices.Sort(parts)
	return errors.New(strings.Join(parts, "; "))
}

// close ends the session, and returns when the library has.
func (s *session) close() {
	if s.State() == zk.StateHasSession {
		s.Close() // tells the server
	}
	s.mu.Lock()
	s.closed = true
	for _, socket := range s.sockets {
		socket.Close()
	}
	s.mu.Unlock()
	s.Close()
	for range s.events { // until the library's last goroutine closes it
	}
}

// greeted is a connection that a server must begin with a short packet on, as ZooKeeper does. So a port of something else is told
// as such, and its first bytes are not taken for the length of what to allocate.
type greeted struct {
	net.Conn
	head []byte
	told func(error)
}

var errNoZooKeeper = errors.New("this is no ZooKeeper")

// Read is called from one goroutine.
func (g *greeted) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if err != nil {
		g.told(err)
	}
	if len(g.head) < 4 && n > 0 {
		g.head = append(g.head, p[:min(n, 4-len(g.head))]...)
		switch {
		case len(g.head) < 4:
		case binary.BigEndian.Uint32(g.head) > maxGreeting:
			g.told(errNoZooKeeper)
			return 0, errNoZooKeeper
		default:
			g.told(nil)
		}
	}
	return n, err
}

// turn goes round the servers. Unlike the library's own it resolves no names: the dialer does, each time anew.
type turn struct {
	servers   []string
	at, tried int
}

// Init implements zk.HostProvider.
func (t *turn) Init(servers []string) error {
	t.servers = servers
	return nil
}

// Len implements zk.HostProvider.
func (t *turn) Len() int { return len(t.servers) }

// Next implements zk.HostProvider.
func (t *turn) Next() (server string, round bool) {
	server, round = t.servers[t.at], t.tried >= len(t.servers)
	t.at = (t.at + 1) % len(t.servers)
	t.tried++
	if round {
		t.tried = 1
	}
	return server, round
}

// Connected implements zk.HostProvider.
func (t *turn) Connected() { t.tried = 0 }

// debugLog has what the library says. It says no credentials.
type debugLog struct{ *slog.Logger }

// Printf implements zk.Logger.
func (l debugLog) Printf(format string, args ...any) {
	l.Debug("zookeeper", logkey.Reason, fmt.Sprintf(format, args...))
}
