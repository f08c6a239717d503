//go:build integration

package blackbox_test

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// transcript keeps what a program writes, and tells those who wait for a line.
type transcript struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed and replaced at each write
	closed  bool
}

func newTranscript() *transcript { return &transcript{changed: make(chan struct{})} }

// Write is for os/exec.
func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.text.Write(p)
	tr.wake()
	return len(p), nil
}

func (tr *transcript) wake() {
	close(tr.changed)
	tr.changed = make(chan struct{})
}

func (tr *transcript) close() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.closed = true
	tr.wake()
}

// lines returns the complete lines so far, whether there can be more, and what tells of more.
func (tr *transcript) lines() ([]string, bool, <-chan struct{}) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	lines := strings.Split(tr.text.String(), "\n")
	if !tr.closed || lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, tr.closed, tr.changed
}

// await returns the match of the first line that has one, or nil if there is none in time or before the end.
func (tr *transcript) await(pattern *regexp.Regexp, within time.Duration) []string {
	timeout := time.After(within)
	for seen := 0; ; {
		lines, closed, changed := tr.lines()
		for _, line := range lines[seen:] {
			if match := pattern.FindStringSubmatch(line); match != nil {
				return match
			}
		}
		seen = len(lines)
		if closed {
			return nil
		}
		select {
		case <-changed:
		case <-timeout:
			return nil
		}
	}
}

// matches returns the matches of all lines so far.
func (tr *transcript) matches(pattern string) (all [][]string) {
	lines, _, _ := tr.lines()
	for _, line := range lines {
		if match := regexp.MustCompile(pattern).FindStringSubmatch(line); match != nil {
			all = append(all, match)
		}
	}
	return all
}

func (tr *transcript) last() string { return tr.tail(1) }

func (tr *transcript) tail(n int) string {
	lines, _, _ := tr.lines()
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
