package soak

import (
	"maps"
	"slices"
	"time"

	"nightshift/soak/record"
)

// flush swaps the shards' seconds out, holding each lock for that only, and adds to windows and slow what they held.
func (o *Op) flush(windows []record.Window, slow []record.SlowOp) ([]record.Window, []record.SlowOp) {
	parts := map[time.Duration][]*second{}
	for i := range o.shards {
		s := &o.shards[i]
		s.mu.Lock()
		open, packed := s.open, s.packed
		s.open, s.packed, s.spare = s.spare[:0], nil, open
		s.mu.Unlock()
		for _, sec := range slices.Concat(packed, open) {
			parts[sec.at] = append(parts[sec.at], sec)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(parts)) { // in order, as chance is drawn below
		secs := parts[at]
		w := o.window(at, secs)
		windows = append(windows, w)
		slow = o.slowOps(slow, secs)
		o.recent.add(w)
	}
	for i := range o.shards {
		o.shards[i].giveBack()
	}
	return windows, slow
}

// giveBack empties the seconds swapped out and makes them ready again.
func (s *shard) giveBack() {
	for _, sec := range s.spare {
		sec.reset()
	}
	s.mu.Lock()
	for _, sec := range s.spare {
		if len(s.ready) < openSeconds {
			s.ready = append(s.ready, sec)
		}
	}
	s.mu.Unlock()
	clear(s.spare)
	s.spare = s.spare[:0]
}

// window adds up the shards' parts of one second.
func (o *Op) window(at time.Duration, secs []*second) record.Window {
	o.sum.reset()
	for _, s := range secs {
		o.sum.counts.add(s.counts)
		o.sum.service.Merge(s.service)
		o.sum.delay.Merge(s.delay)
		o.sum.response.Merge(s.response)
	}
	c := o.sum.counts
	o.total.add(c)
	return record.Window{
		Stamp: record.Stamp{At: at}, Len: record.Second,
		Workload: o.rec.workload, Op: o.name, Size: o.size,
		OK: c.ok, Failed: c.failed, InDoubt: c.inDoubt, Shed: c.shed, Late: c.late, Bytes: c.ok * uint64(o.size),
		Service: o.sum.service.Clone(), Delay: o.sum.delay.Clone(), Response: o.sum.response.Clone(),
	}
}

func (o *Op) slowOps(into []record.SlowOp, secs []*second) []record.SlowOp {
	var parts []*kept
	for _, s := range secs {
		if s.kept != nil {
			parts = append(parts, s.kept)
		}
	}
	slow, failed, control := choose(parts, o.rand)
	for _, group := range []struct {
		why  string
		kept []Sample
	}{{record.WhySlow, slow}, {record.WhyFailed, failed}, {record.WhyControl, control}} {
		for _, s := range group.kept {
			into = append(into, record.SlowOp{
				Stamp: record.Stamp{At: s.Intended}, Workload: o.rec.workload, Op: o.name, Size: o.size,
				Worker: s.Worker, Path: s.Path, Seq: s.Seq, Start: s.Start, End: s.End,
				Outcome: s.Outcome, Err: s.Err, Node: s.Node, Why: group.why,
			})
		}
	}
	return into
}

// recentSpan is how far back live progress looks.
const recentSpan = 10 * time.Second

// recent holds what the last seconds were, for live progress.
type recent struct {
	first   time.Duration // begin of the first second with anything
	began   bool
	seconds [16]recentSecond
	sum     *record.Hist
}

type recentSecond struct {
	at        time.Duration
	ok        uint64
	responses []*record.Hist // shared with the record, so only read
}

func (r *recent) add(w record.Window) {
	if !r.began || w.At < r.first {
		r.began, r.first = true, w.At
	}
	s := &r.seconds[int(w.At/time.Second)%len(r.seconds)]
	if s.at != w.At {
		*s = recentSecond{at: w.At, responses: s.responses[:0]}
	}
	s.ok += w.OK
	s.responses = append(s.responses, w.Response)
}

// last is what happened in the span before upTo, a whole second.
func (r *recent) last(upTo time.Duration) (tps float64, mean, p99 time.Duration) {
	if r.sum == nil {
		r.sum = record.NewHist()
	}
	r.sum.Reset()
	from, ok := max(upTo-recentSpan, r.first), uint64(0)
	for i := range r.seconds {
		s := &r.seconds[i]
		if s.at < from || s.at >= upTo {
			continue
		}
		ok += s.ok
		for _, h := range s.responses {
			r.sum.Merge(h)
		}
	}
	if from < upTo {
		tps = float64(ok) / (upTo - from).Seconds()
	}
	return tps, r.sum.Mean(), r.sum.Quantile(0.99)
}

// progress is the state of one operation: everything recorded so far, and what is recent as of flushed.
func (o *Op) progress(flushed time.Duration) Progress {
	c := o.total
	for i := range o.shards {
		s := &o.shards[i]
		s.mu.Lock()
		for _, sec := range s.open {
			c.add(sec.counts)
		}
		for _, sec := range s.packed {
			c.add(sec.counts)
		}
		s.mu.Unlock()
	}
	p := Progress{Op: o.name, Size: o.size, OK: c.ok, Failed: c.failed, InDoubt: c.inDoubt, Shed: c.shed, Late: c.late}
	p.RecentTPS, p.RecentMean, p.RecentP99 = o.recent.last(flushed - flushed%time.Second)
	return p
}
