package launch

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listen listens with or without SO_REUSEADDR, which Go sets by itself.
func listen(t *testing.T, address string, reuse int) (net.Listener, error) {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, reuse) })
	}}
	return config.Listen(t.Context(), "tcp", address)
}

func held(t *testing.T) *Port {
	t.Helper()
	p, err := HoldPort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestHeldPortGoesToItsServerAndToNobodyElse(t *testing.T) {
	port := strconv.Itoa(held(t).Number())
	for _, host := range []string{"127.0.0.1", "0.0.0.0", ""} {
		if l, err := listen(t, net.JoinHostPort(host, port), 0); err == nil {
			l.Close()
			t.Errorf("a program that does not know of the hold could listen at %q", host)
		}
		l, err := listen(t, net.JoinHostPort(host, port), 1)
		if err != nil {
			t.Errorf("the server cannot listen at %q: %v", host, err)
			continue
		}
		l.Close()
	}
}

func TestHeldPortIsNeverChosenForOthers(t *testing.T) {
	port := held(t).Number()
	var taken []net.Listener
	defer func() {
		for _, l := range taken {
			l.Close()
		}
	}()
	for i := range 1000 {
		l, err := net.Listen("tcp", []string{"127.0.0.1:0", "0.0.0.0:0", ":0"}[i%3])
		if err != nil {
			t.Skipf("no more sockets after %d: %v", i, err)
		}
		taken = append(taken, l)
		if l.Addr().(*net.TCPAddr).Port == port {
			t.Fatalf("port %d is held and was given to another process", port)
		}
	}
}

func TestKnownFault087PortIsHeldWithoutIPv6(t *testing.T) {
	p, err := hold(unix.AF_INET, &unix.SockaddrInet4{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", p.Number()))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestProbeTellsOfTheFirstAnswer(t *testing.T) {
	p := held(t)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number()))
	answered := make(chan bool, 1)
	go func() { answered <- Probe(t.Context(), []string{address}, false) }()
	select {
	case <-answered:
		t.Fatal("the hold itself was taken for a server")
	case <-time.After(50 * time.Millisecond):
	}
	l, err := listen(t, address, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !<-answered {
		t.Error("the server was not noticed")
	}
}

func TestProbeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if Probe(ctx, []string{"127.0.0.1:1"}, true) {
		t.Error("port 1 is said to answer")
	}
}
