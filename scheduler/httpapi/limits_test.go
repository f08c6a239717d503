package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tfmesos/shared/callback"
)

func TestKnownFault074LargeBodiesAreNotRead(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l)
	registration := " " + path(callback.PathRegistration, worker0) + " HTTP/1.1"
	var wg sync.WaitGroup
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"1 GB on a route without a body", operatorRequest("PUT /v0/task/" + idOf(worker0, 2) + "/port/80 HTTP/1.1\r\nContent-Length: 1000000000"), 413},
		{"one byte on a route without a body", operatorRequest("GET /v0/status HTTP/1.1\r\nConnection: close\r\nContent-Length: 1") + "x", 413},
		{"1 GB on a route with one", operatorRequest("PUT" + registration + "\r\nContent-Length: 1000000000"), 413},
		{"more than MaxBody", operatorRequest("PUT" + registration + fmt.Sprintf("\r\nContent-Length: %d", callback.MaxBody+1)), 413},
		{"1 GB of a stranger", "PUT" + registration + "\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n", 401},
		{"16 kB of a stranger", "PUT" + registration + "\r\nHost: x\r\nContent-Length: 16384\r\n\r\n", 401},
		{"1 GB after 100-continue", operatorRequest("PUT" + registration + "\r\nExpect: 100-continue\r\nContent-Length: 1000000000"), 0},
	} {
		for range 10 {
			wg.Go(func() {
				conn := a.dial()
				conn.send(c.text)
				got, _ := conn.answer()
				if got.status == http.StatusContinue {
					got, _ = conn.answer()
				}
				if c.status != 0 && got.status != c.status || !conn.closed() {
					t.Errorf("%s: %d, want %d and a closed connection", c.name, got.status, c.status)
				}
			})
		}
	}
	wg.Go(func() { endlessChunks(t, a, operatorRequest("PUT"+registration+"\r\nTransfer-Encoding: chunked")) })
	a.want(a.call(asOperator, "GET", "/v0/status", ""), 204, "status meanwhile")
	wg.Wait()
	if events := l.submitted(); len(events) > 0 {
		t.Errorf("bodies that are too large made events: %v", events)
	}
}

// endlessChunks sends chunks until the server has had enough.
func endlessChunks(t *testing.T, a *api, head string) {
	conn := a.dial()
	conn.send(head)
	chunk := "1000\r\n" + strings.Repeat("x", 0x1000) + "\r\n"
	for sent := 0; sent < 100*callback.MaxBody; sent += len(chunk) {
		if _, err := conn.Write([]byte(chunk)); err != nil {
			return
		}
	}
	t.Error("the server reads a body without end")
}

func TestKnownFault076ShutdownWaitsForNoClient(t *testing.T) {
	a := serve(t, newLoop(2), func(c *Config) {
		c.Limits.Close = 100 * time.Millisecond
		c.Limits.Read = time.Hour
		c.Limits.Idle = time.Hour
	})
	var conns []*raw
	for range 5 {
		c := a.dial()
		c.send(operatorRequest("GET /v0/status HTTP/1.1"))
		if _, ok := c.answer(); !ok {
			t.Fatal("no answer before the shutdown")
		}
		conns = append(conns, c)
	}
	half := a.dial()
	half.send("GET /v0/sta")
	silent := a.dial()
	a.stop() // hangs if one of them holds it
	for _, c := range append(conns, half, silent) {
		if !c.closed() {
			t.Error("a connection is open after the end of the server")
		}
	}
	if conn, err := net.Dial("tcp", a.addr); err == nil {
		conn.Close()
		t.Error("the port is open after the end of the server")
	}
}

func TestKnownFault077BothFamiliesAndClearErrors(t *testing.T) {
	new := func(listen string) (*Server, error) {
		return New(Config{Listen: listen, OperatorToken: "x", Logger: slog.New(slog.DiscardHandler)}, newLoop(1))
	}
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0"} {
		s, err := new(listen)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"127.0.0.1", "::1"} {
			conn, err := net.Dial("tcp", net.JoinHostPort(host, fmt.Sprint(s.Addr().Port)))
			switch {
			case err == nil:
				conn.Close()
			case host == "127.0.0.1" || hasIPv6():
				t.Errorf("listening on %s: %v", listen, err)
			}
		}
		if _, err := new(fmt.Sprintf(":%d", s.Addr().Port)); !errors.Is(err, ErrPortTaken) {
			t.Errorf("listening on a port twice: %v, want ErrPortTaken", err)
		}
		s.listener.Close()
	}
	for _, listen := range []string{"", "11000", "x:", ":http", ":-1", ":65536", "::1:80", "no.such.host.invalid:0", "192.0.2.1:0"} {
		s, err := new(listen)
		if err == nil {
			s.listener.Close()
			t.Errorf("listening on %q: no error", listen)
		} else if errors.Is(err, ErrPortTaken) || !strings.Contains(err.Error(), listen) {
			t.Errorf("listening on %q: %v, want an error that names it", listen, err)
		}
	}
}

func hasIPv6() bool {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		ln.Close()
	}
	return err == nil
}

func TestKnownFault116SlowClientsAreCut(t *testing.T) {
	a := serve(t, newLoop(2), func(c *Config) {
		c.Limits.Read, c.Limits.Idle = 300*time.Millisecond, 300*time.Millisecond
	})
	var slow []*raw
	for range 20 {
		dripping, bodiless, silent, idle := a.dial(), a.dial(), a.dial(), a.dial()
		go drip(dripping, operatorRequest("GET /v0/status HTTP/1.1"))
		bodiless.send(operatorRequest("PUT " + path(callback.PathRegistration, worker0) + " HTTP/1.1\r\nContent-Length: 100000"))
		idle.send(operatorRequest("GET /v0/status HTTP/1.1"))
		if got, _ := idle.answer(); got.status != 204 {
			t.Errorf("status: %d, want 204", got.status)
		}
		slow = append(slow, dripping, bodiless, silent, idle)
	}
	a.want(a.call(asOperator, "GET", "/v0/status", ""), 204, "status meanwhile")
	for _, c := range slow {
		for { // an answer that says why, or none
			if _, ok := c.answer(); !ok {
				break
			}
		}
		if !c.closed() {
			t.Error("a slow client is not cut")
		}
		c.Close()
	}
}

// drip sends a byte now and then until the connection is closed.
func drip(c *raw, text string) {
	for i := range len(text) {
		if _, err := c.Write([]byte{text[i]}); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond) // being slow is what it is for
	}
}

func TestOneConnectionTooManyIsTold(t *testing.T) {
	a := serve(t, newLoop(2), func(c *Config) { c.Limits.Connections = 2 })
	var conns []*raw
	for range 2 {
		c := a.dial()
		c.send(operatorRequest("GET /v0/status HTTP/1.1"))
		if _, ok := c.answer(); !ok {
			t.Fatal("no answer")
		}
		conns = append(conns, c)
	}
	more := a.dial()
	if got, _ := more.answer(); got.status != 503 || !more.closed() {
		t.Errorf("the third of two connections: %d, want 503 and closed", got.status)
	}
	conns[0].send(operatorRequest("GET /v0/status HTTP/1.1"))
	if got, _ := conns[0].answer(); got.status != 204 {
		t.Errorf("the first connection after it: %d, want 204", got.status)
	}
}

func TestRunEndsWithAnErrorWhenTheListenerBreaks(t *testing.T) {
	l := newLoop(1)
	s, err := New(Config{Listen: "127.0.0.1:0", OperatorToken: "x", Logger: slog.New(slog.DiscardHandler)}, l)
	if err != nil {
		t.Fatal(err)
	}
	s.listener.Listener.Close()
	s.listener.Listener = brokenListener{s.listener.Listener}
	if err := s.Run(context.Background()); !errors.Is(err, errBroken) {
		t.Errorf("Run: %v, want the error of the listener", err)
	}
}

var errBroken = errors.New("broken")

type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errBroken }

func TestAFaultInAHandlerDoesNotEndTheScheduler(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
	l.mu.Lock()
	good := l.current
	l.current = nil
	l.mu.Unlock()
	a.want(a.call(asOperator, "GET", callback.PathCluster, ""), 500, "a request into a fault")
	l.mu.Lock()
	l.current = good
	l.mu.Unlock()
	a.want(a.call(asOperator, "GET", callback.PathCluster, ""), 200, "the next request")
}
