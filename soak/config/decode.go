package config

import (
	"encoding"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

var (
	nodeType = reflect.TypeFor[Node]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Decode fills into, a pointer to a struct, slice, map or scalar, and returns every problem:
// unknown keys (with the nearest known one), wrong types, bad values. Struct fields are named by
// their `yaml:"name"` tag, `yaml:",inline"` takes the keys of an embedded struct as its own; fields
// of type Node take their part as it is. What is absent stays as it was, so defaults are set before.
// Durations are written as 30s; types with UnmarshalText are read from the scalar's text.
func (n Node) Decode(into any) Problems {
	if n.IsZero() {
		return nil
	}
	return n.into(reflect.ValueOf(into).Elem())
}

func (n Node) into(v reflect.Value) Problems {
	if n.IsZero() && v.Type() != nodeType {
		return nil
	}
	if reflect.PointerTo(v.Type()).Implements(textType) {
		return n.text(v)
	}
	switch {
	case v.Type() == nodeType:
		v.Set(reflect.ValueOf(n))
		return nil
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return n.into(v.Elem())
	case v.Kind() == reflect.Struct:
		return n.structure(v)
	case v.Kind() == reflect.Slice:
		return n.slice(v)
	case v.Kind() == reflect.Map:
		return n.mapping(v)
	}
	return n.scalar(v)
}

func (n Node) text(v reflect.Value) Problems {
	s, ok := content(n.n).(ast.ScalarNode)
	if !ok {
		return Problems{n.Problemf("expected one value, found a %s", kindOf(n.n))}
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(scalarText(s))); err != nil {
		return Problems{n.Problemf("%v", err)}
	}
	return nil
}

// scalarText is the value as written: 1.10 stays "1.10", a quoted string loses its quotes.
func scalarText(s ast.ScalarNode) string {
	if str, ok := s.(*ast.StringNode); ok {
		return str.Value
	}
	if lit, ok := s.(*ast.LiteralNode); ok {
		return lit.Value.Value
	}
	return s.GetToken().Value
}

func (n Node) scalar(v reflect.Value) Problems {
	s, ok := content(n.n).(ast.ScalarNode)
	if !ok {
		return Problems{n.Problemf("expected one value, found a %s", kindOf(n.n))}
	}
	if v.Kind() == reflect.String {
		v.SetString(scalarText(s))
		return nil
	}
	if err := yaml.NodeToValue(n.n, v.Addr().Interface()); err != nil {
		return Problems{n.Problemf("%q is not %s", scalarText(s), wanted(v.Type()))}
	}
	return nil
}

func wanted(t reflect.Type) string {
	if t.String() == "time.Duration" {
		return "a duration; write it as 500ms, 30s or 2h"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 on"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return "a " + t.String()
}

func (n Node) structure(v reflect.Value) Problems {
	if !isMapping(n.n) {
		return Problems{n.Problemf("expected keys and values, found a %s", kindOf(n.n))}
	}
	known := map[string]reflect.Value{}
	collect(v, known)
	var ps Problems
	for _, e := range entries(n) {
		f, ok := known[e.key]
		if !ok {
			ps = append(ps, e.at.Problemf("unknown key%s", nearest(e.key, known)))
			continue
		}
		ps = append(ps, e.value.into(f)...)
	}
	return ps
}

func collect(v reflect.Value, known map[string]reflect.Value) {
	for i := range v.NumField() {
		name, opt, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case opt == "inline":
			collect(v.Field(i), known)
		case name != "" && name != "-":
			known[name] = v.Field(i)
		}
	}
}

func (n Node) slice(v reflect.Value) Problems {
	if _, ok := content(n.n).(*ast.SequenceNode); !ok {
		return Problems{n.Problemf("expected a list, found a %s", kindOf(n.n))}
	}
	items := n.Items()
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	var ps Problems
	for i, it := range items {
		ps = append(ps, it.into(out.Index(i))...)
	}
	v.Set(out)
	return ps
}

func (n Node) mapping(v reflect.Value) Problems {
	if !isMapping(n.n) {
		return Problems{n.Problemf("expected keys and values, found a %s", kindOf(n.n))}
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	var ps Problems
	for _, e := range entries(n) {
		x := reflect.New(v.Type().Elem()).Elem()
		ps = append(ps, e.value.into(x)...)
		v.SetMapIndex(reflect.ValueOf(e.key), x)
	}
	return ps
}

func isMapping(n ast.Node) bool {
	switch content(n).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

func kindOf(n ast.Node) string {
	switch content(n).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "mapping"
	case *ast.SequenceNode:
		return "list"
	}
	return "single value"
}

// nearest says which known key was probably meant.
func nearest(key string, known map[string]reflect.Value) string {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	if near := Nearest(key, names); near != "" {
		return fmt.Sprintf(" %q; did you mean %q?", key, near)
	}
	sort.Strings(names)
	return fmt.Sprintf(" %q; known are %s", key, strings.Join(names, ", "))
}

// Nearest is the name that differs from word in at most two letters, or "".
func Nearest(word string, names []string) string {
	best, dist := "", 3
	sort.Strings(names)
	for _, name := range names {
		if d := distance(word, name); d < dist && d < len(name) {
			best, dist = name, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(prev[j]+cost, prev[j+1]+1, row[j]+1)
		}
		prev = row
	}
	return prev[len(b)]
}
