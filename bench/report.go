package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// report prints the medians with the spread, and how both ways compare.
func report(w io.Writer, ours []started, plain []byHand) {
	fmt.Fprintf(w, "%-68s %9s %9s %9s\n", "", "median", "min", "max")
	answer := row(w, "scheduler run: submit → all three answer", seconds(ours, func(s started) time.Duration { return s.answer }), "s")
	row(w, "  of that ours: the two lines below together", seconds(ours, func(s started) time.Duration { return s.own }), "s")
	row(w, "    submit → last Python started", seconds(ours, func(s started) time.Duration { return s.python }), "s")
	row(w, "    last import done → last server answers", seconds(ours, func(s started) time.Duration { return s.serve }), "s")
	hand := row(w, "by hand: three times import tensorflow, all at once → all answer", seconds(plain, func(b byHand) time.Duration { return b.answer }), "s")
	lean := row(w, "scheduler run: peak memory of a server", mebibytes(ours, func(s started) int { return s.memory }), "MiB")
	full := row(w, "by hand: peak memory of a server", mebibytes(plain, func(b byHand) int { return b.memory }), "MiB")
	fmt.Fprintf(w, "\nscheduler run to by hand: %.2f of the time, %.2f of the memory\n", answer/hand, lean/full)
}

// row prints one line and returns the median.
func row(w io.Writer, what string, values []float64, unit string) float64 {
	slices.Sort(values)
	median := values[len(values)/2]
	if len(values)%2 == 0 {
		median = (median + values[len(values)/2-1]) / 2
	}
	format := "%-68s %9.3f %9.3f %9.3f %s\n"
	if unit != "s" {
		format = "%-68s %9.0f %9.0f %9.0f %s\n"
	}
	fmt.Fprintf(w, format, what, median, values[0], values[len(values)-1], unit)
	return median
}

func seconds[T any](all []T, of func(T) time.Duration) []float64 {
	values := make([]float64, len(all))
	for i, one := range all {
		values[i] = of(one).Seconds()
	}
	return values
}

func mebibytes[T any](all []T, of func(T) int) []float64 {
	values := make([]float64, len(all))
	for i, one := range all {
		values[i] = float64(of(one)) / 1024
	}
	return values
}
