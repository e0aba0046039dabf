package record

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestNightInABubble writes two virtual hours, as a unit test of a whole plan does.
func TestNightInABubble(t *testing.T) {
	const hours, ops, series = 2, 3, 30
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		s, err := Create(dir, clock, Run{ID: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		for range hours * 3600 {
			time.Sleep(Second)
			now := floor(clock.Now(), Second) - Second
			for i := range ops {
				w := window(now, 2*time.Millisecond, 3*time.Millisecond)
				w.Op = fmt.Sprint("op", i)
				s.Emit(w)
				s.Emit(SlowOp{Stamp: at(now), Workload: "w", Op: w.Op, Size: 100, Start: now, End: now + 1, Why: WhySlow})
				s.Emit(SlowOp{Stamp: at(now), Workload: "w", Op: w.Op, Size: 100, Start: now, End: now + 1, Why: WhyControl})
			}
			for i := range series {
				s.Emit(Series{at(now), fmt.Sprint("s", i), "n1", "By", float64(now)})
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		s.Emit(Note{}) // late: dropped, neither a panic nor a wait
	})
	r := open(t, dir)
	for _, c := range []struct {
		step time.Duration
		n    int
	}{{Second, hours * 3600 * ops}, {Minute, hours * 60 * ops}, {Quarter, hours * 4 * ops}} {
		n, ok := 0, uint64(0)
		if err := r.Windows(WindowQuery{Step: c.step}, func(w Window) error { n++; ok += w.OK; return nil }); err != nil {
			t.Fatal(err)
		}
		if n != c.n || ok != hours*3600*ops*2 {
			t.Errorf("step %s: %d windows of %d operations, want %d of %d", c.step, n, ok, c.n, hours*3600*ops*2)
		}
	}
	rows := 0
	if err := r.db.QueryRow("SELECT COUNT(*) FROM windows_1m").Scan(&rows); err != nil || rows != hours*60*ops {
		t.Errorf("%d rolled-up rows, %v; want %d", rows, err, hours*60*ops)
	}
	points, err := r.Samples(SeriesKey{"s7", "n1", "By"}, Span{})
	if err != nil || len(points) != hours*3600 {
		t.Errorf("%d samples, %v; want %d", len(points), err, hours*3600)
	}
	if notes, err := Events[Note](r, Span{}); err != nil || len(notes) != 0 {
		t.Errorf("notes %v, %v; want none", notes, err)
	}
}
