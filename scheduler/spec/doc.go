// Package spec reads what somebody wants, a YAML or JSON text or flags, into a cluster.Spec.
//
// It does no I/O. It looks at everything before it says anything: the error lists each problem of the text with its line, its
// field and the rule, so that one look mends them all. docs/spec.md is the reference of the fields; a test compares it with
// the fields read here.
//
// The text is turned into a small tree with positions (tree.go), the tree is read field by field (fields.go, values.go), and
// what fields and jobs demand of one another is checked last (check.go).
package spec
