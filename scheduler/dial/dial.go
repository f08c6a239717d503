// Package dial finds out when something answers at an address. It is for tasks that have no sidecar of ours to say so.
package dial

import (
	"context"
	"net"
	"time"

	"tfmesos/shared/backoff"
)

// retry spaces the attempts: a server is most often up within a second, and may take minutes to import TensorFlow.
var retry = backoff.Policy{First: 20 * time.Millisecond, Max: time.Second, Factor: 1.5}

// attempt bounds one connection.
const attempt = 5 * time.Second

// Wait connects to host:port until that succeeds, and closes the connection at once; or it returns ctx's error.
func Wait(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: attempt}
	for n := 0; ; n++ {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retry.Delay(n, 1)):
		}
	}
}
