//go:build integration

package peer_test

import (
	"bytes"
	"strings"
	"sync"
)

// output keeps what a program writes, and tells those who wait for a text.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	waiting []waiting
}

type waiting struct {
	text  string
	times int
	came  chan struct{}
}

// Write is for os/exec.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	o.look()
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// has returns what is closed once the text is there so often.
func (o *output) has(text string, times int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := waiting{text, times, make(chan struct{})}
	o.waiting = append(o.waiting, w)
	o.look()
	return w.came
}

func (o *output) look() {
	for i := len(o.waiting) - 1; i >= 0; i-- {
		if w := o.waiting[i]; strings.Count(o.text.String(), w.text) >= w.times {
			close(w.came)
			o.waiting = append(o.waiting[:i], o.waiting[i+1:]...)
		}
	}
}
