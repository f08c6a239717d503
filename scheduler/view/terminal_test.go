package view

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// script records each write, in order, in quotes: those to stdout begin with "1 ", those to stderr with "2 ".
type script struct{ bytes.Buffer }

type stream struct {
	s    *script
	name string
}

func (w stream) Write(p []byte) (int, error) {
	fmt.Fprintf(w.s, "%s %q\n", w.name, p)
	return len(p), nil
}

// newTerminal returns a terminal of a clock that stands at 2 s after noon, and what it writes.
func newTerminal(live bool, tasks, width int) (*Terminal, *script) {
	s := &script{}
	return NewTerminal(TerminalConfig{Out: stream{s, "1"}, Err: stream{s, "2"}, Live: live, Width: func() int { return width }, Notes: true,
		Name: "ctr", Tasks: tasks, Now: func() time.Time { return at(2) }}), s
}

func twoTasks() *cluster.Cluster {
	return cluster.New(cluster.Spec{Name: "ctr", Jobs: []cluster.Job{{Name: "ps", Num: 1}, {Name: "worker", Num: 1}}}, 1, "0a1b2c", cluster.Settings{}, noon)
}

func lines(texts ...string) callback.Log {
	var log callback.Log
	for _, text := range texts {
		log.Lines = append(log.Lines, callback.LogLine{Stream: "stdout", Text: text})
	}
	return log
}

var (
	info = cluster.Note{Kind: "subscribed", Text: "registered"}
	bad  = cluster.Note{Kind: "task_failed", Task: worker1, Text: "exit code 1", Bad: true}
	ps0  = tf.TaskName{JobName: "ps"}
)

func TestPlainLinesWithoutATerminal(t *testing.T) {
	term, got := newTerminal(false, 2, 80)
	term.Observe(twoTasks(), []cluster.Note{info, bad})
	term.Tick()
	term.Output(ps0, lines("step 1", "step 2"))
	term.Say("bye")
	term.Close()
	want := `2 "12:00:02.000 ctr        registered\n"
2 "12:00:02.000 worker:1   failed: exit code 1\n"
1 "ps:0 | step 1\nps:0 | step 2\n"
2 "bye\n"
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("written without a terminal (-want +got):\n%s", diff)
	}
}

func TestLiveLinesStayBelowOutputAndBadNews(t *testing.T) {
	term, got := newTerminal(true, 2, 40)
	const clear = `2 "\x1b[2A\x1b[J"` + "\n"
	const drawn = `2 "ps:0         waiting     2.0s  the mast\n"
2 "worker:0     waiting     2.0s  the mast\n"
`
	term.Observe(twoTasks(), []cluster.Note{info, bad})
	term.Tick()
	term.Output(ps0, lines("step 1"))
	term.Close()
	term.Say("the end")
	want := `2 "12:00:02.000 worker:1   failed: exit code 1\n"` + "\n" + drawn + // the good news is in the live lines
		clear + drawn +
		clear + `1 "ps:0 | step 1\n"` + "\n" + drawn +
		`2 "the end\n"` + "\n" // Close leaves the last state where it is
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("written to a terminal of 40 columns (-want +got):\n%s", diff)
	}
}

func TestASingleTasksOutputHasNoPrefix(t *testing.T) {
	term, got := newTerminal(false, 1, 80)
	log := lines("a | b", "")
	log.Dropped = 7
	term.Output(ps0, log)
	if want := "2 \"ps:0: 7 lines of output were dropped\\n\"\n1 \"a | b\\n\\n\"\n"; got.String() != want {
		t.Errorf("written\n%swant\n%s", got, want)
	}
}

func TestManyWritersTearNoLine(t *testing.T) {
	var out, err bytes.Buffer
	term := NewTerminal(TerminalConfig{Out: &out, Err: &err, Live: true, Width: func() int { return 0 }, Tasks: 2, Now: func() time.Time { return noon }})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				term.Output(ps0, lines("whole line"))
				term.Observe(twoTasks(), nil)
				term.Tick()
			}
		})
	}
	group.Wait()
	if want := bytes.Repeat([]byte("ps:0 | whole line\n"), 400); !bytes.Equal(out.Bytes(), want) {
		t.Errorf("stdout has %d bytes, want %d of whole lines", out.Len(), len(want))
	}
}

func TestAReaderOfStdoutThatIsGoneIsNoFault(t *testing.T) {
	reader, writer := io.Pipe()
	reader.Close()
	var err bytes.Buffer
	term := NewTerminal(TerminalConfig{Out: writer, Err: &err, Now: func() time.Time { return noon }})
	term.Output(ps0, lines("step 1"))
	term.Say("still here")
	if err.String() != "still here\n" {
		t.Errorf("stderr has %q", err.String())
	}
}
