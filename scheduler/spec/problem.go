package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing in a spec that cannot stay as it is.
type Problem struct {
	// Source is the name that was given for the text; empty for flags.
	Source string
	// Line and Column count from 1; a Line of 0 means that no place in the text is meant.
	Line, Column int
	// Field is the way to the value, as in jobs[1].gpus, or the flag; empty when the text as a whole is meant.
	Field string
	// Value is what stands there, shortened; empty when nothing does, or when it may be a secret.
	Value string
	// Rule says what is wanted instead.
	Rule string
}

// String returns "source:line:column: field: value: rule" without the parts that are empty.
func (p Problem) String() string {
	var parts []string
	switch {
	case p.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column))
	case p.Source != "":
		parts = append(parts, p.Source)
	}
	for _, part := range []string{p.Field, p.Value, p.Rule} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is the error of Parse and FromFlags: all that is wrong, in the order of the text.
type Problems []Problem

// Error returns one line for each Problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// err returns the sorted Problems as an error, or nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(p)
}
