// Package backoff computes how long to wait before the next attempt: a
// truncated exponential delay with jitter. It neither sleeps nor draws a random
// number; the caller passes the fraction and does the waiting.
package backoff

import (
	"math"
	"time"
)

// Policy says how delays grow.
type Policy struct {
	// First is the longest delay before the first repeat (attempt 0). Zero or
	// less means no delay at all.
	First time.Duration
	// Max is what no delay exceeds. Less than First: First is never reached either.
	Max time.Duration
	// Factor is what a delay grows by from one attempt to the next. Below 1 (and
	// NaN), delays do not grow.
	Factor float64
}

// Delay returns the wait after the failed attempt, which counts from 0 (a
// negative one is taken as 0).
//
// The fraction, from [0, 1), chooses within the upper half of the attempt's
// ceiling min(Max, First×Factor^attempt): 0 gives half of it, and near 1 nearly
// all. So those who failed together do not come back together, and nobody comes
// back at once. A fraction out of its range is moved to the nearer end.
func (p Policy) Delay(attempt int, fraction float64) time.Duration {
	wait := p.ceiling(attempt) / 2
	if fraction > 0 { // false for NaN
		wait += wait * min(fraction, 1)
	}
	if wait >= float64(p.Max) { // the largest Max is above what a float64 holds exactly
		return max(0, p.Max)
	}
	return time.Duration(wait)
}

// ceiling is the longest delay of the attempt, in nanoseconds. It is a float64,
// which becomes infinite where an integer would overflow.
func (p Policy) ceiling(attempt int) float64 {
	first := max(0, float64(p.First))
	if first > 0 && p.Factor > 1 {
		first *= math.Pow(p.Factor, float64(max(0, attempt)))
	}
	return max(0, min(first, float64(p.Max)))
}
