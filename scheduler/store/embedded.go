package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Embedded is a Redis inside this process, for runs that need none of their own. It listens on 127.0.0.1 only, asks for a
// random password since other users of the machine can connect, and is gone with the process.
type Embedded struct {
	server *miniredis.Miniredis
	url    string
}

// StartEmbedded starts one on a free port.
func StartEmbedded() (*Embedded, error) {
	secret := make([]byte, 16)
	rand.Read(secret) // never fails
	password := hex.EncodeToString(secret)
	server := miniredis.NewMiniRedis()
	server.RequireAuth(password)
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("store: start the embedded redis: %w", err)
	}
	return &Embedded{server, "redis://default:" + password + "@" + server.Addr() + "/0"}, nil
}

// URL returns the whole redis:// URL with the password, for Open and for `redis-cli -u`.
func (e *Embedded) URL() string { return e.url }

// Close ends it; all that is stored is lost.
func (e *Embedded) Close() { e.server.Close() }
