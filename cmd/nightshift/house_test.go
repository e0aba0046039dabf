package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "nightshift/"

// allowed says which rooms a room may import; a prefix stands for everything below it.
// Test files may import the lab on top. The standard library is always allowed.
var allowed = map[string][]string{
	"cmd/nightshift":           {"soak/night", "soak/report", "janitor"},
	"soak/night":               {"soak", "faults", "probes", "janitor"}, // all but cmd and report, see below
	"soak":                     {"soak/record", "soak/target", "soak/config"},
	"soak/record":              {},
	"soak/target":              {},
	"soak/config":              {},
	"soak/client/zookeeper":    {"soak/target"},
	"soak/zookeeper":           {"=soak", "soak/record", "soak/target", "soak/config", "soak/client", "janitor/format"},
	"soak/lab":                 {"soak/record", "soak/target", "soak/config", "soak/client"},
	"soak/lab/zkstub":          {"soak/record", "soak/target", "soak/client"},
	"soak/attribute":           {"soak/record"},
	"soak/verdict":             {"soak/attribute", "soak/record", "soak/config"},
	"soak/telemetry":           {"soak/verdict", "soak/attribute", "soak/record", "soak/config"},
	"soak/report":              {"soak/verdict", "soak/attribute", "soak/record", "soak/config"},
	"faults":                   {"soak/record", "soak/target", "soak/config", "soak/client", "janitor/format"},
	"faults/guardian":          {"faults", "soak/record", "soak/target", "soak/config", "soak/client"},
	"faults/faulttest":         {"faults", "soak/record", "soak/target", "soak/config", "soak/client"},
	"probes":                   {"soak/record", "soak/target", "soak/config", "soak/client", "janitor/format"},
	"janitor":                  {"janitor/format"},
	"janitor/format/zookeeper": {},

	"janitor/format/zookeeper/zookeepertest": {"janitor/format"},
}

// onlyIn says where a library may be imported: its types must not leak out of that room.
var onlyIn = map[string]string{
	"github.com/go-zookeeper/zk": "soak/client/zookeeper",
	"go.opentelemetry.io/otel":   "soak/telemetry",
	"go.opentelemetry.io/proto":  "soak/telemetry",
	"modernc.org/sqlite":         "soak/record",
	"github.com/urfave/cli":      "cmd/nightshift",
	"github.com/goccy/go-yaml":   "soak/config",
	"github.com/expr-lang/expr":  "soak/verdict",
	"github.com/shirou/gopsutil": "",
}

// janitorMay: the janitor stands on the standard library, decompression aside.
var janitorMay = []string{"github.com/golang/snappy"}

const (
	fileLines, testLines, funcLines, interfaceMethods = 400, 800, 80, 5
)

type source struct {
	path, room string
	test       bool
	file       *ast.File
	fset       *token.FileSet
	lines      int
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		out = append(out, source{path: rel, room: filepath.ToSlash(filepath.Dir(rel)), fset: fset, file: f,
			test: strings.HasSuffix(p, "_test.go") || strings.HasSuffix(filepath.Dir(p), "test"), lines: strings.Count(string(text), "\n")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d files found: the test looks in the wrong place", len(out))
	}
	return out
}

func TestDirections(t *testing.T) {
	for _, s := range sources(t) {
		rules, ok := allowed[s.room]
		if !ok {
			t.Errorf("%s: room %s is new: say in this test what it may import", s.path, s.room)
			continue
		}
		for _, im := range s.file.Imports {
			path := strings.Trim(im.Path.Value, `"`)
			if own, ok := strings.CutPrefix(path, module); ok {
				checkDirection(t, s, own, rules)
				continue
			}
			checkLibrary(t, s, path)
		}
	}
}

// checkDirection: rooms whose names end in test hold what tests share, and count as tests.
func checkDirection(t *testing.T, s source, own string, rules []string) {
	if own == s.room || s.test && (strings.HasPrefix(own, "soak/lab") || strings.HasPrefix(own, s.room+"/")) {
		return
	}
	if s.room == "soak/night" && own == "soak/report" {
		t.Errorf("%s imports report: the report is handed in by cmd", s.path)
	}
	if s.test && slices.Contains([]string{"soak", "soak/record", "soak/target", "soak/config"}, own) {
		return
	}
	for _, r := range rules {
		if exact, ok := strings.CutPrefix(r, "="); ok && own == exact {
			return
		}
		if own == r || strings.HasPrefix(own, r+"/") {
			return
		}
	}
	t.Errorf("%s: %s must not import %s", s.path, s.room, own)
}

func checkLibrary(t *testing.T, s source, path string) {
	if !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return
	}
	for lib, room := range onlyIn {
		if strings.HasPrefix(path, lib) && room != "" && s.room != room && !s.test {
			t.Errorf("%s: only %s may import %s", s.path, room, lib)
		}
	}
	if strings.HasPrefix(s.room, "janitor") && !s.test && !slices.Contains(janitorMay, path) {
		t.Errorf("%s: the janitor must not import %s", s.path, path)
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		limit := fileLines
		if s.test {
			limit = testLines
		}
		if s.lines > limit {
			t.Errorf("%s has %d lines, at most %d", s.path, s.lines, limit)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				if l := span(s, d); l > funcLines && !s.test {
					t.Errorf("%s: %s has %d lines, at most %d", s.path, d.Name.Name, l, funcLines)
				}
			case *ast.InterfaceType:
				if m := d.Methods.NumFields(); m > interfaceMethods && !s.test {
					t.Errorf("%s: an interface with %d methods, at most %d", s.path, m, interfaceMethods)
				}
			}
			return true
		})
	}
}

func span(s source, n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

// forbidden calls, by room prefix ("" is everywhere), outside of tests.
var forbidden = []struct{ room, pkg, name, why string }{
	{"janitor", "time", "Now", "the janitor takes now as a parameter"},
	{"soak/attribute", "time", "Now", "analysis is a function of the record"},
	{"soak/verdict", "time", "Now", "the verdict is a function of the record"},
	{"soak/report", "time", "Now", "the report is a function of the record"},
	{"!cmd", "os", "Exit", "only main ends the process"},
	{"!cmd", "fmt", "Println", "output goes to a writer that is handed in"},
	{"!cmd", "fmt", "Printf", "output goes to a writer that is handed in"},
	{"!cmd", "time", "Sleep", "a sleep must end with its context"},
	{"", "rand", "Intn", "no global random source: streams come from the seed"},
	{"", "rand", "IntN", "no global random source: streams come from the seed"},
	{"", "rand", "Float64", "no global random source: streams come from the seed"},
}

func TestForbiddenCalls(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, f := range forbidden {
				if x.Name == f.pkg && sel.Sel.Name == f.name && inRoom(s.room, f.room) && isPackage(s.file, x.Name) {
					t.Errorf("%s:%d: %s.%s: %s", s.path, s.fset.Position(n.Pos()).Line, f.pkg, f.name, f.why)
				}
			}
			return true
		})
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: no init functions", s.path)
			}
		}
	}
}

func inRoom(room, rule string) bool {
	if not, ok := strings.CutPrefix(rule, "!"); ok {
		return room != not && !strings.HasPrefix(room, not+"/")
	}
	return rule == "" || room == rule || strings.HasPrefix(room, rule+"/")
}

// isPackage: the name is an imported package here, not a variable.
func isPackage(f *ast.File, name string) bool {
	for _, im := range f.Imports {
		path := strings.Trim(im.Path.Value, `"`)
		base := path[strings.LastIndex(path, "/")+1:]
		if im.Name != nil && im.Name.Name == name || im.Name == nil && (base == name || path == "math/rand/v2" && name == "rand") {
			return true
		}
	}
	return false
}

func TestNamesOfRooms(t *testing.T) {
	bad := []string{"util", "utils", "common", "helper", "helpers", "mocks", "internal", "pkg"}
	for _, s := range sources(t) {
		for _, part := range strings.Split(s.room, "/") {
			if slices.Contains(bad, part) {
				t.Errorf("%s: no room is called %s", s.path, part)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			ts, ok := n.(*ast.TypeSpec)
			if ok && (strings.HasSuffix(ts.Name.Name, "Manager") || strings.HasSuffix(ts.Name.Name, "Helper") || strings.HasSuffix(ts.Name.Name, "Util")) {
				t.Errorf("%s: type %s: name it by what it is", s.path, ts.Name.Name)
			}
			return true
		})
	}
}

// TestNothingOfThisMachine: no absolute paths of a developer's machine and no registry hosts in what is committed.
func TestNothingOfThisMachine(t *testing.T) {
	bad := []string{"/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "repo1." + "maven", "proxy.gol" + "ang", "registry." + "npmjs"}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "runs") {
			return filepath.SkipDir
		}
		if d.IsDir() || !slices.Contains([]string{".go", ".md", ".yaml", ".yml", ".sh", ".mod", ""}, filepath.Ext(p)) || strings.Contains(p, "testdata") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, b := range bad {
			if strings.Contains(string(text), b) {
				return fmt.Errorf("%s holds %q", p, b)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
