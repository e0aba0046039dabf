package attribute

import (
	"cmp"
	"context"
	"slices"
	"time"

	"nightshift/soak/record"
)

// opKey names one operation of one workload.
type opKey struct {
	workload, op string
	size         int
}

func compareKeys(x, y opKey) int {
	return cmp.Or(cmp.Compare(x.workload, y.workload), cmp.Compare(x.op, y.op), cmp.Compare(x.size, y.size))
}

// tick is one second of one operation, without its histograms.
type tick struct {
	ok, failed, shed uint64 // failed includes in doubt
	p50, p99, max    time.Duration
}

func (t tick) active() bool { return t.ok+t.failed+t.shed > 0 }

// row is all seconds of one operation; the first one is the second of table.from.
type row struct {
	key         opKey
	ticks       []tick
	first, last int // seconds with any activity; last is -1 when there is none
}

// at is the tick of second i, which may lie outside.
func (r *row) at(i int) tick {
	if i < 0 || i >= len(r.ticks) {
		return tick{}
	}
	return r.ticks[i]
}

// running says that second i lies between the operation's first and last sign of life.
func (r *row) running(i int) bool { return i >= r.first && i <= r.last }

// table is the run by seconds: about 50 bytes for each second of each operation.
type table struct {
	from time.Duration // a whole second
	rows []*row        // in order of key
	byID map[opKey]*row
	held map[int]time.Duration // seconds in which nightshift itself did not run, and for how long at a time
	systems
}

func newTable(from time.Duration, s systems) *table {
	return &table{from: from / time.Second * time.Second, byID: map[opKey]*row{}, held: map[int]time.Duration{}, systems: s}
}

// matches says that a workload loads the system; "" is any.
func (t *table) matches(system, workload string) bool {
	return system == "" || t.of(workload) == system
}

// second is the index of the second that d lies in.
func (t *table) second(d time.Duration) int {
	if d < t.from {
		return -1
	}
	return int((d - t.from) / time.Second)
}

// begin is the offset of second i.
func (t *table) begin(i int) time.Duration { return t.from + time.Duration(i)*time.Second }

// add counts one window of one second.
func (t *table) add(w record.Window) {
	i := t.second(w.At)
	if i < 0 {
		return
	}
	k := opKey{w.Workload, w.Op, w.Size}
	r := t.byID[k]
	if r == nil {
		r = &row{key: k, first: i, last: -1}
		t.byID[k] = r
		at, _ := slices.BinarySearchFunc(t.rows, r, func(x, y *row) int { return compareKeys(x.key, y.key) })
		t.rows = slices.Insert(t.rows, at, r)
	}
	for len(r.ticks) <= i {
		r.ticks = append(r.ticks, tick{})
	}
	x := &r.ticks[i]
	x.ok, x.failed, x.shed = x.ok+w.OK, x.failed+w.Failed+w.InDoubt, x.shed+w.Shed
	if w.Response.Count() > 0 {
		x.p50 = max(x.p50, w.Response.Quantile(.5))
		x.p99 = max(x.p99, w.Response.Quantile(.99))
		x.max = max(x.max, w.Response.Max())
	}
	if x.active() {
		if r.last < 0 {
			r.first = i
		}
		r.first, r.last = min(r.first, i), max(r.last, i)
	}
}

// readTable reads the seconds from the begin of the warm-up to the end of the drain.
func readTable(ctx context.Context, r *record.Reader, a *Analysis) (*table, error) {
	from := a.Load.From
	for _, p := range a.Phases {
		if p.Name == record.PhaseWarmup {
			from = min(from, p.From)
		}
	}
	t := newTable(from, systemsOf(a.Nodes))
	if a.Load.To == 0 {
		return t, nil
	}
	q := record.WindowQuery{Span: record.Span{From: t.from, To: drained(*a)}, Step: record.Second}
	err := r.Windows(q, func(w record.Window) error { t.add(w); return ctx.Err() })
	return t, err
}

// holdUps takes in when nightshift itself was held up. What was open then took longer for that, and what it held
// back comes in the second after.
func (t *table) holdUps(es []record.Evidence) {
	for _, e := range es {
		if e.Class != record.ClassTester {
			continue
		}
		for i := max(0, t.second(e.At)); t.begin(i) <= e.To+time.Second; i++ {
			t.held[i] = max(t.held[i], e.To-e.At)
		}
	}
}

// purgeReach is how far around a purge an operation must have been wanted, for rates below one a second.
const purgeReach = 5 * time.Second

// activity says when each operation ran, and which purges no load met.
func (a *Analysis) activity(t *table) {
	grow := func(o *Operation, r *row) {
		s := Span{t.begin(r.first), t.begin(r.last + 1)}
		s = Span{max(s.From, a.Load.From), min(s.To, a.Load.To)}
		if r.last < 0 || s.Len() == 0 {
			return
		}
		if o.Active.Len() == 0 {
			o.Active = s
		}
		o.Active = Span{min(o.Active.From, s.From), max(o.Active.To, s.To)}
	}
	for _, r := range t.rows {
		for i := range a.Operations {
			if o := &a.Operations[i]; (opKey{o.Workload, o.Op, o.Size}) == r.key {
				grow(o, r)
			}
		}
		for i := range a.Workloads {
			if o := &a.Workloads[i]; o.Workload == r.key.workload && o.Size == r.key.size {
				grow(o, r)
			}
		}
	}
	for _, p := range a.Purges {
		if p.Removed == 0 || p.At < a.Load.From || p.At >= a.Load.To {
			continue
		}
		if offered(t, Span{p.At - purgeReach, p.To + purgeReach}, a.systemOf(p.Target)) == 0 {
			a.Unloaded++
		}
	}
}
