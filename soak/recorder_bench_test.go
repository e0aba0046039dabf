package soak

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nightshift/soak/record"
)

// BenchmarkRecorder has 8 goroutines record operations, and beside it, in alternating pairs of the same run, one goroutine
// add the same durations to one bare histogram. x-bare is how many of those adds one Record costs.
func BenchmarkRecorder(b *testing.B) {
	const workers, block = 8, 1 << 15
	rec := NewRecorder("w", record.NewClock(), 1)
	op := rec.Op("create", 100)
	times := make([]time.Duration, 4096)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range times {
		times[i] = time.Duration(rng.ExpFloat64() * float64(2*time.Millisecond))
	}
	bare := hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)
	record8 := func(n int, at time.Duration) {
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range n / workers {
					d := times[(i+w*512)%len(times)]
					op.Record(Sample{Worker: w, Path: "/a", Seq: uint64(i), Intended: at - d, Start: at - d/2, End: at, Node: "n"})
				}
			})
		}
		wg.Wait()
	}
	bareAdd := func(n int) {
		for i := range n {
			if err := bare.RecordValue(int64(times[i%len(times)] / time.Microsecond)); err != nil {
				b.Error(err)
			}
		}
	}
	record8(block, 0) // warm
	bareAdd(block)
	b.ReportAllocs()
	var recorded, added time.Duration
	done := 0
	for b.Loop() {
		at := time.Duration(done) * time.Second / 4
		b.StopTimer()
		rec.Flush(func(record.Event) {})
		began := time.Now()
		bareAdd(block)
		added += time.Since(began)
		b.StartTimer()
		began = time.Now()
		record8(block, at)
		recorded += time.Since(began)
		done++
	}
	n := float64(done) * block
	b.ReportMetric(float64(recorded.Nanoseconds())/n, "ns/record")
	b.ReportMetric(float64(added.Nanoseconds())/n, "ns/bare")
	b.ReportMetric(float64(recorded)/float64(added), "x-bare")
}
