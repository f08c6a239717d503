package backoff

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDelayDoublesUntilItsMaximum(t *testing.T) {
	p := Policy{First: 200 * time.Millisecond, Max: 2 * time.Second, Factor: 2}
	for attempt, want := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		if got := p.Delay(attempt, 0); got != want*time.Millisecond {
			t.Errorf("attempt %d waits at least %v, want %v", attempt, got, want*time.Millisecond)
		}
		if got := p.Delay(attempt, 1); got != 2*want*time.Millisecond {
			t.Errorf("attempt %d waits at most %v, want %v", attempt, got, 2*want*time.Millisecond)
		}
	}
}

func TestDelayOfAPolicyAtItsEdges(t *testing.T) {
	const forever = time.Duration(math.MaxInt64)
	for _, c := range []struct {
		name     string
		policy   Policy
		attempt  int
		fraction float64
		want     time.Duration
	}{
		{"the zero policy never waits", Policy{}, 9, 0.5, 0},
		{"First below zero never waits", Policy{First: -time.Second, Max: time.Second, Factor: 2}, 9, 0.5, 0},
		{"Max below First wins", Policy{First: time.Minute, Max: time.Second, Factor: 2}, 0, 1, time.Second},
		{"Factor 1 stays at First", Policy{First: time.Second, Max: time.Minute, Factor: 1}, math.MaxInt, 1, time.Second},
		{"Factor 0 is taken as 1", Policy{First: time.Second, Max: time.Minute}, 9, 1, time.Second},
		{"Factor NaN is taken as 1", Policy{First: time.Second, Max: time.Minute, Factor: math.NaN()}, 9, 1, time.Second},
		{"a negative attempt is the first", Policy{First: time.Second, Max: time.Minute, Factor: 2}, -3, 1, time.Second},
		{"fraction NaN is taken as 0", Policy{First: time.Second, Max: time.Minute, Factor: 2}, 0, math.NaN(), time.Second / 2},
		{"fraction above 1 is taken as 1", Policy{First: time.Second, Max: time.Minute, Factor: 2}, 0, 7, time.Second},
		{"a huge attempt ends at Max", Policy{First: 1, Max: time.Hour, Factor: 1.001}, math.MaxInt, 1, time.Hour},
		{"a huge factor ends at Max", Policy{First: 1, Max: time.Hour, Factor: math.Inf(1)}, 1, 1, time.Hour},
		{"the longest Max does not overflow", Policy{First: forever, Max: forever, Factor: 2}, math.MaxInt, 1, forever},
	} {
		if got := c.policy.Delay(c.attempt, c.fraction); got != c.want {
			t.Errorf("%s: waits %v, want %v", c.name, got, c.want)
		}
	}
}

func policies(t *rapid.T) Policy {
	return Policy{
		First:  time.Duration(rapid.Int64().Draw(t, "first")),
		Max:    time.Duration(rapid.Int64().Draw(t, "max")),
		Factor: rapid.OneOf(rapid.Float64Range(math.Inf(-1), 1), rapid.Float64Range(1.01, math.MaxFloat64)).Draw(t, "factor"),
	}
}

func TestNoDelayIsNegativeOrAboveMax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies(t)
		got := p.Delay(rapid.IntRange(-2, 100000).Draw(t, "attempt"), rapid.Float64().Draw(t, "fraction"))
		if got < 0 || got > max(0, p.Max) {
			t.Fatalf("waits %v, outside of [0, %v]", got, p.Max)
		}
	})
}

func TestALaterAttemptOrALargerFractionNeverWaitsLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies(t)
		attempt := rapid.IntRange(0, 1000).Draw(t, "attempt")
		low := rapid.Float64Range(0, 1).Draw(t, "low")
		high := rapid.Float64Range(low, 1).Draw(t, "high")
		if p.Delay(attempt+1, low) < p.Delay(attempt, low) {
			t.Fatalf("attempt %d waits %v, the one before %v", attempt+1, p.Delay(attempt+1, low), p.Delay(attempt, low))
		}
		if p.Delay(attempt, high) < p.Delay(attempt, low) {
			t.Fatalf("fraction %v waits %v, %v waits %v", high, p.Delay(attempt, high), low, p.Delay(attempt, low))
		}
	})
}

func TestHalfOfTheCeilingIsAlwaysWaited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies(t)
		attempt := rapid.IntRange(0, 1000).Draw(t, "attempt")
		least, most := p.Delay(attempt, 0), p.Delay(attempt, 1)
		if most > 0 && least < most/2-time.Microsecond-most/1e9 {
			t.Fatalf("waits as little as %v of at most %v", least, most)
		}
	})
}
