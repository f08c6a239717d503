package httpapi

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// listener is a TCP listener that outlives a shortage of file descriptors.
type listener struct {
	net.Listener
	closed chan struct{}
	once   sync.Once
}

// listen binds HOST:PORT.
func listen(address string) (*listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("httpapi: listen address %q: want HOST:PORT", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return nil, fmt.Errorf("httpapi: listen address %q: port %q: want 0 to 65535", address, port)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "" // Go takes 0.0.0.0 for IPv4 only, "" for both
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(host, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: %w", address, ErrPortTaken)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return &listener{Listener: ln, closed: make(chan struct{})}, nil
}

// shortages are errors of accept that pass; fasthttp would stop serving for good.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED}

// shortageWait is the time between two tries to accept while the machine lacks something.
const shortageWait = 100 * time.Millisecond

// Accept waits for the next connection, through shortages.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err == nil || !isShortage(err) {
			return conn, err
		}
		select {
		case <-time.After(shortageWait):
		case <-l.closed:
		}
	}
}

func isShortage(err error) bool {
	for _, shortage := range shortages {
		if errors.Is(err, shortage) {
			return true
		}
	}
	return false
}

// Close closes the listener; more than once is fine.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// connections knows every open connection, to close them in the end.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
	none chan struct{} // closed when the last one is gone; nil until somebody asks
}

// observe is fasthttp.Server.ConnState.
func (c *connections) observe(conn net.Conn, state fasthttp.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case fasthttp.StateNew:
		c.open[conn] = struct{}{}
	case fasthttp.StateClosed:
		delete(c.open, conn)
		if len(c.open) == 0 && c.none != nil {
			close(c.none)
			c.none = nil
		}
	}
}

// closeAll closes every connection and returns a channel that is closed when their requests have ended. To be called once,
// when no connection comes any more.
func (c *connections) closeAll() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	none := make(chan struct{})
	if len(c.open) == 0 {
		close(none)
		return none
	}
	c.none = none
	for conn := range c.open {
		conn.Close()
	}
	return none
}
