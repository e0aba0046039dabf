package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Set puts value (YAML text) at path, as in "workloads[0].rate". The parts before the last one must be
// there already; a new last key is added, and Decode says later whether it is known.
// Values set here have no place in the file: problems in them name only the path.
func (n Node) Set(path, value string) error {
	var head, last string
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		head, last = path[:i], path[i:]
	} else {
		head, last = "", "."+path
	}
	parent, err := n.Lookup(head)
	if err != nil {
		return err
	}
	val, err := parseValue(value)
	if err != nil {
		return fmt.Errorf("set %s: %w", path, err)
	}
	if last[0] == '[' {
		return parent.setItem(path, last, val)
	}
	return parent.setKey(path, last[1:], val)
}

// Lookup finds the part at a path.
func (n Node) Lookup(path string) (Node, error) {
	at := n
	for rest := path; rest != ""; {
		rest = strings.TrimPrefix(rest, ".")
		end := strings.IndexAny(rest[1:], ".[") + 1
		if end == 0 {
			end = len(rest)
		}
		part := rest[:end]
		rest = rest[end:]
		if part[0] == '[' {
			i, err := index(part, len(at.Items()))
			if err != nil {
				return Node{}, fmt.Errorf("set %s: %w", path, err)
			}
			at = at.Items()[i]
			continue
		}
		next := at.Field(part)
		if next.n == nil {
			hint := ""
			if near := Nearest(part, at.Keys()); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			return Node{}, fmt.Errorf("set %s: the plan has no %q here%s", path, part, hint)
		}
		at = next
	}
	return at, nil
}

func index(part string, n int) (int, error) {
	i, err := strconv.Atoi(strings.Trim(part, "[]"))
	if err != nil || i < 0 || i >= n {
		return 0, fmt.Errorf("%s is not one of the %d elements", part, n)
	}
	return i, nil
}

func parseValue(value string) (ast.Node, error) {
	f, err := parser.ParseBytes([]byte("v: "+value), 0)
	if err != nil {
		return nil, fmt.Errorf("%q is not a YAML value", value)
	}
	e := entries(Node{n: f.Docs[0].Body})
	if len(e) != 1 {
		return nil, fmt.Errorf("%q is not one YAML value", value)
	}
	ast.Walk(placeless{}, e[0].value.n)
	return e[0].value.n, nil
}

// placeless takes the place away from nodes that are not in the file.
type placeless struct{}

func (p placeless) Visit(n ast.Node) ast.Visitor {
	if t := n.GetToken(); t != nil && t.Position != nil {
		t.Position.Line = 0
	}
	return p
}

func (n Node) setItem(path, last string, val ast.Node) error {
	i, err := index(last, len(n.Items()))
	if err != nil {
		return fmt.Errorf("set %s: %w", path, err)
	}
	content(n.n).(*ast.SequenceNode).Values[i] = val
	return nil
}

func (n Node) setKey(path, key string, val ast.Node) error {
	switch m := content(n.n).(type) {
	case *ast.MappingNode:
		for _, e := range m.Values {
			if e.Key.GetToken().Value == key {
				e.Value = val
				return nil
			}
		}
		f, err := parser.ParseBytes([]byte(key+": null"), 0)
		if err != nil {
			return fmt.Errorf("set %s: %q is not a key", path, key)
		}
		added, ok := first(f.Docs[0].Body)
		if !ok {
			return fmt.Errorf("set %s: %q is not a key", path, key)
		}
		ast.Walk(placeless{}, added)
		added.Value = val
		m.Values = append(m.Values, added)
		return nil
	case *ast.MappingValueNode:
		if m.Key.GetToken().Value == key {
			m.Value = val
			return nil
		}
	}
	return fmt.Errorf("set %s: there are no keys at %s", path, strings.TrimSuffix(path, "."+key))
}

func first(n ast.Node) (*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values[0], len(m.Values) == 1
	case *ast.MappingValueNode:
		return m, true
	}
	return nil, false
}
