package soak

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nightshift/soak/record"
)

// BenchmarkRecorder has 8 goroutines record operations, and beside it, in alternating pairs of the same run, one goroutine
// add the same durations to one bare histogram of the library. x-bare is how many of those adds one Record costs in
// elapsed time, x-bare-cpu the same in time of cores.
func BenchmarkRecorder(b *testing.B) {
	const workers, block, mask = 8, 1 << 15, 1<<12 - 1
	rec := NewRecorder("w", record.NewClock(), 1)
	op := rec.Op("create", 100)
	rng := rand.New(rand.NewPCG(1, 2))
	var times [mask + 1]time.Duration
	var micros [mask + 1]int64
	for i := range times {
		times[i] = time.Duration(rng.ExpFloat64() * float64(2*time.Millisecond))
		micros[i] = times[i].Microseconds()
	}
	bare := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	bareAdd := func(n int) time.Duration {
		began := time.Now()
		for i := range n {
			if err := bare.RecordValue(micros[i&mask]); err != nil {
				b.Error(err)
			}
		}
		return time.Since(began)
	}
	recordAll := func(n int, at time.Duration) time.Duration {
		began := time.Now()
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := w; i < n; i += workers {
					d := times[i&mask]
					op.Record(Sample{Worker: w, Path: "/a", Seq: uint64(i), Intended: at - d, Start: at - d/2, End: at, Node: "n"})
				}
			})
		}
		wg.Wait()
		return time.Since(began)
	}
	bareAdd(block) // warm
	recordAll(block, 0)
	b.ReportAllocs()
	b.ResetTimer()
	b.StopTimer()
	var recorded, added time.Duration
	for done := 0; done < b.N; done += block {
		n := min(block, b.N-done)
		added += bareAdd(n)
		b.StartTimer()
		recorded += recordAll(n, time.Duration(done/block)*time.Second/4)
		b.StopTimer()
		rec.Flush(func(record.Event) {})
	}
	b.ReportMetric(float64(added.Nanoseconds())/float64(b.N), "ns-bare/op")
	b.ReportMetric(float64(recorded)/float64(added), "x-bare")
	b.ReportMetric(float64(recorded)/float64(added)*float64(min(workers, runtime.GOMAXPROCS(0))), "x-bare-cpu")
}
