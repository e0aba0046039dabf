package soak

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"nightshift/soak/record"
)

const ms = time.Millisecond

// caught collects what a recorder emits.
type caught struct {
	windows []record.Window
	slow    []record.SlowOp
}

func (c *caught) emit(e record.Event) {
	switch e := e.(type) {
	case record.Window:
		c.windows = append(c.windows, e)
	case record.SlowOp:
		c.slow = append(c.slow, e)
	default:
		panic(fmt.Sprintf("a recorder emits %T", e))
	}
}

func (c *caught) why(why string) (ops []record.SlowOp) {
	for _, s := range c.slow {
		if s.Why == why {
			ops = append(ops, s)
		}
	}
	return ops
}

func TestWindowOfEachOpAndSecond(t *testing.T) {
	rec := NewRecorder("w", record.NewClock(), 1)
	create, remove := rec.Op("create", 100), rec.Op("delete", 0)
	if rec.Op("create", 100) != create || rec.Op("create", 200) == create {
		t.Error("a handle is not of one name and size")
	}
	for w := range 20 { // over all shards
		create.Record(Sample{Worker: w, Intended: 1990 * ms, Start: 1995 * ms, End: 2000 * ms})                                                    // second 2
		create.Record(Sample{Worker: w, Intended: 1900 * ms, Start: 1900*ms + record.LateAfter, End: 1999 * ms, Outcome: record.Failed})           // second 1, just not late
		create.Record(Sample{Worker: w, Intended: 1900 * ms, Start: 1901*ms + record.LateAfter, End: 1999 * ms, Outcome: record.InDoubt})          // late
		remove.Record(Sample{Worker: -w, Intended: 500 * ms, Start: 400 * ms, End: 600 * ms, Outcome: record.OK, Path: "/x", Node: "127.0.0.1:1"}) // before it was due
	}
	var c caught
	rec.Flush(c.emit)
	if len(c.windows) != 3 {
		t.Fatalf("%d windows, want 3", len(c.windows))
	}
	for i, want := range []struct {
		at                             time.Duration
		op                             string
		ok, failed, doubt, late, bytes uint64
		service, delay, response       time.Duration
	}{
		{0, "delete", 20, 0, 0, 0, 0, 200 * ms, 0, 100 * ms},
		{time.Second, "create", 0, 20, 20, 20, 0, 49 * ms, 51 * ms, 99 * ms},
		{2 * time.Second, "create", 20, 0, 0, 0, 2000, 5 * ms, 5 * ms, 10 * ms},
	} {
		w := c.windows[i]
		if w.At != want.at || w.Len != time.Second || w.Workload != "w" || w.Op != want.op || w.OK != want.ok || w.Failed != want.failed ||
			w.InDoubt != want.doubt || w.Late != want.late || w.Bytes != want.bytes || w.Service.Max() != want.service ||
			w.Delay.Max() != want.delay || w.Response.Max() != want.response || w.Response.Count() != want.ok+want.failed+want.doubt {
			t.Errorf("window %d: %+v\nwant %+v", i, w, want)
		}
	}
	c = caught{}
	if rec.Flush(c.emit); len(c.windows)+len(c.slow) != 0 {
		t.Errorf("a second Flush emits %+v", c)
	}
}

func TestShedAloneMakesAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := NewRecorder("w", record.NewClock(), 1)
		op := rec.Op("create", 1)
		time.Sleep(3500 * ms)
		op.Shed(0)
		op.Shed(7)
		op.Shed(2)
		var c caught
		rec.Flush(c.emit)
		if len(c.windows) != 1 || c.windows[0].At != 3*time.Second || c.windows[0].Shed != 9 || c.windows[0].Response.Count() != 0 || len(c.slow) != 0 {
			t.Errorf("got %+v", c)
		}
	})
}

// TestNothingIsLostOnTheWay records from many goroutines while others flush and look at the progress.
func TestNothingIsLostOnTheWay(t *testing.T) {
	const workers, each = 8, 20000
	rec := NewRecorder("w", record.NewClock(), 1)
	var busy, flusher sync.WaitGroup
	stop := make(chan struct{})
	var c caught
	flusher.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				rec.Flush(c.emit)
				rec.Progress()
			}
		}
	})
	for w := range workers {
		busy.Go(func() {
			op := rec.Op("create", w%2)
			for i := range each {
				end := time.Duration(i) * ms
				op.Record(Sample{Worker: w, Seq: uint64(i), Intended: end - ms, Start: end - ms, End: end, Outcome: record.Outcome(i % 3)})
			}
		})
	}
	busy.Wait()
	close(stop)
	flusher.Wait()
	rec.Flush(c.emit)
	var n, ok uint64
	for _, w := range c.windows {
		n += w.OK + w.Failed + w.InDoubt
		ok += w.OK
		if w.Response.Count() != w.OK+w.Failed+w.InDoubt || w.Bytes != w.OK*uint64(w.Size) {
			t.Errorf("window %+v", w)
		}
	}
	total := uint64(0)
	for _, p := range rec.Progress() {
		total += p.OK + p.Failed + p.InDoubt
	}
	if n != workers*each || total != n || ok != workers*(each/3+1) {
		t.Errorf("%d in windows, %d in progress, %d ok, want %d", n, total, ok, workers*each)
	}
}

// TestLateFlush has no Flush for minutes: every operation still goes into its own second.
func TestLateFlush(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := NewRecorder("w", record.NewClock(), 1)
		op := rec.Op("create", 0)
		want := map[time.Duration]uint64{}
		for range rapid.IntRange(0, 400).Draw(t, "ops") {
			end := time.Duration(rapid.IntRange(0, 200_000).Draw(t, "end")) * ms
			want[end.Truncate(time.Second)]++
			op.Record(Sample{Worker: rapid.IntRange(0, 9).Draw(t, "worker"), Intended: end, Start: end, End: end})
		}
		total := uint64(0)
		for _, n := range want {
			total += n
		}
		if got := rec.Progress()[0].OK; got != total {
			t.Fatalf("progress says %d, want %d", got, total)
		}
		var c caught
		rec.Flush(c.emit)
		for _, w := range c.windows {
			if want[w.At] != w.OK || w.Service.Count() != w.OK {
				t.Fatalf("second %s has %d, want %d", w.At, w.OK, want[w.At])
			}
			delete(want, w.At)
		}
		if len(want) != 0 || !slices.IsSortedFunc(c.windows, func(a, b record.Window) int { return int(a.At - b.At) }) {
			t.Fatalf("left %v, or not in order", want)
		}
	})
}

func TestRecordDoesNotAllocate(t *testing.T) {
	rec := NewRecorder("w", record.NewClock(), 1)
	op := rec.Op("create", 100)
	end := time.Duration(0)
	n := testing.AllocsPerRun(5000, func() { // five seconds, with no Flush but for the one a second
		end += ms
		op.Record(Sample{Worker: int(end / ms), Path: "/a", Intended: end - end%977, Start: end, End: end + end%1009, Outcome: record.Outcome(end / ms % 3)})
		if end%time.Second == 0 {
			for i := range op.shards {
				s := &op.shards[i]
				s.spare, s.open = s.open, s.spare[:0]
				s.giveBack()
			}
		}
	})
	if n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// TestEmitMayUseTheRecorder fails by its deadline when a lock is held while emitting.
func TestEmitMayUseTheRecorder(t *testing.T) {
	rec := NewRecorder("w", record.NewClock(), 1)
	op := rec.Op("create", 0)
	op.Record(Sample{End: ms})
	rec.Flush(func(record.Event) {
		op.Record(Sample{End: ms})
		rec.Op("delete", 0)
		rec.Progress()
	})
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := NewRecorder("w", record.NewClock(), 1)
		op := rec.Op("create", 100)
		rec.Op("delete", 0)
		var c caught
		for i := range 30 { // 10 a second at 20 ms, and 100 a second at 2 ms from second 15 on
			for k := range 100 {
				if d := 20 * ms; i < 15 && k%10 == 0 {
					op.Record(Sample{Worker: k, Intended: rec.Clock().Now() - d, Start: rec.Clock().Now() - d, End: rec.Clock().Now()})
				} else if d = 2 * ms; i >= 15 {
					op.Record(Sample{Worker: k, Intended: rec.Clock().Now() - d, Start: rec.Clock().Now() - d, End: rec.Clock().Now()})
				}
				time.Sleep(10 * ms)
			}
			rec.Flush(c.emit)
			if i == 4 {
				if p := rec.Progress()[0]; p.OK != 50 || p.RecentTPS != 10 || p.RecentMean != 20*ms {
					t.Errorf("after 5 s: %+v", p)
				}
			}
		}
		op.Record(Sample{Outcome: record.Failed, End: rec.Clock().Now(), Start: 0, Intended: -time.Second})
		op.Shed(3)
		p := rec.Progress()
		if len(p) != 2 || p[1] != (Progress{Op: "delete"}) {
			t.Fatalf("got %+v", p)
		}
		if got := p[0]; got.OK != 15*10+15*100 || got.Failed != 1 || got.Shed != 3 || got.Late != 1 || got.RecentTPS != 100 || got.RecentMean != 2*ms || got.RecentP99 != 2*ms {
			t.Errorf("got %+v", got)
		}
		time.Sleep(20 * time.Second)
		rec.Flush(c.emit)
		if got := rec.Progress()[0]; got.RecentTPS != 0 || got.RecentMean != 0 || got.OK != 15*110 {
			t.Errorf("20 s later: %+v", got)
		}
	})
}

// TestRecorderIntoTheRecord flushes at odd times, so that seconds come in parts; the record must add them up.
func TestRecorderIntoTheRecord(t *testing.T) {
	dir := t.TempDir()
	rec := NewRecorder("w", record.NewClock(), 1)
	op := rec.Op("create", 10)
	s, err := record.Create(dir, rec.Clock(), record.Run{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	var busy sync.WaitGroup
	for i := range 500 {
		end := time.Duration(i) * 10 * ms
		op.Record(Sample{Worker: i, Seq: uint64(i), Intended: end - ms, Start: end - ms, End: end})
		if i%37 == 0 {
			rec.Flush(s.Emit)
			busy.Go(func() { rec.Progress() })
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	rec.Flush(s.Emit)
	busy.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	seconds, controls := 0, 0
	err = r.Windows(record.WindowQuery{}, func(w record.Window) error {
		if w.OK != 100 || w.Response.Count() != 100 || w.Bytes != 1000 || w.At != time.Duration(seconds)*time.Second {
			t.Errorf("second %d: %+v", seconds, w)
		}
		seconds++
		return nil
	})
	if err == nil {
		err = r.SlowOps(record.Span{}, func(op record.SlowOp) error {
			if op.Why == record.WhyControl {
				controls++
			}
			return nil
		})
	}
	if err != nil || seconds != 5 || controls < 5*keepControl {
		t.Errorf("%d seconds, %d controls, %v", seconds, controls, err)
	}
}
