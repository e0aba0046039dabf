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

// course is how one fault went, while it is judged.
type course struct {
	f      *Recovery
	a      *Analysis
	t      *table
	m      bars   // what was normal before
	system string // operations of other systems are passed over
	end    time.Duration
	back   time.Duration // begin of the recovery
	found  bool
}

func newCourse(f *Recovery, a *Analysis, t *table, m bars, system string) *course {
	c := &course{f: f, a: a, t: t, m: m, system: system}
	if f.Injected > 0 {
		c.end = cutoff(f.Fault, a.Load)
		c.back, c.found = firstGood(t, m, f.To, c.end, system)
	}
	return c
}

// search is where clients may have noticed the fault.
func (c *course) search() Span {
	s := Span{From: c.f.Injected, To: c.end}
	if c.found {
		s.To = max(c.back, c.f.To)
	}
	return s
}

// looksAt is when the operations were due that judge needs to see: what was still open at the injection
// is found by the longest response since.
func (c *course) looksAt() Span {
	if c.f.Injected <= 0 {
		return Span{}
	}
	s := c.search()
	longest := time.Duration(0)
	for _, r := range c.t.rows {
		for i := max(0, c.t.second(s.From)); i < len(r.ticks) && c.t.begin(i) <= s.To; i++ {
			longest = max(longest, r.ticks[i].max)
		}
	}
	return Span{From: max(0, s.From-longest-time.Second), To: s.To + time.Second}
}

// judge says how the service took the fault.
func (c *course) judge(ops []record.SlowOp) {
	f := c.f
	if f.Injected <= 0 {
		f.Unjudged = "it was not injected"
		return
	}
	effect := Span{From: f.Injected, To: c.end}
	if f.To > 0 {
		effect.To = f.To
	}
	f.Offered = offered(c.t, effect, c.system)
	if f.Offered == 0 {
		// An operation counts in the second it ends in; in an outage that outlasts the fault none does.
		f.Offered = openIn(c.t, effect, ops, c.system)
	}
	detect, noticed := firstTrouble(c.t, c.m, c.search(), ops, c.system)
	f.Reach = c.search()
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
		if s, ok := firstSuccess(c.t, Span{From: detect, To: c.end}, ops, c.system); ok {
			s -= f.Injected
			f.FirstSuccess = &s
		}
	}
	c.recovered()
}

// recovered says whether the service was back, and in time.
func (c *course) recovered() {
	f := c.f
	switch {
	case f.To <= 0:
		f.Unjudged = "it was never seen healed"
	case c.found:
		d := c.back - f.Injected
		f.Recovered, f.Overdue = &d, c.back-f.To > limit(f.Fault)
	case crossed(c.a, *f):
		f.Unjudged = "another fault began before the service was back"
	case c.a.Load.To >= f.To+limit(f.Fault):
		f.Overdue = true
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

// firstGood is the begin of the first of goodSeconds good seconds in a row, after healed and before end.
func firstGood(t *table, m bars, healed, end time.Duration, system string) (time.Duration, bool) {
	if healed <= 0 {
		return 0, false
	}
	run, proven := 0, false
	for i := max(0, t.second(ceilSecond(healed))); t.begin(i+1) <= end; i++ {
		fits, alive := good(t, m, i, system)
		if !fits {
			run, proven = 0, false
			continue
		}
		run++
		// A load so thin that most seconds have nothing shows by a success that it is served again, never by silence.
		if proven = proven || alive; run >= goodSeconds && proven {
			return t.begin(i - run + 1), true
		}
	}
	return 0, false
}

// good says that second i is back to baseline: something runs, no more fails or is in doubt than ever,
// every operation's p99 is within its bar, and the system gives at least half of its baseline throughput.
// alive says that something succeeded in it.
func good(t *table, m bars, i int, system string) (fits, alive bool) {
	var ok, want float64
	for _, r := range t.rows {
		if !t.matches(system, r.key.workload) || !r.running(i) {
			continue
		}
		x, b := r.at(i), m.of(r.key)
		// An operation passes through nightshift twice: its own hold-ups are not the service's.
		bar := max(2*b.P99, b.P99+slack) + 2*t.held[i]
		if float64(x.failed) > b.Failed || b.Seconds > 0 && x.p99 > bar {
			return false, false
		}
		alive = alive || x.ok > 0
		ok, want = ok+float64(x.ok), want+b.TPS
	}
	return (alive || want == 0 && anyRunning(t, i, system)) && ok >= want/2, alive
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
