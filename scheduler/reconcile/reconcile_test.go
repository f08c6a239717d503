package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// TestStories plays testdata/stories: start ID…, seen ID…, advance DURATION. After each the round is ticked, and printed is
// the time, what is asked then, and when it is due again. Run with -rewrite after a change and read the difference.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var r Round
		begin := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		now := begin
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			var words []string
			for _, arg := range td.CmdArgs {
				words = append(words, arg.Key)
			}
			switch td.Cmd {
			case "start":
				r = Start(words, now)
			case "seen":
				for _, id := range words {
					r = r.Seen(id)
				}
			case "advance":
				step, err := time.ParseDuration(words[0])
				if err != nil {
					t.Fatal(err)
				}
				now = now.Add(step)
			default:
				t.Fatalf("%s: unknown command %q", td.Pos, td.Cmd)
			}
			var asked []string
			r, asked = r.Tick(now)
			due := "never"
			if at := r.Due(); !at.IsZero() {
				due = at.Sub(begin).String()
			}
			return fmt.Sprintf("t=%s ask=%v due=%s\n", now.Sub(begin), asked, due)
		})
	})
}

func TestTheZeroRoundAsksForNothing(t *testing.T) {
	r, asked := Round{}.Seen("a").Tick(time.Now())
	if len(asked) > 0 || !r.Due().IsZero() || len(r.Remaining()) > 0 {
		t.Errorf("asks %v, due %v, remaining %v", asked, r.Due(), r.Remaining())
	}
}

// model is what somebody who only watches a round knows of it.
type model struct {
	round Round
	now   time.Time
	open  map[string]bool // started and not answered
	asked time.Time       // the last asking since the start; zero: none
	delay time.Duration   // that came before the last asking
}

func (m *model) start(t *rapid.T, ids []string) {
	m.round, m.asked, m.delay, m.open = Start(ids, m.now), time.Time{}, 0, map[string]bool{}
	for _, id := range ids {
		m.open[id] = true
	}
	m.tick(t)
	if len(ids) > 0 && m.asked != m.now {
		t.Fatal("a new round does not ask at once")
	}
}

// tick checks what is asked now: all that is open and nothing else, not before it is due, and ever more rarely but for
// the longest delay.
func (m *model) tick(t *rapid.T) {
	due := m.round.Due()
	next, asked := m.round.Tick(m.now)
	m.round = next
	for _, id := range asked {
		if !m.open[id] {
			t.Fatalf("%s is asked about; it has been answered for, or never was in the round", id)
		}
	}
	if isDue := len(m.open) > 0 && !m.now.Before(due); isDue != (len(asked) > 0) {
		t.Fatalf("at %v, due %v, with %d tasks open, %v are asked", m.now, due, len(m.open), asked)
	}
	if len(asked) == 0 {
		return
	}
	if len(asked) != len(m.open) || !slices.IsSorted(asked) {
		t.Fatalf("%v are asked of %v", asked, m.open)
	}
	delay := m.round.Due().Sub(m.now)
	if delay < Policy.First || delay > Policy.Max || delay < m.delay {
		t.Fatalf("the next asking is due in %v after %v, want from %v to %v", delay, m.delay, Policy.First, Policy.Max)
	}
	m.asked, m.delay = m.now, delay
}

func TestATaskThatWasAnsweredForIsNeverAskedAboutAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringMatching(`[a-e]`), func(id string) string { return id })
		m := &model{now: time.Unix(0, 0)}
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) { m.start(t, ids.Draw(t, "ids")) },
			"seen": func(t *rapid.T) {
				id, before := rapid.StringMatching(`[a-e]`).Draw(t, "id"), m.round
				open := before.Remaining()
				m.round = m.round.Seen(id)
				delete(m.open, id)
				if !slices.Equal(before.Remaining(), open) {
					t.Fatalf("the round before has changed from %v to %v", open, before.Remaining())
				}
			},
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{1, 999, 1000, 30_000, 100_000}).Draw(t, "ms")) * time.Millisecond)
				m.tick(t)
			},
			"": func(t *rapid.T) {
				if open := m.round.Remaining(); len(open) != len(m.open) || m.round.Due().IsZero() != (len(open) == 0) {
					t.Fatalf("remaining %v, due %v; open are %v", open, m.round.Due(), m.open)
				}
			},
		})
	})
}

func TestDelaysDoubleUntilTheyAreTruncatedAndNeverEnd(t *testing.T) {
	now := time.Unix(0, 0)
	r := Start([]string{"a"}, now)
	var delays []string
	for range 100 {
		var asked []string
		if r, asked = r.Tick(now); len(asked) != 1 {
			t.Fatalf("after delays of %v nothing is asked", delays)
		}
		delays = append(delays, r.Due().Sub(now).String())
		now = r.Due()
	}
	if got := strings.Join(delays[:9], " "); got != "1s 2s 4s 8s 16s 32s 1m0s 1m0s 1m0s" || delays[99] != "1m0s" {
		t.Errorf("the delays are %s … %s", got, delays[99])
	}
}
