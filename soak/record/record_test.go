package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

const sec = time.Second

// at is a stamp.
func at(d time.Duration) Stamp { return Stamp{At: d} }

// histOf holds the durations.
func histOf(ds ...time.Duration) *Hist {
	h := NewHist()
	for _, d := range ds {
		h.Add(d)
	}
	return h
}

// window is a second of "create" with the response times ds.
func window(begin time.Duration, ds ...time.Duration) Window {
	return Window{Stamp: at(begin), Len: Second, Workload: "w", Op: "create", Size: 100, OK: uint64(len(ds)),
		Bytes: 100 * uint64(len(ds)), Service: histOf(ds...), Delay: histOf(make([]time.Duration, len(ds))...), Response: histOf(ds...)}
}

func create(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Create(dir, NewClock(), Run{ID: "r1", Plan: "p", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // twice where the test closes it
	return s
}

func open(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func windowsOf(t testing.TB, r *Reader, q WindowQuery) []Window {
	t.Helper()
	var all []Window
	if err := r.Windows(q, func(w Window) error { all = append(all, w); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// back reads all events of one type.
func back[T Event](t *testing.T, r *Reader) []any {
	t.Helper()
	var all []any
	for _, e := range must[[]T](t)(Events[T](r, Span{})) {
		all = append(all, e)
	}
	return all
}

// filled is an event with every field set.
func filled[T Event]() T {
	var e T
	n := int64(0)
	fill(reflect.ValueOf(&e).Elem(), &n)
	return e
}

func fill(v reflect.Value, n *int64) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(*n, 1).UTC()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Float64:
		v.SetFloat(float64(*n) / 4)
	case v.CanUint():
		v.SetUint(uint64(*n) % 100)
	case v.CanInt():
		v.SetInt(*n)
	default:
		panic("fill " + v.Type().String())
	}
}

// sampleEvents has one event of each kind with every field set, and how it is read back.
var sampleEvents = map[Kind]struct {
	event Event
	read  func(*testing.T, *Reader) []any
}{
	KindRun:      {filled[Run](), back[Run]},
	KindPhase:    {filled[Phase](), back[Phase]},
	KindNode:     {filled[Node](), back[Node]},
	KindFault:    {filled[Fault](), back[Fault]},
	KindEvidence: {filled[Evidence](), back[Evidence]},
	KindPurge:    {filled[Purge](), back[Purge]},
	KindFile:     {filled[File](), back[File]},
	KindFinding:  {filled[Finding](), back[Finding]},
	KindNote:     {filled[Note](), back[Note]},
	KindWindow: {Window{at(9 * sec), Second, "w", "create", 100, 2, 1, 1, 5, 3, 200, histOf(1e6, 2e6, 3e6, 4e6), histOf(1e3, 1e3, 1e3, 1e3), histOf(2e6, 3e6, 4e6, 5e6)},
		func(t *testing.T, r *Reader) (all []any) {
			for _, w := range windowsOf(t, r, WindowQuery{}) {
				all = append(all, w)
			}
			return all
		}},
	KindSlowOp: {filled[SlowOp](),
		func(t *testing.T, r *Reader) (all []any) {
			if err := r.SlowOps(Span{}, func(op SlowOp) error { all = append(all, op); return nil }); err != nil {
				t.Fatal(err)
			}
			return all
		}},
	KindSeries: {Series{at(11 * sec), "host.cpu", "n1", "%", 12.5}, func(t *testing.T, r *Reader) (all []any) {
		for _, k := range must[[]SeriesKey](t)(r.SeriesKeys("host.")) {
			for _, p := range must[[]Point](t)(r.Samples(k, Span{})) {
				all = append(all, Series{at(p.At), k.Name, k.Node, k.Unit, p.Value})
			}
		}
		return all
	}},
}

// kindsInSource are the constants of type Kind in event.go.
func kindsInSource(t *testing.T) []Kind {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Kind") {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, Kind(name))
		return true
	})
	return kinds
}

func TestEveryKindSurvives(t *testing.T) {
	kinds := kindsInSource(t)
	if len(kinds) < 12 {
		t.Fatalf("found only %v in event.go", kinds)
	}
	for _, kind := range kinds {
		sample, ok := sampleEvents[kind]
		if !ok {
			t.Errorf("kind %q has no sample here: the record must be able to hold it", kind)
			continue
		}
		if v := reflect.ValueOf(sample.event); sample.event.Kind() != kind {
			t.Errorf("sample of %q is a %q", kind, sample.event.Kind())
		} else {
			for i := range v.NumField() {
				if v.Field(i).IsZero() {
					t.Errorf("sample of %q leaves %s zero", kind, v.Type().Field(i).Name)
				}
			}
		}
		for _, state := range []string{"live", "closed"} {
			t.Run(string(kind)+"/"+state, func(t *testing.T) {
				dir := t.TempDir()
				run, isRun := sample.event.(Run)
				run.Format = 0 // Create's to set
				s, err := Create(dir, NewClock(), run)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				want := plain(t, sample.event)
				if run.Format = Format; isRun {
					want = plain(t, run)
				} else {
					s.Emit(sample.event)
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				if state == "closed" {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
				got := sample.read(t, open(t, dir))
				if len(got) != 1 || plain(t, got[0]) != want {
					t.Errorf("got %v\nwant %v", plain(t, got), want)
				}
			})
		}
	}
}

// plain is all of an event as text, its histograms too.
func plain(t *testing.T, e any) string {
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := e.(Window); ok {
		for _, h := range []*Hist{w.Service, w.Delay, w.Response} {
			b, _ := h.MarshalBinary()
			text = fmt.Appendf(text, " %x", b)
		}
	}
	return string(text)
}

func TestCreateRefusesASecondRun(t *testing.T) {
	dir := t.TempDir()
	if err := create(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, NewClock(), Run{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want fs.ErrExist", err)
	}
	if _, err := Create(filepath.Join(dir, "none"), NewClock(), Run{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	write := func(t *testing.T, b []byte) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, FileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	pragma := func(t *testing.T, p string) string {
		dir := t.TempDir()
		if err := create(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
		db, conn, err := openConn(dsn(filepath.Join(dir, FileName), "", p))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(conn.PingContext(context.Background()), conn.Close(), db.Close()); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, c := range []struct {
		name, want string
		dir        func(*testing.T) string
	}{
		{"nothing", "no record.db", func(t *testing.T) string { return t.TempDir() }},
		{"empty", "is empty", func(t *testing.T) string { return write(t, nil) }},
		{"text", "not written by nightshift", func(t *testing.T) string { return write(t, []byte(strings.Repeat("hello\n", 500))) }},
		{"short", "not written by nightshift", func(t *testing.T) string { return write(t, []byte("x")) }},
		{"other database", "not written by nightshift", func(t *testing.T) string { return pragma(t, "application_id(1)") }},
		{"newer", "has format 99", func(t *testing.T) string { return pragma(t, "user_version(99)") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Open(c.dir(t))
			if err == nil {
				_ = r.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}
