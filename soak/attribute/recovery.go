package attribute

import (
	"time"

	"nightshift/soak/record"
)

// DefaultLimit is how long recovery may take where the fault does not say.
const DefaultLimit = time.Minute

// goodSeconds in a row are a recovery; it is dated to the begin of the first.
const goodSeconds = 3

// slack: a second is back to baseline when its p99 is at most max(2 x P99, P99 + slack).
const slack = 50 * time.Millisecond

// limit of the fault's recovery.
func limit(f record.Fault) time.Duration {
	if f.Limit > 0 {
		return f.Limit
	}
	return DefaultLimit
}

// cutoff is where looking for the recovery of f ends.
func cutoff(f record.Fault, load Span) time.Duration {
	if f.To <= 0 {
		return load.To
	}
	return max(f.To, min(load.To, f.To+limit(f)+goodSeconds*time.Second))
}

// recovery judges how the service took a fault; m is what was normal before it. ops are the kept operations that were due from lookback
// before the injection to the cutoff; those of other systems are passed over.
func recovery(f *Recovery, a *Analysis, t *table, m bars, ops []record.SlowOp, system string) {
	if f.Injected <= 0 {
		f.Unjudged = "it was not injected"
		return
	}
	end := cutoff(f.Fault, a.Load)
	window := Span{From: f.Injected, To: end}
	if f.To > 0 {
		window.To = f.To
	}
	f.Offered = offered(t, window, system)
	if f.Offered == 0 {
		// An operation counts in the second it ends in; in an outage that outlasts the fault none does.
		f.Offered = openIn(t, window, ops, system)
	}
	back, found := firstGood(t, m, f.To, end, system)
	search := Span{From: f.Injected, To: end}
	if found {
		search.To = max(back, f.To)
	}
	detect, noticed := firstTrouble(t, m, search, ops, system)
	f.Reach = Span{From: f.Injected, To: search.To}
	switch {
	case f.Offered == 0:
		f.Unjudged = "no operation was wanted while it was in effect"
		f.Reach.To = max(f.To, f.Injected)
		return
	case !noticed && f.To > 0:
		f.Unnoticed, f.Recovered = true, new(time.Duration)
		f.Reach.To = f.To
		return
	}
	if noticed {
		d := detect - f.Injected
		f.Detect = &d
		if s, ok := firstSuccess(t, Span{From: detect, To: end}, ops, system); ok {
			s -= f.Injected
			f.FirstSuccess = &s
		}
	}
	switch {
	case f.To <= 0:
		f.Unjudged = "it was never seen healed"
	case found:
		d := back - f.Injected
		f.Recovered, f.Overdue = &d, back-f.To > limit(f.Fault)
	case a.Load.To >= f.To+limit(f.Fault) && !crossed(a, *f):
		f.Overdue = true
	case crossed(a, *f):
		f.Unjudged = "another fault began before the service was back"
	default:
		f.Unjudged = "the load ended before the service was back"
	}
}

// crossed says that another fault was injected inside f's recovery limit.
func crossed(a *Analysis, f Recovery) bool {
	for _, o := range a.Faults {
		if o.ID != f.ID && o.Injected >= f.Injected && o.Injected < f.To+limit(f.Fault) && (o.To == 0 || o.To > f.To) {
			return true
		}
	}
	return false
}

// offered is how many operations the schedule wanted in seconds that s touches.
func offered(t *table, s Span, system string) uint64 {
	var n uint64
	for _, r := range t.rows {
		if !t.matches(system, r.key.workload) {
			continue
		}
		for i := max(0, t.second(s.From)); i < len(r.ticks) && t.begin(i) <= s.To; i++ {
			x := r.ticks[i]
			n += x.ok + x.failed + x.shed
		}
	}
	return n
}

// openIn is how many kept operations were open in s.
func openIn(t *table, s Span, ops []record.SlowOp, system string) uint64 {
	var n uint64
	for _, o := range ops {
		if t.matches(system, o.Workload) && o.At <= s.To && o.End >= s.From {
			n++
		}
	}
	return n
}

// firstGood is the begin of the first of goodSeconds good seconds in a row, after healed and before end.
func firstGood(t *table, m bars, healed, end time.Duration, system string) (time.Duration, bool) {
	if healed <= 0 {
		return 0, false
	}
	run := 0
	for i := max(0, t.second(ceilSecond(healed))); t.begin(i+1) <= end; i++ {
		if !good(t, m, i, system) {
			run = 0
			continue
		}
		if run++; run == goodSeconds {
			return t.begin(i - goodSeconds + 1), true
		}
	}
	return 0, false
}

// good says that second i is back to baseline: something runs, no more fails or is in doubt than ever,
// every operation's p99 is within its bar, and the system gives at least half of its baseline throughput.
func good(t *table, m bars, i int, system string) bool {
	var ok, want float64
	alive := false
	for _, r := range t.rows {
		if !t.matches(system, r.key.workload) || !r.running(i) {
			continue
		}
		x, b := r.at(i), m.of(r.key)
		if float64(x.failed) > b.Failed || b.Seconds > 0 && x.p99 > max(2*b.P99, b.P99+slack) {
			return false
		}
		alive = alive || x.ok > 0
		ok, want = ok+float64(x.ok), want+b.TPS
	}
	return (alive || want == 0 && anyRunning(t, i, system)) && ok >= want/2
}

// anyRunning says that some operation of the system is between its first and last sign of life.
func anyRunning(t *table, i int, system string) bool {
	for _, r := range t.rows {
		if t.matches(system, r.key.workload) && r.running(i) {
			return true
		}
	}
	return false
}

// firstTrouble is when a client first noticed: an operation failed, or was open longer than its threshold.
// Kept operations say it exactly; seconds whose operations were not kept say it to a second.
func firstTrouble(t *table, m bars, s Span, ops []record.SlowOp, system string) (time.Duration, bool) {
	at, found := time.Duration(0), false
	see := func(d time.Duration) {
		d = max(d, s.From)
		if d < s.To && (!found || d < at) {
			at, found = d, true
		}
	}
	for _, o := range ops {
		if !t.matches(system, o.Workload) || o.End < s.From {
			continue
		}
		// What had stalled before the injection was not noticed because of it.
		passed := o.At + m.of(opKey{o.Workload, o.Op, o.Size}).Threshold
		if o.End >= passed && passed >= s.From {
			see(passed)
		}
		if o.Outcome != record.OK {
			see(o.End)
		}
	}
	if found {
		return at, true
	}
	for _, r := range t.rows {
		if !t.matches(system, r.key.workload) {
			continue
		}
		th := m.of(r.key).Threshold
		// The second of the injection is left out: what it counts may have been before.
		for i := max(0, t.second(s.From)+1); i < len(r.ticks) && t.begin(i) < s.To; i++ {
			if x := r.ticks[i]; x.failed > 0 || x.max >= th {
				see(t.begin(i))
				break
			}
		}
	}
	return at, found
}

// firstSuccess is the end of the first operation that succeeded after s.From.
func firstSuccess(t *table, s Span, ops []record.SlowOp, system string) (time.Duration, bool) {
	at, found := time.Duration(0), false
	for _, o := range ops {
		if o.Outcome == record.OK && t.matches(system, o.Workload) && o.End > s.From && (!found || o.End < at) {
			at, found = o.End, true
		}
	}
	for _, r := range t.rows {
		if !t.matches(system, r.key.workload) {
			continue
		}
		for i := t.second(s.From) + 1; i < len(r.ticks) && t.begin(i) <= s.To; i++ {
			if r.ticks[i].ok > 0 {
				if end := t.begin(i + 1); !found || end < at {
					at, found = end, true
				}
				break
			}
		}
	}
	return at, found
}
