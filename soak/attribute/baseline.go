package attribute

import (
	"slices"
	"time"
)

// What a stall is.
const (
	MinStall    = 150 * time.Millisecond // no response shorter than this is a stall
	stallFactor = 10                     // times the baseline median
)

// tails are how long after a fault was healed its seconds are not clean: the longest that leaves enough seconds.
var tails = []time.Duration{15 * time.Second, 5 * time.Second, time.Second}

// enough clean seconds for a baseline.
const enough = 10

// baselines finds what every operation looks like while nothing is wrong. Clean seconds are those of the
// load outside faults (from a second before the injection until a tail after healing) and purges. An
// operation with too few of them takes those of the warm-up too, and then, at last, the better half of its
// load: a run without a quiet second is still compared with its own best.
func baselines(t *table, a *Analysis) []Baseline {
	lo, hi := t.second(a.Load.From), t.second(a.Load.To)
	out := make([]Baseline, 0, len(t.rows))
	for _, r := range t.rows {
		var picked []int
		for _, tail := range tails {
			picked = pick(r, lo, hi, cleanMask(t, a, tail, hi))
			if len(picked) >= enough {
				break
			}
		}
		if len(picked) < enough {
			picked = append(pick(r, 0, lo, nil), picked...)
		}
		if len(picked) < enough {
			picked = betterHalf(r, pick(r, lo, hi, nil))
		}
		out = append(out, measure(r, picked))
	}
	return out
}

// cleanMask marks the seconds up to hi that no fault and no purge touches.
func cleanMask(t *table, a *Analysis, tail time.Duration, hi int) []bool {
	mask := purgeMask(t, a, hi)
	for _, f := range a.Faults {
		if f.Injected <= 0 {
			continue
		}
		to := a.Load.To
		if f.To > 0 {
			to = f.To + tail
		}
		t.taint(mask, Span{From: f.Injected - time.Second, To: to})
	}
	return mask
}

// purgeMask marks the seconds up to hi that no purge touches.
func purgeMask(t *table, a *Analysis, hi int) []bool {
	mask := make([]bool, max(0, hi))
	for i := range mask {
		mask[i] = true
	}
	for _, p := range a.Purges {
		t.taint(mask, Span{From: p.At, To: max(p.To, p.At+1)})
	}
	return mask
}

// taint takes the seconds that s touches out of mask.
func (t *table) taint(mask []bool, s Span) {
	for i := max(0, t.second(s.From)); i < len(mask) && t.begin(i) < s.To; i++ {
		mask[i] = false
	}
}

// trailing is how many clean seconds before a fault its recovery is compared with.
const trailing = 300

// history is what was normal before each fault, as faults are judged in order of injection: what an earlier
// one spoilt, until the service was back, is never normal for a later one.
type history struct {
	t    *table
	mask []bool
	load int // first second of the load
	rest bars
}

func newHistory(t *table, a *Analysis, rest bars) *history {
	return &history{t: t, mask: purgeMask(t, a, t.second(a.Load.To)), load: t.second(a.Load.From), rest: rest}
}

// before is the baseline of the last clean seconds before an injection: those of the load, and where they are
// few those of the warm-up too. Without any, the baseline of the whole run has to do.
func (h *history) before(injected time.Duration) bars {
	m := bars{}
	for _, r := range h.t.rows {
		var picked []int
		for i := min(len(h.mask), h.t.second(injected-time.Second)) - 1; i >= 0 && len(picked) < trailing; i-- {
			if i < h.load && len(picked) >= enough {
				break
			}
			if h.mask[i] && r.running(i) {
				picked = append(picked, i)
			}
		}
		if m[r.key] = measure(r, picked); m[r.key].Seconds == 0 {
			m[r.key] = h.rest.of(r.key)
		}
	}
	return m
}

// spoilt takes what a fault did out of what is normal.
func (h *history) spoilt(f Recovery) {
	h.t.taint(h.mask, Span{From: f.Injected - time.Second, To: max(f.Reach.To, f.To)})
}

// pick is the seconds in [lo, hi) in which the operation runs and that mask allows; nil allows all.
func pick(r *row, lo, hi int, mask []bool) []int {
	var out []int
	for i := max(0, lo); i < hi; i++ {
		if r.running(i) && (mask == nil || mask[i]) {
			out = append(out, i)
		}
	}
	return out
}

// betterHalf is the half of the seconds with the lower p99.
func betterHalf(r *row, seconds []int) []int {
	slices.SortStableFunc(seconds, func(x, y int) int { return int(r.ticks[x].p99 - r.ticks[y].p99) })
	return seconds[:(len(seconds)+1)/2]
}

func measure(r *row, seconds []int) Baseline {
	b := Baseline{Workload: r.key.workload, Op: r.key.op, Size: r.key.size, Threshold: MinStall}
	var p50, p99 []time.Duration
	var ok, failed []float64
	for _, i := range seconds {
		x := r.ticks[i]
		ok, failed = append(ok, float64(x.ok)), append(failed, float64(x.failed))
		if x.ok+x.failed > 0 {
			p50, p99 = append(p50, x.p50), append(p99, x.p99)
		}
	}
	if len(p50) == 0 {
		return b
	}
	b.Seconds = len(seconds)
	b.Median, b.P99, b.TPS, b.Failed = quantile(p50, .5), quantile(p99, .95), quantile(ok, .1), quantile(failed, .95)
	b.Threshold = max(MinStall, stallFactor*b.Median)
	return b
}

// quantile of values by nearest rank; it sorts them.
func quantile[T time.Duration | float64](v []T, q float64) T {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

// bars are the baselines by operation.
type bars map[opKey]Baseline

func newBars(bs []Baseline) bars {
	m := bars{}
	for _, b := range bs {
		m[opKey{b.Workload, b.Op, b.Size}] = b
	}
	return m
}

// of is the baseline of an operation, also of one that has none.
func (m bars) of(k opKey) Baseline {
	if b, ok := m[k]; ok {
		return b
	}
	return Baseline{Workload: k.workload, Op: k.op, Size: k.size, Threshold: MinStall}
}
