package launch

import (
	"context"
	"net"
	"time"
)

// How often a port is tried. A server that said it runs answers at once; a program may take minutes, or never listen.
const (
	probePause     = 5 * time.Millisecond
	probePauseMost = 20 * time.Millisecond
	probeLazyMost  = 2 * time.Second
	probeTimeout   = 2 * time.Second
)

// Probe connects to the addresses in turn until one accepts, or ctx ends: it tells which. A connection is the only sign a
// server gives from outside, so it is tried again and again.
func Probe(ctx context.Context, addresses []string, lazily bool) bool {
	longest := probePauseMost
	if lazily {
		longest = probeLazyMost
	}
	dialer := net.Dialer{Timeout: probeTimeout}
	for pause := probePause; ; pause = min(2*pause, longest) {
		for _, address := range addresses {
			connection, err := dialer.DialContext(ctx, "tcp", address)
			if err == nil {
				connection.Close()
				return true
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}
