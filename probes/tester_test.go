package probes

import (
	"context"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/record"
)

func TestTesterSaysOnlyWhatIsLongerThanAStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		made, err := New(Spec{Kind: "tester"}, Env{Clock: record.NewClock()})
		if err != nil {
			t.Fatal(err)
		}
		p := made.(*tester)
		turn := 0
		p.sleep = func(ctx context.Context, d time.Duration) bool {
			turn++
			switch turn {
			case 10:
				d += p.own.Stall // exactly at the limit is no stall yet
			case 20:
				d += p.own.Stall + time.Millisecond
			}
			return record.Wait(ctx, d)
		}
		h := &heard{}
		if err := p.Watch(ctx, h.emit); err != nil {
			t.Fatal(err)
		}
		es := all[record.Evidence](h.events)
		if len(es) != 1 || es[0].Magnitude != 0.051 || es[0].Uncertainty != p.own.Sleep {
			t.Errorf("%+v", es)
		}
	})
}

func TestHistogramSinceTheLastSample(t *testing.T) {
	t.Parallel()
	buckets := []float64{0, 1, 2, 4, 8}
	before := &metrics.Float64Histogram{Counts: []uint64{1000, 0, 0, 5}, Buckets: buckets}
	now := &metrics.Float64Histogram{Counts: []uint64{1050, 48, 2, 5}, Buckets: buckets}
	if p99, top := since(before, now); p99 != 4 || top != 4 {
		t.Errorf("%v %v", p99, top)
	}
	now.Counts = []uint64{1099, 1, 0, 5}
	if p99, top := since(before, now); p99 != 1 || top != 2 {
		t.Errorf("%v %v", p99, top)
	}
	if p99, top := since(now, now); p99 != 0 || top != 0 {
		t.Errorf("%v %v of nothing", p99, top)
	}
}
