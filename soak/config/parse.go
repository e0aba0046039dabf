package config

import (
	"bytes"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// What one document may be. The parser's time grows with the square of both, so that a file that is no plan
// at all would keep it busy for hours.
const (
	MostBytes = 256 << 10
	mostDepth = 100 // of lists and mappings in each other, on one line
)

// Parse reads one YAML document of at most MostBytes. An empty one is the zero Node.
func Parse(src []byte) (Node, Problems) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if p, ok := unfit(src); !ok {
		return Node{}, Problems{p}
	}
	f, err := parser.ParseBytes(src, parser.ParseComments)
	if err != nil {
		return Node{}, Problems{problemOf(err, Node{})}
	}
	if len(f.Docs) > 1 && f.Docs[1].Body != nil {
		n := Node{n: f.Docs[1].Body}
		return Node{}, Problems{n.Problemf("a second YAML document; a plan is one document")}
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return Node{}, nil
	}
	n := Node{n: f.Docs[0].Body}
	r := &reading{}
	ast.Walk(r, n.n)
	if ps := append(r.aliases, duplicates(n)...); len(ps) > 0 {
		return Node{}, ps
	}
	return n, nil
}

// unfit says why a text is not given to the parser.
func unfit(src []byte) (Problem, bool) {
	if len(src) > MostBytes {
		return Problem{Text: "more than " + Bytes(MostBytes).String() + ", which no plan needs; is it the right file?"}, false
	}
	line, column, depth, dashes := 1, 0, 0, 0
	for _, b := range src {
		column++
		switch {
		case b == '\n':
			line, column, dashes = line+1, 0, 0
		case b == 0:
			return Problem{Line: line, Column: column, Text: "a zero byte; is it the right file?"}, false
		case b == '[', b == '{':
			depth++
		case b == ']', b == '}':
			depth = max(0, depth-1)
		case b == '-' && column == 2*dashes+1: // of a list that begins on the line of the list around it
			dashes++
		}
		if max(depth, dashes) > mostDepth {
			return Problem{Line: line, Column: column, Text: "more lists or mappings in each other than any plan needs"}, false
		}
	}
	return Problem{}, true
}

// reading goes over a parsed document once.
type reading struct{ aliases Problems }

func (r *reading) Visit(n ast.Node) ast.Visitor {
	switch t := n.(type) {
	case *ast.AliasNode:
		r.aliases = append(r.aliases, Node{n: n}.Problemf("anchors and aliases (&, *, <<) are not read here; write the value out, or make it a param"))
		return nil
	case *ast.SequenceNode:
		for i, v := range t.Values {
			if s, ok := glued(v); ok {
				t.Values[i] = s
			}
		}
	}
	return r
}

// glued mends `{servers: [zk1:2181]}`: in a list inside of braces the parser takes what YAML calls one plain
// scalar, because no space follows the colon, for a mapping of zk1 to 2181.
func glued(n ast.Node) (ast.Node, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok || m.IsFlowStyle || len(m.Values) != 1 {
		return nil, false
	}
	if _, ok := m.Values[0].Value.(ast.ScalarNode); !ok {
		return nil, false
	}
	k, v := m.Values[0].Key.GetToken(), m.Values[0].Value.GetToken()
	if k.Type == token.SingleQuoteType || k.Type == token.DoubleQuoteType ||
		v.Position.Line != k.Position.Line || v.Position.Column != k.Position.Column+utf8.RuneCountInString(k.Value)+1 {
		return nil, false
	}
	whole := k.Clone()
	whole.Type, whole.Value, whole.Origin = token.StringType, k.Value+":"+v.Value, k.Value+":"+v.Value
	return ast.String(whole), true
}
