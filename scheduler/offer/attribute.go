package offer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Attribute is what an agent says of itself. It has Values (one, or those of a set) or Ranges; one with neither says
// nothing, and counts as absent.
type Attribute struct {
	Name string
	// Values are texts; a number is written without needless digits, as in 109 or 0.5.
	Values []string
	Ranges []Range
}

// Range is some whole numbers, both ends among them.
type Range struct {
	Begin, End uint64
}

// String returns the value as Mesos writes it: r1, {a,b} in order, or [1-3,7-9].
func (a Attribute) String() string {
	switch {
	case len(a.Ranges) > 0:
		var parts []string
		for _, r := range a.Ranges {
			parts = append(parts, fmt.Sprintf("%d-%d", r.Begin, r.End))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case len(a.Values) == 1:
		return a.Values[0]
	case len(a.Values) == 0:
		return ""
	}
	return "{" + strings.Join(slices.Sorted(slices.Values(a.Values)), ",") + "}"
}

// Is reports whether the attribute has the value: a text or a number as it is, members of a set as {a,b} in any order or
// one of them alone, numbers of ranges as [1-3] or one alone. Numbers are compared at three decimals, so 109 is 109.0. Agents
// drop the blanks of what they are told (values::parse in common/values.cpp), so those of the value do not count.
func (a Attribute) Is(value string) bool {
	if slices.Contains(a.Values, value) {
		return true
	}
	value = strings.ReplaceAll(value, " ", "")
	if len(a.Ranges) > 0 {
		return a.covers(value)
	}
	wanted := members(value, "{", "}")
	for _, w := range wanted {
		if !slices.ContainsFunc(a.Values, func(v string) bool { return same(v, w) }) {
			return false
		}
	}
	return len(wanted) > 0
}

// covers reports whether all numbers that value names are in one of the ranges.
func (a Attribute) covers(value string) bool {
	wanted := members(value, "[", "]")
	for _, w := range wanted {
		first, last, isRange := strings.Cut(w, "-")
		if !isRange {
			last = first
		}
		begin, err := strconv.ParseUint(strings.TrimSpace(first), 10, 64)
		end, err2 := strconv.ParseUint(strings.TrimSpace(last), 10, 64)
		if err != nil || err2 != nil || begin > end ||
			!slices.ContainsFunc(a.Ranges, func(r Range) bool { return r.Begin <= begin && end <= r.End }) {
			return false
		}
	}
	return len(wanted) > 0
}

// members cuts what stands between the brackets at its commas; without brackets it is one.
func members(value, open, shut string) []string {
	inner, opened := strings.CutPrefix(value, open)
	inner, closed := strings.CutSuffix(inner, shut)
	if !opened || !closed {
		return []string{value}
	}
	var all []string
	for part := range strings.SplitSeq(inner, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

func same(a, b string) bool {
	if a == b {
		return true
	}
	v, okV := decimal(a)
	w, okW := decimal(b)
	return okV && okW && v == w
}

// decimal is a number rounded to three decimals, as Mesos compares them.
func decimal(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false
	}
	return math.Round(v*1000) / 1000, true
}

// Number returns a number as Values have it.
func Number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

// named returns the attributes of that name that say something; Hostname is one too.
func (o *Offer) named(name string) []Attribute {
	if name == Hostname {
		return []Attribute{{Name: Hostname, Values: []string{o.Hostname}}}
	}
	var found []Attribute
	for _, a := range o.Attributes {
		if a.Name == name && len(a.Values)+len(a.Ranges) > 0 {
			found = append(found, a)
		}
	}
	return found
}

// Value returns what the agent says under the name, "" if nothing: its hostname, or an attribute. Of several of one name
// it is all, in the order of text.
func (o *Offer) Value(name string) string {
	var texts []string
	for _, a := range o.named(name) {
		texts = append(texts, a.String())
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}
