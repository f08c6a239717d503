package dial

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestWaitReturnsOnceSomethingAnswers(t *testing.T) {
	held, err := net.Listen("tcp", "127.77.0.1:0") // an address that no other test uses: the port stays free
	if err != nil {
		t.Fatal(err)
	}
	address := held.Addr().String()
	held.Close()
	waited := make(chan error, 1)
	go func() { waited <- Wait(t.Context(), address) }()
	select {
	case err := <-waited:
		t.Fatalf("nobody listens, and Wait returns %v", err)
	default:
	}
	server, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := <-waited; err != nil {
		t.Errorf("Wait returns %v although the server answers", err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Wait(ctx, "127.0.0.1:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait returns %v", err)
	}
}
