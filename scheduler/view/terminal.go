package view

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// Terminal writes notes and live lines to stderr and the programs' output to stdout, so that neither tears the other.
type Terminal struct {
	mu     sync.Mutex
	out    io.Writer
	err    io.Writer
	live   bool // err is a terminal: keep one line a task below everything else
	width  func() int
	prefix bool // more than one task can write: name it
	notes  bool // plain lines for notes
	name   string
	shown  int // live lines on the screen now
	now    func() time.Time
	last   *cluster.Cluster
}

// TerminalConfig is what a Terminal needs to know.
type TerminalConfig struct {
	Out, Err io.Writer
	// Live keeps one line a task on Err, of at most Width() columns.
	Live  bool
	Width func() int
	// Notes writes a plain line for each note on Err.
	Notes bool
	// Name is the cluster's; Tasks is how many can write output.
	Name  string
	Tasks int
	Now   func() time.Time
}

// NewTerminal returns a Terminal.
func NewTerminal(cfg TerminalConfig) *Terminal {
	return &Terminal{out: cfg.Out, err: cfg.Err, live: cfg.Live, width: cfg.Width, notes: cfg.Notes, name: cfg.Name, prefix: cfg.Tasks > 1, now: cfg.Now}
}

// Observe shows what has changed.
func (t *Terminal) Observe(c *cluster.Cluster, notes []cluster.Note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = c
	t.clear()
	for _, n := range notes {
		if line := NoteLine(t.name, n, t.now()); t.notes && line != "" && (!t.live || n.Bad) {
			fmt.Fprintln(t.err, line)
		}
	}
	t.draw()
}

// Tick redraws the live lines, whose times go on.
func (t *Terminal) Tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	t.draw()
}

// Output writes lines of a task's program.
func (t *Terminal) Output(task tf.TaskName, log callback.Log) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	var b strings.Builder
	if log.Dropped > 0 {
		fmt.Fprintf(t.err, "%s: %d lines of output were dropped\n", task, log.Dropped)
	}
	for _, line := range log.Lines {
		if t.prefix {
			b.WriteString(task.String() + " | ")
		}
		b.WriteString(line.Text + "\n")
	}
	io.WriteString(t.out, b.String()) // a reader that went away is no reason to end a training
	t.draw()
}

// Driver writes a line of the driver.
func (t *Terminal) Driver(line callback.LogLine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	io.WriteString(t.out, line.Text+"\n") // as in Output
	t.draw()
}

// Say writes lines of ours.
func (t *Terminal) Say(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	for _, line := range lines {
		fmt.Fprintln(t.err, line)
	}
	t.draw()
}

// Close leaves the last state of the live lines on the screen.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown, t.live = 0, false
}

func (t *Terminal) clear() {
	if t.shown > 0 {
		fmt.Fprintf(t.err, "\x1b[%dA\x1b[J", t.shown)
		t.shown = 0
	}
}

func (t *Terminal) draw() {
	if !t.live || t.last == nil {
		return
	}
	for i := range t.last.Tasks {
		line := []rune(TaskLine(&t.last.Tasks[i], t.now()))
		if width := t.width(); width > 0 && len(line) > width-1 {
			line = line[:width-1]
		}
		fmt.Fprintln(t.err, string(line))
		t.shown++
	}
}
