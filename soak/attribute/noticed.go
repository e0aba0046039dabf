package attribute

import (
	"time"

	"nightshift/soak/record"
)

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
