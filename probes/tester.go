package probes

import (
	"context"
	"errors"
	"math"
	"runtime/metrics"
	"time"

	"nightshift/soak/record"
)

func testerInfo() Info {
	return Info{
		Kind:    "tester",
		Purpose: "whether nightshift itself was held up: it sleeps a little again and again and says when it woke late; scheduler and collector of its own runtime",
		Cost:    "100 wake-ups a second, up to 1 % of a core while nightshift is idle; one read of runtime metrics a sample",
		Every:   time.Second,
		Params: []Param{
			{Name: "stall", Default: "50ms", Purpose: "waking later than this is evidence"},
			{Name: "sleep", Default: "10ms", Purpose: "how long each sleep is"},
		},
	}
}

type testerParams struct {
	Stall time.Duration `yaml:"stall" json:"stall"`
	Sleep time.Duration `yaml:"sleep" json:"sleep"`
}

func testerDefaults() testerParams {
	return testerParams{Stall: 50 * time.Millisecond, Sleep: 10 * time.Millisecond}
}

func (p testerParams) check() error {
	if p.Sleep < time.Millisecond || p.Sleep > time.Second {
		return errors.New("sleep must be within 1ms and 1s")
	}
	if p.Stall < p.Sleep {
		return errors.New("stall must not be shorter than sleep")
	}
	return nil
}

// tester absolves or blames the tester: an operation that was slow while nightshift itself did not run says
// nothing of the servers.
type tester struct {
	env    Env
	own    testerParams
	sleep  func(context.Context, time.Duration) bool
	sched  metrics.Float64Histogram
	pauses metrics.Float64Histogram
}

func newTester(_ Spec, env Env, own testerParams) (Probe, error) {
	return &tester{env: env, own: own, sleep: record.Wait}, nil
}

// Name implements Probe.
func (p *tester) Name() string { return "tester" }

// Watch sleeps again and again, without a break, until ctx ends.
func (p *tester) Watch(ctx context.Context, emit record.Emit) error {
	for {
		due := p.env.Clock.Now() + p.own.Sleep
		if !p.sleep(ctx, p.own.Sleep) {
			return nil
		}
		now := p.env.Clock.Now()
		if late := now - due; late > p.own.Stall {
			// It may have stopped running at any moment of the sleep.
			emit(record.Evidence{
				Stamp: record.Stamp{At: due, Uncertainty: p.own.Sleep}, To: now, Class: record.ClassTester,
				Magnitude: late.Seconds(), Unit: "s", Text: "nightshift itself did not run for " + round(late),
			})
		}
	}
}

// Names of the runtime's own metrics.
const (
	metricSched      = "/sched/latencies:seconds"
	metricPauses     = "/sched/pauses/total/gc:seconds"
	metricGoroutines = "/sched/goroutines:goroutines"
	metricHeap       = "/memory/classes/heap/objects:bytes"
)

// Sample implements Probe: what the Go runtime says of the span since the last sample.
func (p *tester) Sample(context.Context) ([]Reading, error) {
	s := []metrics.Sample{{Name: metricSched}, {Name: metricPauses}, {Name: metricGoroutines}, {Name: metricHeap}}
	metrics.Read(s)
	at := p.env.Clock.Stamp()
	var rs []Reading
	one := func(name, unit string, v float64) {
		rs = append(rs, record.Series{Stamp: at, Name: "self." + name, Unit: unit, Value: v})
	}
	for _, h := range []struct {
		before *metrics.Float64Histogram
		now    metrics.Value
		name   string
	}{{&p.sched, s[0].Value, "sched"}, {&p.pauses, s[1].Value, "gc.pause"}} {
		if h.now.Kind() != metrics.KindFloat64Histogram {
			continue
		}
		now := h.now.Float64Histogram()
		p99, top := since(h.before, now)
		one(h.name+".p99", "s", p99)
		one(h.name+".max", "s", top)
		h.before.Counts, h.before.Buckets = append(h.before.Counts[:0], now.Counts...), now.Buckets
	}
	if s[2].Value.Kind() == metrics.KindUint64 {
		one("goroutines", "1", float64(s[2].Value.Uint64()))
	}
	if s[3].Value.Kind() == metrics.KindUint64 {
		one("heap", "By", float64(s[3].Value.Uint64()))
	}
	return rs, nil
}

// since is the 99th percentile and the largest of what was added to a histogram, as the upper bounds of
// their buckets; 0 when nothing was added.
func since(before, now *metrics.Float64Histogram) (p99, top float64) {
	added := func(i int) uint64 {
		if len(before.Counts) == len(now.Counts) {
			return now.Counts[i] - before.Counts[i]
		}
		return now.Counts[i]
	}
	var total, seen uint64
	for i := range now.Counts {
		total += added(i)
	}
	for i := range now.Counts {
		n := added(i)
		if n == 0 {
			continue
		}
		upper := now.Buckets[i+1]
		if math.IsInf(upper, 1) {
			upper = now.Buckets[i]
		}
		if seen+n >= total-total/100 && p99 == 0 {
			p99 = upper
		}
		seen, top = seen+n, upper
	}
	return p99, top
}
