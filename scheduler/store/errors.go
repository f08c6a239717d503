package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotFound: nothing is stored under the name.
	ErrNotFound = errors.New("store: no such cluster")
	// ErrFenced: another scheduler leads the cluster now. Nothing was written, and nothing more will be.
	ErrFenced = errors.New("store: another scheduler leads this cluster now")
	// ErrLost: Redis has no record of the lease, so it has lost the run, or somebody has deleted it.
	ErrLost = errors.New("store: redis has lost this cluster")
)

// CorruptError is a record that cannot be read. It is never repaired or skipped: a person decides what to do.
type CorruptError struct {
	// Key is the Redis key, and Field the field of it; empty if the key as a whole is wrong.
	Key, Field string
	// Why is the end of a sentence that begins with the key.
	Why string
}

// Error names the key, the field and what is wrong.
func (e *CorruptError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("store: %s %s", e.Key, e.Why)
	}
	return fmt.Sprintf("store: field %s of %s %s", e.Field, e.Key, e.Why)
}

// HeldError: the cluster is led by a scheduler that lives as far as one can tell.
type HeldError struct {
	Leader Leader
}

// Error says who leads, and until when that is believed.
func (e *HeldError) Error() string {
	l := e.Leader
	return fmt.Sprintf("store: led by process %d on %s since %s (its lease ends at %s)", l.PID, l.Host, formatTime(l.Since), formatTime(l.ExpiresAt))
}

// wrap adds what was being done; it says in words what a person can mend.
func (s *Store) wrap(doing string, err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("store: %s: redis %s gives no answer: %w", doing, s.address, err)
	case strings.HasPrefix(text, "MOVED"), strings.HasPrefix(text, "ASK"):
		return fmt.Errorf("store: %s: redis %s is one node of a Redis Cluster that has the keys elsewhere, which is not supported: %w", doing, s.address, err)
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOAUTH"), strings.Contains(text, "invalid password"):
		return fmt.Errorf("store: %s: redis %s does not take the user and password of the URL: %w", doing, s.address, err)
	}
	return fmt.Errorf("store: %s: redis %s: %w", doing, s.address, err)
}

// wrongType reports whether a key is of another type than it should be. The embedded Redis puts other words before the
// error of a command that a script has done.
func wrongType(err error) bool { return err != nil && strings.Contains(err.Error(), "WRONGTYPE") }

// quote shows a stored value in an error without flooding it.
func quote(value string) string {
	const most = 60
	if len(value) > most {
		return fmt.Sprintf("%q… (%d bytes)", strings.ToValidUTF8(value[:most], ""), len(value))
	}
	return fmt.Sprintf("%q", value)
}
