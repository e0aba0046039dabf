package soak

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"nightshift/soak/record"
)

// BenchmarkNightOnDisk writes what 10 minutes of three workloads and 150 series give, and says how large the record of eight
// hours of it is. What a second costs in time is ns/op divided by 600.
func BenchmarkNightOnDisk(b *testing.B) {
	for b.Loop() {
		s, err := record.Create(b.TempDir(), record.NewClock(), record.Run{ID: "r"})
		if err != nil {
			b.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		type load struct {
			op   *Op
			rate int
			open bool
		}
		var loads []load
		var recs []*Recorder
		for name, ops := range map[string]map[string]int{
			"ephemeral": {"create": 500, "delete": 500}, "pubsub": {"create": 50, "set": 100, "event": 300, "data": 300}, "setdata": {"set": 500},
		} {
			rec := NewRecorder(name, record.NewClock(), 1)
			recs = append(recs, rec)
			for op, rate := range ops {
				loads = append(loads, load{rec.Op(op, 1024), rate, name != "setdata"})
			}
		}
		for sec := range 600 {
			begin := time.Duration(sec) * time.Second
			for _, l := range loads {
				for k := range l.rate {
					start := begin + time.Duration(k)*time.Second/time.Duration(l.rate)
					due, end := start, start+time.Duration(math.Exp(rng.NormFloat64()*0.5)*float64(4*time.Millisecond))
					if l.open {
						due -= time.Duration(rng.ExpFloat64() * float64(200*time.Microsecond))
					}
					l.op.Record(Sample{Worker: k % 20, Path: fmt.Sprintf("/nightshift/run/w%d/p%d", k%20, k%5), Seq: uint64(sec*l.rate + k),
						Intended: due, Start: start, End: end, Node: fmt.Sprintf("127.0.0.1:%d", 2181+k%3)})
				}
			}
			for i := range 150 {
				v := float64(rng.IntN(1000))
				if i%3 == 0 {
					v = float64(i) // most settings and limits never change
				}
				s.Emit(record.Series{Stamp: record.Stamp{At: begin + time.Duration(rng.IntN(1e6))}, Name: fmt.Sprint("series", i), Node: "n1", Value: v})
			}
			for _, rec := range recs {
				rec.Flush(s.Emit)
			}
			if err := s.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.Written())*48/1e6, "MB/8h")
	}
}
