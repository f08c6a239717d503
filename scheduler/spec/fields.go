package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The fields that this version reads, in the order of docs/spec.md.
var (
	inheritedFields = []string{"command", "image", "force_pull_image", "docker_parameters", "sidecar", "env", "volumes", "uris", "workdir", "user", "placement"}
	clusterFields   = append([]string{"name", "role", "containerizer", "driver", "success", "deadlines", "constraints", "jobs"}, inheritedFields...)
	jobFields       = append([]string{"name", "num", "start", "cpus", "mem", "gpus", "side", "entrypoint", "constraints"}, inheritedFields...)
	deadlineFields  = []string{"run", "resources", "staging", "registration", "serving", "ending"}
	uriFields       = []string{"value", "extract", "executable", "cache", "output_file"}
)

// laterFields are the fields that a later version reads; they are refused by name so that nobody looks for a typing error.
var laterFields = []string{"backoff_limit", "gpu_vendor", "labels", "restart"}

// reader collects the problems of one spec.
type reader struct {
	source   string
	problems Problems
}

func (r *reader) refuse(p Problem) {
	p.Source = r.source
	r.problems = append(r.problems, p)
}

func (r *reader) wrong(v value, rule string) {
	if v.refused {
		return
	}
	p := Problem{Source: r.source, Line: v.line, Column: v.column, Field: v.path, Rule: rule}
	if !v.secret {
		p.Value = v.show()
	}
	if v.line == 0 { // a flag is in no text
		p.Source = ""
	}
	r.problems = append(r.problems, p)
}

// value is a node with the way to it. What may be a secret is not shown in a Problem.
type value struct {
	*node
	path   string
	secret bool
}

func (v value) item(i int) value {
	return value{v.items[i], fmt.Sprintf("%s[%d]", v.path, i), v.secret}
}

// group is a mapping with the way to it, or the flags.
type group struct {
	at    *node
	path  string
	flags bool
}

// name returns the way to a field of the group.
func (g group) name(field string) string {
	switch {
	case g.flags:
		return "--" + field
	case g.path == "":
		return field
	}
	return g.path + "." + field
}

func (g group) get(field string) (value, bool) {
	found := g.at.get(field)
	return value{found, g.name(field), false}, found != nil
}

// orElse returns g if it has the field, else h.
func (g group) orElse(h group, field string) group {
	if _, found := g.get(field); found {
		return g
	}
	return h
}

func (g group) sub(field string) (group, bool) {
	v, found := g.get(field)
	return group{at: v.node, path: v.path}, found && v.kind != nothing
}

// flagGroup makes a group of what was typed; a flag with an empty value was not given.
func flagGroup(typed map[string]string) group {
	g := group{at: &node{kind: mapping}, flags: true}
	for _, name := range slices.Sorted(maps.Keys(typed)) {
		if typed[name] != "" {
			g.at.fields = append(g.at.fields, field{key: &node{kind: scalar, text: name}, value: &node{kind: scalar, text: typed[name]}})
		}
	}
	return g
}

// read sets into from a field, if the group has it, with what as makes of it; as returns the rule when the value breaks one.
func read[T any](r *reader, g group, field string, into *T, as func(*node) (T, string)) {
	v, found := g.get(field)
	if !found {
		return
	}
	result, rule := as(v.node)
	if rule != "" {
		r.wrong(v, rule)
		return
	}
	*into = result
}

// onlyKnown refuses the fields that this version has not got. Their values are not shown: nobody knows what they are.
func (r *reader) onlyKnown(g group, known []string) {
	for _, f := range g.at.fields {
		name := f.key.text
		if slices.Contains(known, name) {
			continue
		}
		rule := "unknown field"
		if slices.Contains(laterFields, name) {
			rule = "this version has no " + name
		} else if near := nearest(name, known); near != "" {
			rule += fmt.Sprintf("; did you mean %s?", near)
		}
		r.refuse(Problem{Line: f.key.line, Column: f.key.column, Field: g.name(showText(name, false)), Rule: rule})
	}
}

// nearest returns the known name that somebody may have meant, or "".
func nearest(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if len(k) > 2 && len(name) > len(k) && strings.HasPrefix(strings.ToLower(name), k) {
			return k // memory for mem
		}
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least && d <= len(k)/2 {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace to make b of a (Levenshtein). Long names are near nothing.
func distance(a, b string) int {
	if len(a) > 2*len(b)+2 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
