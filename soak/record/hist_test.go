package record

import (
	"bytes"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// durations draws what a run may measure, the range's ends included.
func durations(t *rapid.T) []time.Duration {
	one := rapid.Custom(func(t *rapid.T) time.Duration {
		magnitude := rapid.IntRange(0, 43).Draw(t, "magnitude") // 2^43 ns are 2.4 h
		return time.Duration(rapid.Int64Range(0, 1<<magnitude).Draw(t, "ns"))
	})
	return rapid.SliceOfN(one, 0, 300).Draw(t, "durations")
}

// library is HdrHistogram's own of the same range, in microseconds, and how many were beyond.
func library(ds []time.Duration) (h *hdrhistogram.Histogram, over uint64) {
	h = hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	for _, d := range ds {
		if us := max(d.Microseconds(), 1); us > time.Hour.Microseconds() {
			over++
		} else if err := h.RecordValue(us); err != nil {
			panic(err)
		}
	}
	return h, over
}

func TestHistAgainstTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := durations(t)
		h := histOf(ds...)
		if rapid.Bool().Draw(t, "reserve") {
			h = NewHist()
			h.Reserve()
			for _, d := range ds {
				h.Add(d)
			}
		}
		lib, over := library(ds)
		sum, longest := new(big.Int), time.Duration(0)
		for _, d := range ds {
			sum.Add(sum, big.NewInt(int64(d)))
			longest = max(longest, d)
		}
		if h.Count() != uint64(len(ds)) || h.Over() != over || h.Max() != longest {
			t.Fatalf("count %d over %d max %s, want %d %d %s", h.Count(), h.Over(), h.Max(), len(ds), over, longest)
		}
		if len(ds) > 0 && int64(h.Mean()) != sum.Div(sum, big.NewInt(int64(len(ds)))).Int64() {
			t.Fatalf("mean %s", h.Mean())
		}
		for _, b := range lib.Distribution() {
			if us := b.To; us >= 1 {
				above := uint64(0)
				for _, d := range ds {
					if d.Microseconds() > us {
						above++
					}
				}
				if got := h.CountAbove(time.Duration(us)*time.Microsecond + 999); got != above && longest > time.Duration(us)*time.Microsecond+999 {
					t.Fatalf("above %d us: %d, want %d", us, got, above)
				}
			}
		}
		if over > 0 {
			return // the library has no place for those in its quantiles
		}
		for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1} {
			want := time.Duration(lib.ValueAtPercentile(100*q)+1)*time.Microsecond - 1
			if q == 0 && len(ds) > 0 { // the library gives the lower end there
				want = time.Duration(bucketHigh(bucketOf(max(lib.Min(), 1)))+1)*time.Microsecond - 1
			}
			if want = min(want, longest); h.Quantile(q) != want {
				t.Fatalf("quantile %g: %s, want %s", q, h.Quantile(q), want)
			}
		}
	})
}

func TestBucketsCoverTheRange(t *testing.T) {
	lib := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	for us := int64(1); us <= histTop; us += 1 + us/997 {
		i := bucketOf(us)
		if i >= histLen {
			t.Fatalf("%d us falls into bucket %d of %d", us, i, histLen)
		}
		if us > bucketHigh(i) || i > 1 && us <= bucketHigh(i-1) || !lib.ValuesAreEquivalent(us, bucketHigh(i)) {
			t.Fatalf("%d us falls into bucket %d, which ends at %d", us, i, bucketHigh(i))
		}
	}
	if i := bucketOf(histTop); i >= histLen {
		t.Errorf("an hour falls into bucket %d of %d", i, histLen)
	}
}

func TestHistMergeResetClone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := durations(t), durations(t)
		into := NewHist()
		if rapid.Bool().Draw(t, "reserve") {
			into.Reserve()
		}
		for _, d := range durations(t) {
			into.Add(d)
		}
		into.Reset()
		if into.Count() != 0 || into.Max() != 0 || into.Mean() != 0 || into.Quantile(1) != 0 || len(into.appendTo(nil)) != 0 {
			t.Fatal("something is left after Reset")
		}
		into.Merge(histOf(a...))
		clone := into.Clone()
		into.Merge(histOf(b...))
		into.Merge(nil)
		into.Merge(NewHist())
		same(t, into, histOf(append(slices.Clone(a), b...)...))
		same(t, clone, histOf(a...)) // it is of its own
		clone.Merge(histOf(b...))
		same(t, clone, into)
	})
}

func same(t interface{ Fatalf(string, ...any) }, got, want *Hist) {
	g, _ := got.MarshalBinary()
	w, _ := want.MarshalBinary()
	if !bytes.Equal(g, w) || got.Count() != want.Count() {
		t.Fatalf("histograms differ: %d and %d durations, %x and %x", got.Count(), want.Count(), g, w)
	}
}

func TestHistSurvivesItsEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := histOf(durations(t)...)
		for range rapid.IntRange(0, 70).Draw(t, "doublings") { // counts past 2^63
			if h.n < 1<<63 {
				h.Merge(h.Clone())
			}
		}
		b, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		back := histOf(time.Hour) // what was there goes
		if err := back.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		same(t, back, h)
		if back.Mean() != h.Mean() || back.Max() != h.Max() || back.Over() != h.Over() || back.Quantile(0.7) != h.Quantile(0.7) {
			t.Fatal("answers differ")
		}
	})
}

func TestHistEdges(t *testing.T) {
	h := histOf(-1, 0, 1, 999)
	if h.Count() != 4 || h.Max() != 999 || h.Mean() != 250 || h.Quantile(0.5) != 999 || h.CountAbove(0) != 0 {
		t.Errorf("below a microsecond: count %d max %d mean %d median %d", h.Count(), h.Max(), h.Mean(), h.Quantile(0.5))
	}
	h = histOf(time.Hour, time.Hour+time.Millisecond, math.MaxInt64)
	if h.Over() != 2 || h.Max() != math.MaxInt64 || h.Quantile(0.99) != math.MaxInt64 || h.CountAbove(time.Hour) != 2 || h.CountAbove(2*time.Hour) != 2 {
		t.Errorf("beyond an hour: over %d max %d", h.Over(), h.Max())
	}
	for range 100 {
		h.Merge(histOf(math.MaxInt64, math.MaxInt64))
	}
	if h.Mean() < math.MaxInt64/10*9 {
		t.Errorf("the sum wraps: mean %s", h.Mean())
	}
	var none *Hist
	if none.Count() != 0 || none.Over() != 0 || none.Max() != 0 || none.Mean() != 0 || none.Quantile(0.5) != 0 || none.CountAbove(0) != 0 || none.Clone().Count() != 0 {
		t.Error("a nil histogram is not empty")
	}
}

func TestHistAddDoesNotAllocate(t *testing.T) {
	h := NewHist()
	h.Reserve()
	d := time.Duration(1)
	if n := testing.AllocsPerRun(1000, func() { h.Add(d); d += d/7 + 1; d %= 2 * time.Hour }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzHistUnmarshal(f *testing.F) {
	for _, h := range []*Hist{NewHist(), histOf(1), histOf(1e6, 1e6, 2e9, 1<<62)} {
		b, _ := h.MarshalBinary()
		f.Add(b)
	}
	f.Add([]byte{histCode, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		h := NewHist()
		if err := h.UnmarshalBinary(b); err != nil {
			if h.Count() != 0 {
				t.Error("damaged bytes left something")
			}
			return
		}
		if cap(h.idx) > len(b) {
			t.Errorf("%d buckets taken for %d bytes", cap(h.idx), len(b))
		}
		if h.Mean() > h.Max() || h.Quantile(0.5) > h.Max() || h.CountAbove(0) > h.Count() {
			t.Errorf("mean %s, median %s, max %s", h.Mean(), h.Quantile(0.5), h.Max())
		}
		b, _ = h.MarshalBinary()
		var again Hist
		if err := again.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		same(t, &again, h)
		again.Merge(h)
		again.Reset()
	})
}

// BenchmarkHist shows that the cost of a second with few operations does not depend on the range.
func BenchmarkHist(b *testing.B) {
	few := histOf(1e6, 2e6, 3e6, 4e6, 5e6)
	into := NewHist()
	into.Reserve()
	b.Run("merge, encode and reset 5", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			into.Merge(few)
			buf = into.appendTo(buf[:0])
			into.Reset()
		}
	})
}
