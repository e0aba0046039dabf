package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Node is a part of a YAML file that has not been decoded yet. The zero Node is an absent part.
type Node struct {
	n    ast.Node
	path string
}

// duplicates finds keys that stand twice in one mapping: which one counts would be chance.
func duplicates(n Node) Problems {
	var ps Problems
	for _, it := range n.Items() {
		ps = append(ps, duplicates(it)...)
	}
	seen := map[string]bool{}
	for _, e := range entries(n) {
		if seen[e.key] {
			ps = append(ps, e.at.Problemf("key %q stands twice", e.key))
		}
		seen[e.key] = true
		ps = append(ps, duplicates(e.value)...)
	}
	return ps
}

// IsZero says that the part is absent, or null.
func (n Node) IsZero() bool { return n.n == nil || n.n.Type() == ast.NullType }

// Field is the value of a key of a mapping; zero when n is no mapping or lacks the key.
func (n Node) Field(key string) Node {
	for _, e := range entries(n) {
		if e.key == key {
			return e.value
		}
	}
	return Node{path: join(n.path, key)}
}

// Keys are the keys of a mapping, in order of the file.
func (n Node) Keys() []string {
	var keys []string
	for _, e := range entries(n) {
		keys = append(keys, e.key)
	}
	return keys
}

// Items are the elements of a sequence.
func (n Node) Items() []Node {
	s, ok := content(n.n).(*ast.SequenceNode)
	if !ok {
		return nil
	}
	items := make([]Node, len(s.Values))
	for i, v := range s.Values {
		items[i] = Node{n: v, path: fmt.Sprintf("%s[%d]", n.path, i)}
	}
	return items
}

// Problemf is a problem at this place.
func (n Node) Problemf(format string, args ...any) Problem {
	p := Problem{Path: n.path, Text: fmt.Sprintf(format, args...)}
	if n.n != nil && n.n.GetToken() != nil && n.n.GetToken().Position != nil {
		p.Line, p.Column = n.n.GetToken().Position.Line, n.n.GetToken().Position.Column
	}
	// A block mapping's own token is the colon of its first entry; its place is the first key.
	if es := entries(n); len(es) > 0 && !isFlow(n.n) {
		p.Line, p.Column = es[0].at.place()
	}
	return p
}

func (n Node) place() (line, column int) {
	pos := n.n.GetToken().Position
	return pos.Line, pos.Column
}

// String is the YAML text of the part, without comments.
func (n Node) String() string {
	if n.n == nil {
		return ""
	}
	var v any
	if err := yaml.NodeToValue(n.n, &v, yaml.UseOrderedMap()); err != nil {
		return n.n.String()
	}
	b, err := yaml.Marshal(v)
	if err != nil {
		return n.n.String()
	}
	return string(b)
}

type entry struct {
	key       string
	at, value Node
}

// entries of a mapping; nil when n is something else.
func entries(n Node) []entry {
	var values []*ast.MappingValueNode
	switch m := content(n.n).(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		return nil
	}
	es := make([]entry, len(values))
	for i, v := range values {
		key := v.Key.GetToken().Value
		path := join(n.path, key)
		es[i] = entry{key: key, at: Node{n: v.Key, path: path}, value: Node{n: v.Value, path: path}}
	}
	return es
}

func isFlow(n ast.Node) bool {
	m, ok := content(n).(*ast.MappingNode)
	return ok && m.IsFlowStyle
}

// content looks through anchors and tags.
func content(n ast.Node) ast.Node {
	for {
		switch t := n.(type) {
		case *ast.AnchorNode:
			n = t.Value
		case *ast.TagNode:
			n = t.Value
		default:
			return n
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// problemOf turns an error of the YAML library into a problem with its place.
func problemOf(err error, at Node) Problem {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		pos := y.GetToken().Position
		return Problem{Line: pos.Line, Column: pos.Column, Path: at.path, Text: y.GetMessage()}
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return at.Problemf("%s", text)
}
