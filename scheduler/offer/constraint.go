package offer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Hostname is what a Constraint names to mean the agent's hostname in place of an attribute.
const Hostname = "hostname"

// The operators of constraints.
const (
	opIs     = "=="      // the attribute has the value, see Attribute.Is
	opLike   = "like"    // some value of it matches the regular expression as a whole
	opUnlike = "unlike"  // none does; so agents without the attribute will do
	opUnique = "unique"  // no two tasks at one value of it
	opMaxPer = "max_per" // so many tasks at one value of it at most
)

// ConstraintRule says what a constraint looks like.
const ConstraintRule = "want ATTRIBUTE == VALUE, ATTRIBUTE like REGEX, ATTRIBUTE unlike REGEX, ATTRIBUTE unique or ATTRIBUTE max_per N; " +
	"hostname is an attribute too"

const (
	maxPattern = 200 // characters
	maxMaxPer  = 10_000
)

var attributeNames = regexp.MustCompile(`^[^\s=:;,{}\[\]\x00-\x1f\x7f]{1,200}$`)

// Constraint says on which agents tasks may be. Only ParseConstraint and Require make one. Its text is what is stored.
type Constraint struct {
	Attribute string
	operator  string
	value     string
	pattern   *regexp.Regexp // of opLike and opUnlike
	most      int            // of opUnique and opMaxPer
}

// ParseConstraint reads a constraint as docs/spec.md has them. The error is the rule that the text breaks.
func ParseConstraint(text string) (Constraint, error) {
	attribute, rest := cutWord(strings.TrimSpace(text))
	operator, value := cutWord(rest)
	c := Constraint{Attribute: attribute, operator: operator, value: value}
	if !attributeNames.MatchString(attribute) || strings.ContainsFunc(value, isControl) || (operator == opUnique) != (value == "") {
		return Constraint{}, fmt.Errorf("%s", ConstraintRule)
	}
	switch operator {
	case opIs:
	case opUnique:
		c.most = 1
	case opLike, opUnlike:
		var err error
		if c.pattern, err = regexp.Compile("^(?:" + value + ")$"); err != nil || len(value) > maxPattern {
			return Constraint{}, fmt.Errorf("want a regular expression of at most %d characters in RE2's syntax, as in r[12]; it has to match as a whole", maxPattern)
		}
	case opMaxPer:
		var err error
		if c.most, err = strconv.Atoi(value); err != nil || c.most < 1 || c.most > maxMaxPer {
			return Constraint{}, fmt.Errorf("want a number of tasks from 1 to %d after max_per", maxMaxPer)
		}
	default:
		return Constraint{}, fmt.Errorf("%s", ConstraintRule)
	}
	return c, nil
}

func cutWord(text string) (word, rest string) {
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// Attributes reads MESOS_ATTRIBUTES as tfmesos2 documents it, key:value, several separated by ; or , outside of brackets: each
// is an attribute that agents must have. The error names the first entry that is none.
func Attributes(text string) ([]Constraint, error) {
	var all []Constraint
	for _, entry := range entries(text) {
		key, value, found := strings.Cut(entry, ":") // a value may have colons
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !found || value == "" || !attributeNames.MatchString(key) || strings.ContainsFunc(value, isControl) {
			return nil, fmt.Errorf("%q: want key:value, several separated by ; or ,", entry)
		}
		c := Constraint{Attribute: key, operator: opIs, value: value}
		if !slices.ContainsFunc(all, c.Equal) {
			all = append(all, c)
		}
	}
	return all, nil
}

// entries cuts at ; and , that are in no brackets, and leaves out what is blank.
func entries(text string) []string {
	var all []string
	depth, start := 0, 0
	cut := func(end int) {
		if entry := strings.TrimSpace(text[start:end]); entry != "" {
			all = append(all, entry)
		}
		start = end + 1
	}
	for i, c := range []byte(text) {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ';', ',':
			if depth <= 0 {
				cut(i)
			}
		}
	}
	cut(len(text))
	return all
}

// String returns the constraint as it is written.
func (c Constraint) String() string {
	return strings.TrimSpace(strings.Join([]string{c.Attribute, c.operator, c.value}, " "))
}

// Equal reports whether both say the same.
func (c Constraint) Equal(d Constraint) bool {
	return c.Attribute == d.Attribute && c.operator == d.operator && c.value == d.value
}

// MarshalText returns String.
func (c Constraint) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is ParseConstraint.
func (c *Constraint) UnmarshalText(text []byte) (err error) {
	*c, err = ParseConstraint(string(text))
	return err
}

// Counts reports whether the constraint is about how many tasks are at one value, so that where they run must be known.
func (c Constraint) Counts() bool { return c.most > 0 }

// refuses says why no task may be on the agent of the offer whatever else runs there, in words that follow the
// attribute's name; "" if one may.
func (c Constraint) refuses(o *Offer) string {
	found := o.named(c.Attribute)
	if c.operator == opUnlike {
		if slices.ContainsFunc(found, c.like) {
			return "like " + c.value
		}
		return ""
	}
	switch {
	case len(found) == 0:
		return "missing"
	case c.operator == opIs && !slices.ContainsFunc(found, func(a Attribute) bool { return a.Is(c.value) }):
		return "not " + c.value
	case c.operator == opLike && !slices.ContainsFunc(found, c.like):
		return "not like " + c.value
	}
	return ""
}

func (c Constraint) like(a Attribute) bool {
	if len(a.Ranges) > 0 {
		return c.pattern.MatchString(a.String())
	}
	return slices.ContainsFunc(a.Values, c.pattern.MatchString)
}
