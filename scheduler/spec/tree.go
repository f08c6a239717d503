package spec

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxText bounds a spec, in bytes. One of thousands of lines is made by a program that went wrong.
const maxText = 1 << 20

// node is a value of the text, with aliases and merges followed. An alias shares the node of its anchor, so
// a tree of a few lines that names its parts often stays small; nothing may walk it but along known fields.
type node struct {
	kind    kind
	text    string // of a scalar, as written, without quotes
	quoted  bool   // the scalar has quotes, so it is no number and no truth value
	refused bool   // it has its Problem already and stands as null
	line    int
	column  int
	items   []*node // of a list
	fields  []field // of a mapping, in the order of the text, each key once
}

type kind int

const (
	nothing kind = iota // null, ~ or an empty value
	scalar
	list
	mapping
)

type field struct {
	key    *node
	value  *node
	merged bool // through <<, so that an own field of the same name wins
}

// show returns the node as a Problem shows it.
func (n *node) show() string {
	switch n.kind {
	case nothing:
		return "null"
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	}
	return showText(n.text, n.quoted)
}

func showText(text string, quoted bool) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	if quoted || text == "" || strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(text)
	}
	return text
}

// parseTree reads the one mapping that the text has to be; it returns nil when there is none, with the reason added.
func (r *reader) parseTree(text []byte) *node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch {
	case len(text) > maxText:
		r.refuse(Problem{Rule: fmt.Sprintf("want at most %d bytes, these are %d", maxText, len(text))})
		return nil
	}
	if at := binaryAt(text); at >= 0 {
		line := 1 + bytes.Count(text[:at], []byte("\n"))
		r.refuse(Problem{Line: line, Column: 1, Rule: "want UTF-8 text, in this line are other bytes"})
		return nil
	}
	file, err := parseYAML(text)
	if err != nil {
		r.refuse(syntaxProblem(err))
		return nil
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); doc.Body != nil && !directive {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		r.refuse(Problem{Rule: "the spec is empty: want jobs, as in docs/spec.md"})
		return nil
	}
	b := builder{reader: r, anchors: map[string]*node{}}
	if len(bodies) > 1 {
		b.refuseAt(bodies[1], "a second document begins here: want one cluster a file")
	}
	root := b.build(bodies[0])
	if root.kind != mapping {
		r.refuse(Problem{Line: root.line, Column: root.column, Value: root.show(), Rule: "want a mapping of fields, as in name: and jobs:"})
		return nil
	}
	return root
}

// parseYAML makes an error of a panic in the YAML library: the text is not ours, and a person waits for its line.
func parseYAML(text []byte) (file *ast.File, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("this is no YAML: %v", cause)
		}
	}()
	return parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
}

func syntaxProblem(err error) Problem {
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		at := syntax.GetToken().Position
		return Problem{Line: at.Line, Column: max(at.Column, 1), Rule: syntax.GetMessage()}
	}
	return Problem{Rule: err.Error()}
}

// binaryAt returns where something stands that no text has, or -1.
func binaryAt(text []byte) int {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 || unicode.IsControl(c) && !strings.ContainsRune("\t\n\r\u0085", c) {
			return i
		}
		i += size
	}
	return -1
}

// builder turns the library's tree into ours.
type builder struct {
	*reader
	anchors map[string]*node // those that ended above, so that none can contain itself
}

func (b *builder) refuseAt(at ast.Node, rule string) {
	n := place(at)
	b.refuse(Problem{Line: n.line, Column: n.column, Rule: rule})
}

func place(at ast.Node) *node {
	if m, ok := at.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return place(m.Values[0].Key) // the token of a mapping is the colon behind its first key
	}
	if v, ok := at.(*ast.MappingValueNode); ok {
		return place(v.Key)
	}
	t := at.GetToken()
	if t == nil || t.Position == nil {
		return &node{line: 1, column: 1}
	}
	return &node{line: max(t.Position.Line, 1), column: max(t.Position.Column, 1)}
}

// build returns the node of a value; what cannot be a value is refused and stands as null.
func (b *builder) build(from ast.Node) *node {
	n := place(from)
	switch from := from.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		n.kind, n.text = scalar, from.Value
		n.quoted = from.Token.Type == token.SingleQuoteType || from.Token.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		n.kind, n.text, n.quoted = scalar, from.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = scalar, from.GetToken().Value
	case *ast.SequenceNode:
		n.kind = list
		for _, item := range from.Values {
			n.items = append(n.items, b.build(item))
		}
	case *ast.MappingNode:
		n.kind = mapping
		for _, value := range from.Values {
			b.addField(n, value)
		}
	case *ast.MappingValueNode:
		n.kind = mapping
		b.addField(n, from)
	case *ast.AnchorNode:
		n = b.build(from.Value)
		b.anchors[from.Name.String()] = n
	case *ast.AliasNode:
		if anchored := b.anchors[from.Value.String()]; anchored != nil {
			return anchored
		}
		n.refused = true
		b.refuseAt(from, fmt.Sprintf("*%s has no &%s above it", from.Value, from.Value))
	case *ast.TagNode:
		return b.tagged(n, from)
	default:
		n.refused = true
		b.refuseAt(from, "want a value")
	}
	return n
}

func (b *builder) tagged(n *node, from *ast.TagNode) *node {
	if from.Start.Value == "!!str" && from.Value != nil {
		if value := *b.build(from.Value); value.kind == scalar {
			value.quoted = true
			return &value
		}
	}
	n.refused = true
	b.refuseAt(from, "a tag has no meaning here: leave out "+showText(from.Start.Value, false))
	return n
}

func (b *builder) addField(n *node, from *ast.MappingValueNode) {
	if _, merge := from.Key.(*ast.MergeKeyNode); merge {
		b.merge(n, from.Value)
		return
	}
	keyNode := ast.Node(from.Key)
	if explicit, ok := keyNode.(*ast.MappingKeyNode); ok {
		keyNode = explicit.Value
	}
	key := b.build(keyNode)
	value := b.build(from.Value)
	if key.kind != scalar && !key.refused {
		b.refuseAt(from, "want a name before the colon")
		return
	}
	for i := range n.fields {
		known := &n.fields[i]
		switch {
		case known.key.text != key.text:
		case known.merged:
			*known = field{key: key, value: value}
			return
		default:
			b.refuse(Problem{Line: key.line, Column: key.column, Field: showText(key.text, false),
				Rule: fmt.Sprintf("want each field once, it is also in line %d", known.key.line)})
			return
		}
	}
	n.fields = append(n.fields, field{key: key, value: value})
}

// merge adds the fields of << that the mapping has not got yet.
func (b *builder) merge(n *node, from ast.Node) {
	value := b.build(from)
	sources := []*node{value}
	if value.kind == list {
		sources = value.items
	}
	for _, source := range sources {
		if source.refused {
			continue
		}
		if source.kind != mapping {
			b.refuseAt(from, "want a mapping after <<")
			return
		}
		for _, f := range source.fields {
			if n.get(f.key.text) == nil {
				n.fields = append(n.fields, field{key: f.key, value: f.value, merged: true})
			}
		}
	}
}

// get returns the value of a field, or nil.
func (n *node) get(name string) *node {
	for _, f := range n.fields {
		if f.key.text == name {
			return f.value
		}
	}
	return nil
}
