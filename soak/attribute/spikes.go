package attribute

import (
	"cmp"
	"slices"
	"time"

	"nightshift/soak/record"
)

// Bounds of what is kept of spikes.
const (
	MaxSpikes     = 200
	mergeGap      = 2 * time.Second
	keptOps       = 64 // the worst stalled operations of a spike, kept whole while its cause is sought
	keptControls  = 2
	MaxCandidates = 16
)

// found is every spike of a run: the worst with all they are, of the others only the span.
type found struct {
	spikes []Spike
	spans  map[string][]Span // per system, all spikes, in order
	left   int
	excess time.Duration
}

// sight is a second in which a kept operation ended that failed, or else stalled.
type sight struct {
	opKey
	second int
	failed bool
}

// spiker finds spikes in kept operations, which come in order of their intended start.
type spiker struct {
	load Span
	bars bars
	systems
	cuts   []time.Duration // injections of faults, in order: what begins there is no part of what was before
	open   map[string]*cluster
	done   []*cluster
	pruned []*cluster      // without detail
	told   map[sight]bool  // seconds that kept operations tell of
	same   []record.SlowOp // operations of one intended start, put in one order before they are looked at
}

func newSpiker(load Span, m bars, sys systems, cuts []time.Duration) *spiker {
	return &spiker{load: load, bars: m, systems: sys, cuts: cuts, open: map[string]*cluster{}, told: map[sight]bool{}}
}

// add takes one kept operation.
func (s *spiker) add(o record.SlowOp) {
	if len(s.same) > 0 && s.same[0].At != o.At {
		s.flush()
	}
	s.same = append(s.same, o)
}

func (s *spiker) flush() {
	slices.SortFunc(s.same, compareOps)
	for i, o := range s.same {
		// An operation kept for two reasons comes twice.
		if i == 0 || compareOps(o, s.same[i-1]) != 0 {
			s.look(o)
		}
	}
	s.same = s.same[:0]
}

func (s *spiker) look(o record.SlowOp) {
	k := opKey{o.Workload, o.Op, o.Size}
	b, system := s.bars.of(k), s.of(o.Workload)
	response := o.End - o.At
	if o.Outcome == record.OK && response < b.Threshold {
		if o.Why == record.WhyControl {
			s.control(system, o)
		}
		return
	}
	s.told[sight{k, int(o.End / time.Second), o.Outcome != record.OK}] = true
	c := s.cluster(system, Span{From: o.At, To: max(o.End, o.At+1)})
	c.keep(stall{SlowOp: o, excess: max(0, response-b.Median)})
	c.Longest = max(c.Longest, response)
	c.Ops++
	if o.Outcome != record.OK {
		c.Failed++
	}
}

// cluster is the open one of the system, grown by span, or a new one.
func (s *spiker) cluster(system string, span Span) *cluster {
	c := s.open[system]
	if c != nil && s.apart(c.Span, span) {
		s.close(c)
		c = nil
	}
	if c == nil {
		c = &cluster{Spike: Spike{System: system, Span: span}, workloads: map[string]bool{}, nodes: map[string]bool{}}
		s.open[system] = c
	}
	c.From, c.To = min(c.From, span.From), max(c.To, span.To)
	return c
}

// apart says that next, which begins later, is another spike.
func (s *spiker) apart(c, next Span) bool {
	if next.From-c.To > mergeGap {
		return true
	}
	i, _ := slices.BinarySearch(s.cuts, next.From+reachAfter+1)
	return i > 0 && s.cuts[i-1] > c.From+reachAfter
}

// control keeps an operation that was drawn at random while a spike lasted.
func (s *spiker) control(system string, o record.SlowOp) {
	if c := s.open[system]; c != nil && o.At < c.To && len(c.controls) < 4*keptControls {
		c.controls = append(c.controls, o)
	}
}

// close ends a cluster. When many are kept, the lesser ones lose their detail.
func (s *spiker) close(c *cluster) {
	c.trim()
	s.done = append(s.done, c)
	if len(s.done) < 2*MaxSpikes {
		return
	}
	slices.SortFunc(s.done, compareClusters)
	for _, c := range s.done[MaxSpikes:] {
		c.worst, c.controls = nil, nil
		s.pruned = append(s.pruned, c)
	}
	s.done = slices.Clone(s.done[:MaxSpikes])
}

// finish adds the seconds that stalled or failed without a kept operation to say so, and picks the worst.
func (s *spiker) finish(t *table) found {
	s.flush()
	for _, c := range s.open {
		s.close(c)
	}
	all := append(append(s.done, s.pruned...), s.blind(t)...)
	all = s.merge(all)
	slices.SortFunc(all, compareClusters)
	f := found{spans: map[string][]Span{}, left: max(0, len(all)-MaxSpikes)}
	for i, c := range all {
		f.excess += c.Excess
		f.spans[c.System] = append(f.spans[c.System], c.Span)
		if i < MaxSpikes {
			f.spikes = append(f.spikes, c.spike())
		}
	}
	byTime := func(x, y Span) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) }
	for _, spans := range f.spans {
		slices.SortFunc(spans, byTime)
	}
	slices.SortFunc(f.spikes, func(x, y Spike) int {
		return cmp.Or(byTime(x.Span, y.Span), cmp.Compare(x.System, y.System))
	})
	return f
}

// troubled are the spans in which operations were due that ended in a second with a stall or a failure:
// only there is anything to look for. They are apart and in order of time.
func troubled(t *table, m bars, load Span) []Span {
	var all []Span
	for _, r := range t.rows {
		b := m.of(r.key)
		for i, x := range r.ticks {
			if x.failed == 0 && x.max < b.Threshold {
				continue
			}
			s := Span{From: t.begin(i) - x.max, To: t.begin(i + 1)}
			if s = (Span{max(s.From, load.From), min(s.To, load.To)}); s.Len() > 0 {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(x, y Span) int { return cmp.Compare(x.From, y.From) })
	var out []Span
	for _, s := range all {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// blind turns seconds whose stalled or failed operations were not kept into clusters.
func (s *spiker) blind(t *table) []*cluster {
	var out []*cluster
	for _, r := range t.rows {
		b := s.bars.of(r.key)
		for i, x := range r.ticks {
			at := t.begin(i)
			if at < s.load.From || at >= s.load.To {
				continue
			}
			if x.failed == 0 && x.max < b.Threshold {
				continue
			}
			span := Span{From: at, To: at + time.Second}
			if x.max >= b.Threshold {
				span.From = max(s.load.From, span.To-x.max)
			}
			if s.told[sight{r.key, int(at / time.Second), x.failed > 0}] {
				continue
			}
			c := &cluster{Spike: Spike{System: s.of(r.key.workload), Span: span, Longest: x.max, Ops: max(1, x.failed), Failed: x.failed},
				workloads: map[string]bool{r.key.workload: true}, nodes: map[string]bool{}}
			c.Excess = max(0, x.max-b.Median)
			out = append(out, c)
		}
	}
	return out
}

// merge joins clusters of one system that are not apart.
func (s *spiker) merge(all []*cluster) []*cluster {
	slices.SortFunc(all, func(x, y *cluster) int {
		return cmp.Or(cmp.Compare(x.System, y.System), cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To), compareClusters(x, y))
	})
	var out []*cluster
	for _, c := range all {
		if n := len(out); n > 0 && out[n-1].System == c.System && !s.apart(out[n-1].Span, c.Span) {
			out[n-1].join(c)
			continue
		}
		out = append(out, c)
	}
	return out
}
