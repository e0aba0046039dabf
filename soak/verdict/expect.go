package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"nightshift/soak/config"
)

// Known names the workloads of a plan, each with its operations; without any, every operation is accepted.
type Known map[string][]string

// Expectation is one item of the plan's expect list, compiled.
type Expectation struct {
	Name   string
	Expr   string
	Except []string      // faults, purges, spikes
	Over   time.Duration // 0: the whole load phase at once
	After  time.Duration // since the begin of the load phase

	program *vm.Program
	metrics []metric
	lead    int // index of the metric that says which span is the worst
	worse   int // 1: larger is worse, -1: smaller is, 0: not known
}

// item is an expectation as the plan writes it.
type item struct {
	Name   string        `yaml:"name"`
	Expr   string        `yaml:"expr"`
	Except []string      `yaml:"except"`
	Over   time.Duration `yaml:"over"`
	After  after         `yaml:"after"`
}

// after is "warmup" or a duration since the begin of the load phase.
type after time.Duration

// UnmarshalText reads it.
func (a *after) UnmarshalText(t []byte) error {
	if string(t) == "warmup" {
		*a = 0
		return nil
	}
	d, err := time.ParseDuration(string(t))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is neither warmup nor a duration as in 30s", t)
	}
	*a = after(d)
	return nil
}

var exceptions = []string{"faults", "purges", "spikes"}

// Decode reads the plan's expect list and compiles it. A metric or workload that does not exist, and an
// expression that gives no truth value, is a problem with its place.
func Decode(n config.Node, known Known) ([]Expectation, config.Problems) {
	var out []Expectation
	var ps config.Problems
	if !n.IsZero() && len(n.Items()) == 0 {
		var list []item
		return nil, n.Decode(&list)
	}
	for _, in := range n.Items() {
		x, problems := decodeOne(in, known)
		ps = append(ps, problems...)
		out = append(out, x)
	}
	if len(ps) > 0 {
		return nil, ps
	}
	return out, nil
}

func decodeOne(n config.Node, known Known) (Expectation, config.Problems) {
	var in item
	ps := n.Decode(&in)
	at := func(key string) config.Node {
		if f := n.Field(key); !f.IsZero() {
			return f
		}
		return n
	}
	for _, e := range in.Except {
		if !slices.Contains(exceptions, e) {
			ps = append(ps, at("except").Problemf("%q can't be left out; what can is %s", e, strings.Join(exceptions, ", ")))
		}
	}
	if in.Over < 0 || in.Over%time.Second != 0 {
		ps = append(ps, at("over").Problemf("over is a number of whole seconds, as in 10s"))
	}
	x := Expectation{Name: in.Name, Expr: in.Expr, Except: in.Except, Over: in.Over, After: time.Duration(in.After)}
	if x.Name == "" {
		x.Name = x.Expr
	}
	if in.Expr == "" {
		return x, append(ps, n.Problemf("an expectation needs an expr"))
	}
	for _, err := range x.compile(known) {
		ps = append(ps, at("expr").Problemf("%s", err))
	}
	if len(ps) == 0 && x.static() && (x.Over > 0 || len(x.Except) > 0 || x.After > 0) {
		ps = append(ps, n.Problemf("over, except and after need a metric of a workload; this expression is about the whole run"))
	}
	return x, ps
}

// compile resolves every metric of the expression and checks its types.
func (x *Expectation) compile(known Known) []error {
	tree, err := parser.Parse(x.Expr)
	if err != nil {
		return []error{shortError(err)}
	}
	var errs []error
	for _, path := range paths(tree.Node) {
		m, err := resolve(path, known)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		x.metrics = append(x.metrics, m)
	}
	if len(errs) > 0 {
		return errs
	}
	if len(x.metrics) == 0 {
		return []error{errors.New("the expression names no metric, so it says nothing about the run")}
	}
	env := types.Map{}
	for _, m := range x.metrics {
		declare(env, m.parts, m.zero)
	}
	if x.program, err = expr.Compile(x.Expr, expr.Env(env), expr.AsBool()); err != nil {
		return []error{shortError(err)}
	}
	// A wrong constant, as in duration("fast"), shows only when it is run.
	values := make([]any, len(x.metrics))
	for i, m := range x.metrics {
		values[i] = m.zero
	}
	if _, err := x.holds(values); err != nil {
		return []error{shortError(err)}
	}
	x.direction(tree.Node)
	return nil
}

// declare puts the type of zero into env under the path.
func declare(env types.Map, parts []string, zero any) {
	for _, p := range parts[:len(parts)-1] {
		next, ok := env[p].(types.Map)
		if !ok {
			next = types.Map{}
			env[p] = next
		}
		env = next
	}
	env[parts[len(parts)-1]] = types.TypeOf(zero)
}

// holds evaluates the expression with one value for each metric.
func (x *Expectation) holds(values []any) (bool, error) {
	env := map[string]any{}
	for i, m := range x.metrics {
		at := env
		for _, p := range m.parts[:len(m.parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		at[m.parts[len(m.parts)-1]] = values[i]
	}
	out, err := expr.Run(x.program, env)
	if err != nil {
		return false, err
	}
	return out == true, nil
}

// static says that no metric is of a workload.
func (x *Expectation) static() bool {
	return !slices.ContainsFunc(x.metrics, func(m metric) bool { return m.group != group{} })
}

// direction finds out which of two broken spans is worse, where the expression is one comparison.
func (x *Expectation) direction(n ast.Node) {
	b, ok := n.(*ast.BinaryNode)
	if !ok {
		return
	}
	sign := map[string]int{"<": 1, "<=": 1, ">": -1, ">=": -1}[b.Operator]
	for i, m := range x.metrics {
		if pathOf(b.Left) == m.path {
			x.lead, x.worse = i, sign
			return
		}
		if pathOf(b.Right) == m.path {
			x.lead, x.worse = i, -sign
		}
	}
}

// paths are the dotted names in an expression that are not part of a longer one.
func paths(n ast.Node) []string {
	var c collector
	ast.Walk(&n, &c)
	var out []string
	for _, found := range c.found {
		p := pathOf(found)
		if !c.inner[found] && !c.declared[p] && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// collector sees children before their parents.
type collector struct {
	found    []ast.Node
	inner    map[ast.Node]bool
	declared map[string]bool
}

// Visit implements ast.Visitor.
func (c *collector) Visit(n *ast.Node) {
	if c.inner == nil {
		c.inner, c.declared = map[ast.Node]bool{}, map[string]bool{}
	}
	switch t := (*n).(type) {
	case *ast.IdentifierNode:
		c.found = append(c.found, t)
	case *ast.MemberNode:
		if pathOf(t) != "" {
			c.found = append(c.found, t)
			c.inner[t.Node] = true
		}
	case *ast.CallNode:
		c.inner[t.Callee] = true
	case *ast.VariableDeclaratorNode:
		c.declared[t.Name] = true
	}
}

// pathOf is the dotted name of a node, "" when it is none.
func pathOf(n ast.Node) string {
	switch t := n.(type) {
	case *ast.IdentifierNode:
		return t.Value
	case *ast.MemberNode:
		base := pathOf(t.Node)
		if p, ok := t.Property.(*ast.StringNode); ok && base != "" {
			return base + "." + p.Value
		}
	}
	return ""
}

// shortError is the library's message with its column, without its picture of the text.
func shortError(err error) error {
	var fe *file.Error
	if errors.As(err, &fe) {
		return fmt.Errorf("%s (at character %d of the expression)", fe.Message, fe.Column+1)
	}
	return err
}
