package record

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// summed adds up the seconds of a record by step, the slow way.
func summed(t testing.TB, r *Reader, step time.Duration) []Window {
	t.Helper()
	var all []Window
	for _, w := range windowsOf(t, r, WindowQuery{}) {
		w.At, w.Len = floor(w.At, step), step
		i := slices.IndexFunc(all, func(o Window) bool {
			return o.At == w.At && o.Op == w.Op && o.Workload == w.Workload && o.Size == w.Size
		})
		if i < 0 {
			all = append(all, Window{Stamp: w.Stamp, Len: step, Workload: w.Workload, Op: w.Op, Size: w.Size, Service: NewHist(), Delay: NewHist(), Response: NewHist()})
			i = len(all) - 1
		}
		all[i].merge(&w)
	}
	return all
}

func sameWindows(t interface {
	Fatalf(string, ...any)
}, got, want []Window) {
	if len(got) != len(want) {
		t.Fatalf("%d windows, want %d", len(got), len(want))
	}
	key := func(w Window) string {
		return fmt.Sprint(w.At, w.Len, w.Workload, w.Op, w.Size, w.OK, w.Failed, w.InDoubt, w.Shed, w.Late, w.Bytes)
	}
	find := func(ws []Window, k string) *Window {
		i := slices.IndexFunc(ws, func(w Window) bool { return key(w) == k })
		if i < 0 {
			t.Fatalf("no window %s", k)
			return nil
		}
		return &ws[i]
	}
	for i := range want {
		g := find(got, key(want[i]))
		same(t, g.Service, want[i].Service)
		same(t, g.Delay, want[i].Delay)
		same(t, g.Response, want[i].Response)
	}
}

// TestRollupsEqualTheirSeconds emits windows in any order, also long after their minute was rolled up and twice for the same
// second, and looks before and after the end.
func TestRollupsEqualTheirSeconds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		s, err := Create(dir, NewClock(), Run{ID: "r"})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		sent, now := uint64(0), time.Duration(0)
		for range rapid.IntRange(1, 60).Draw(rt, "windows") {
			now += time.Duration(rapid.SampledFrom([]int{0, 0, 1, 1, 1, 20, 60, 300, 1000}).Draw(rt, "on")) * sec
			when := now
			if rapid.IntRange(0, 4).Draw(rt, "late") == 0 {
				when = time.Duration(rapid.Int64Range(0, int64(now/sec)).Draw(rt, "at")) * sec
			}
			w := window(when, durations(rt)...)
			w.Op = rapid.SampledFrom([]string{"create", "delete"}).Draw(rt, "op")
			w.Shed, w.Failed = rapid.Uint64Range(0, 9).Draw(rt, "shed"), 1
			sent += w.OK
			s.Emit(w)
			if rapid.IntRange(0, 3).Draw(rt, "commit") == 0 {
				if err := s.Flush(); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if err := s.Flush(); err != nil {
			rt.Fatal(err)
		}
		check := func() {
			r, err := Open(dir)
			if err != nil {
				rt.Fatal(err)
			}
			total := uint64(0)
			for _, w := range windowsOf(t, r, WindowQuery{}) {
				total += w.OK
			}
			if total != sent {
				rt.Fatalf("%d operations, want %d", total, sent)
			}
			for _, step := range []time.Duration{Minute, Quarter} {
				got := windowsOf(t, r, WindowQuery{Step: step})
				sameWindows(rt, got, summed(t, r, step))
				if !slices.IsSortedFunc(got, func(a, b Window) int { return int(a.At - b.At) }) {
					rt.Fatalf("not in order of time")
				}
			}
			if err := r.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		check()
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
		check()
	})
}

func TestWindowsOfOneSecondBecomeOne(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir)
	for range 3 {
		s.Emit(window(5*sec, time.Millisecond))
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	s.Emit(window(6*sec, time.Millisecond))
	s.Emit(window(5*sec, 9*time.Millisecond)) // out of order: a row of its own, and still one window
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	rows := 0
	if err := r.db.QueryRow("SELECT COUNT(*) FROM windows").Scan(&rows); err != nil || rows != 3 {
		t.Errorf("%d rows, %v; want 3", rows, err)
	}
	got := windowsOf(t, r, WindowQuery{})
	if len(got) != 2 || got[0].OK != 4 || got[0].Service.Count() != 4 || got[0].Response.Max() != 9*time.Millisecond || got[1].OK != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestWindowQuery(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir)
	for i := range 200 {
		for _, op := range []string{"create", "delete"} {
			for _, size := range []int{10, 20} {
				w := window(time.Duration(i)*sec, time.Millisecond)
				w.Op, w.Size = op, size
				s.Emit(w)
			}
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	for _, c := range []struct {
		name string
		q    WindowQuery
		n    int
		ok   uint64
	}{
		{"all", WindowQuery{}, 800, 800},
		{"one operation", WindowQuery{Workload: "w", Op: "create", Size: 10}, 200, 200},
		{"other workload", WindowQuery{Workload: "x"}, 0, 0},
		{"a span", WindowQuery{Span: Span{10 * sec, 20 * sec}, Op: "create"}, 20, 20},
		{"minutes", WindowQuery{Step: Minute, Op: "create", Size: 20}, 4, 200},
		{"minutes that begin in the span", WindowQuery{Span: Span{1, 121 * sec}, Step: Minute, Op: "create", Size: 20}, 2, 120},
		{"the open minute too", WindowQuery{Span: Span{180 * sec, 181 * sec}, Step: Minute, Op: "create", Size: 20}, 1, 20},
		{"quarters", WindowQuery{Step: Quarter}, 4, 800},
	} {
		n, ok := 0, uint64(0)
		for _, w := range windowsOf(t, r, c.q) {
			n++
			ok += w.OK
		}
		if n != c.n || ok != c.ok {
			t.Errorf("%s: %d windows of %d operations, want %d of %d", c.name, n, ok, c.n, c.ok)
		}
	}
	if err := r.Windows(WindowQuery{Step: time.Hour}, nil); err == nil {
		t.Error("a step of an hour is not refused")
	}
	stop := errors.New("stop")
	if err := r.Windows(WindowQuery{}, func(Window) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of yield", err)
	}
}

func TestSamplesAreFoldedOnce(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir)
	r := open(t, dir)
	key, sent := SeriesKey{"a.b", "n1", "1"}, []Point(nil)
	check := func() {
		t.Helper()
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := must[[]Point](t)(r.Samples(key, Span{})); !samePoints(got, sent) {
			t.Fatalf("%d samples, want %d", len(got), len(sent))
		}
	}
	for i := range 200 {
		when := time.Duration(i)*sec + 3
		for _, name := range []string{"a.b", "a.c", "b"} {
			s.Emit(Series{at(when), name, "n1", "1", float64(i)})
		}
		if sent = append(sent, Point{when, float64(i)}); i%7 == 0 || i%60 < 2 {
			check()
		}
	}
	s.Emit(Series{at(1), key.Name, key.Node, key.Unit, -1}) // late, its minute is folded
	sent = append([]Point{{1, -1}}, sent...)
	check()
	if got := must[[]Point](t)(r.Samples(key, Span{100 * sec, 130 * sec})); len(got) != 30 || got[0].At != 100*sec+3 {
		t.Errorf("a span: %v", got)
	}
	if got := must[[]Point](t)(r.Samples(SeriesKey{Name: "none"}, Span{})); got != nil {
		t.Errorf("samples of nothing: %v", got)
	}
	if keys := must[[]SeriesKey](t)(r.SeriesKeys("a.")); len(keys) != 2 || keys[0] != key {
		t.Errorf("keys %v", keys)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tail := 0
	if err := r.db.QueryRow("SELECT COUNT(*) FROM tail").Scan(&tail); err != nil || tail != 0 {
		t.Errorf("%d rows of tail, %v; want 0", tail, err)
	}
	if got := must[[]Point](t)(r.Samples(key, Span{})); !samePoints(got, sent) {
		t.Errorf("%d samples after the end, want %d", len(got), len(sent))
	}
	if end := must[time.Duration](t)(r.End()); end != 199*sec+3 {
		t.Errorf("end %s", end)
	}
}

func TestOrders(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir)
	for _, f := range []Fault{
		{Stamp: at(1 * sec), ID: "b", Step: StepPrepared}, {Stamp: at(2 * sec), ID: "a", Step: StepPrepared},
		{Stamp: at(9 * sec), ID: "a", Step: StepHealed, Injected: 3 * sec}, {Stamp: at(8 * sec), ID: "b", Step: StepHealed, Injected: 4 * sec},
		{Stamp: at(5 * sec), ID: "c", Step: StepSkipped},
	} {
		s.Emit(f)
	}
	// The long one began before those of the seconds before it.
	for _, op := range []SlowOp{{Stamp: at(10 * sec), End: 11 * sec, Seq: 1}, {Stamp: at(12 * sec), End: 13 * sec, Seq: 2}} {
		s.Emit(op)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	s.Emit(SlowOp{Stamp: at(14 * sec), End: 15 * sec, Seq: 3})
	s.Emit(SlowOp{Stamp: at(11 * sec), End: 40 * sec, Seq: 4})
	s.Emit(Evidence{Stamp: at(2), To: 50 * sec, Class: ClassGC})
	s.Emit(Evidence{Stamp: at(1), To: 3, Class: ClassGC})
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	var ids, steps string
	for _, f := range must[[]Fault](t)(r.LastFaults()) {
		ids, steps = ids+f.ID, steps+f.Step+" "
	}
	if ids != "abc" || steps != "healed healed skipped " {
		t.Errorf("faults %s, %s", ids, steps)
	}
	if all := must[[]Fault](t)(Events[Fault](r, Span{2 * sec, 9 * sec})); len(all) != 3 || all[0].ID != "a" || all[2].ID != "b" {
		t.Errorf("fault states %+v", all)
	}
	seqs := func(s Span) string {
		out := ""
		if err := r.SlowOps(s, func(op SlowOp) error { out += fmt.Sprint(op.Seq); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := seqs(Span{}) + " " + seqs(Span{11 * sec, 14 * sec}); got != "1423 42" {
		t.Errorf("slow operations %s", got)
	}
	if ev := must[[]Evidence](t)(Events[Evidence](r, Span{})); len(ev) != 2 || ev[0].At != 1 {
		t.Errorf("evidence %+v", ev)
	}
	if end := must[time.Duration](t)(r.End()); end != 50*sec {
		t.Errorf("end %s", end)
	}
	if _, err := Events[Window](r, Span{}); err == nil {
		t.Error("windows as events are not refused")
	}
}
