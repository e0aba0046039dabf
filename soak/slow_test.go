package soak

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nightshift/soak/record"
)

func TestTheSlowestAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := NewRecorder("w", record.NewClock(), Seed(rapid.Uint64().Draw(t, "seed")))
		op := rec.Op("create", 5)
		var good []time.Duration
		failed, n := 0, rapid.IntRange(0, 500).Draw(t, "n")
		for i := range n {
			d := time.Duration(rapid.IntRange(0, 1000).Draw(t, "response"))
			s := Sample{Worker: rapid.IntRange(0, 9).Draw(t, "worker"), Seq: uint64(i), Path: "/p", Err: "timeout", Node: "a:1", Intended: -d, End: 0,
				Outcome: record.Outcome(max(0, rapid.IntRange(-5, 2).Draw(t, "outcome")))}
			if op.Record(s); s.Outcome == record.OK {
				good = append(good, d)
			} else {
				failed++
			}
		}
		var c caught
		rec.Flush(c.emit)
		if got := len(c.why(record.WhyFailed)); failed <= keepFailed && got != failed || got > keepFailed {
			t.Fatalf("kept %d of %d failed", got, failed)
		}
		if got := len(c.why(record.WhyControl)); got != min(n, keepControl) {
			t.Fatalf("kept %d controls of %d", got, n)
		}
		if failed > keepFailed {
			return // then failed ones are among the slow
		}
		slices.SortFunc(good, func(a, b time.Duration) int { return int(b - a) })
		slow := c.why(record.WhySlow)
		if len(slow) != min(len(good), keepSlow) {
			t.Fatalf("kept %d slow ones of %d", len(slow), len(good))
		}
		for i, s := range slow {
			if s.End-s.At != good[i] || s.Path != "/p" || s.Size != 5 || s.Node != "a:1" || s.Workload != "w" || s.Op != "create" || s.Outcome != record.OK {
				t.Fatalf("slow %d is %+v, want %d ns", i, s, good[i])
			}
		}
	})
}

// TestControlsAreUniform has uneven shards: every operation must be drawn with the same chance.
func TestControlsAreUniform(t *testing.T) {
	const n, rounds = 400, 2000
	r := Seed(42).Stream("test")
	drawn := make([]float64, n)
	for range rounds {
		parts := []*kept{{}, {}, {}}
		for i := range n {
			part := 0 // 10 on the first, 50 on the second, the rest on the third
			if i >= 10 {
				part = 1
			}
			if i >= 60 {
				part = 2
			}
			parts[part].offer(&Sample{Seq: uint64(i)}, r)
		}
		control := drawControl(parts, r)
		if len(control) != keepControl {
			t.Fatalf("drew %d", len(control))
		}
		seen := map[uint64]bool{}
		for _, s := range control {
			if drawn[s.Seq]++; seen[s.Seq] {
				t.Fatalf("%d was drawn twice", s.Seq)
			}
			seen[s.Seq] = true
		}
	}
	// The sum of squared deviations is near chi-squared of n-1 degrees, whose standard deviation is sqrt(2n).
	p := float64(keepControl) / n
	chi := 0.0
	for _, d := range drawn {
		chi += math.Pow(d-rounds*p, 2) / (rounds * p * (1 - p))
	}
	if math.Abs(chi-n) > 6*math.Sqrt(2*n) {
		t.Errorf("chi-squared %.0f, want near %d", chi, n)
	}
}

// TestSameSeedSameControls: with one shard nothing but the seed decides.
func TestSameSeedSameControls(t *testing.T) {
	draw := func(seed Seed) (seqs []uint64) {
		rec := NewRecorder("w", record.NewClock(), seed)
		rec.shards = 1
		op := rec.Op("create", 0)
		for i := range 1000 {
			op.Record(Sample{Seq: uint64(i), End: time.Duration(i) * 3 * ms})
		}
		var c caught
		rec.Flush(c.emit)
		for _, s := range c.why(record.WhyControl) {
			seqs = append(seqs, s.Seq)
		}
		return seqs
	}
	if a := draw(1); !slices.Equal(a, draw(1)) || slices.Equal(a, draw(2)) {
		t.Error("the seed does not decide")
	}
}
