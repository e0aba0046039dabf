package attribute

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"nightshift/soak/record"
)

// reachBefore is how long before a spike something may have begun, or ended, and still be looked at.
const reachBefore = 1500 * time.Millisecond

// reachAfter is how long after a spike's begin something may begin and still count as its begin; it
// covers the grain of a pacer and of a log's stamps.
const reachAfter = 200 * time.Millisecond

// event is one thing that may explain spikes, whatever kind of event it was.
type event struct {
	Candidate
	fault     *Recovery
	size      float64       // what "as large" compares, within one kind
	kind      string        // "its like" are events of one kind: fault:kill, purge, fsync
	slack     time.Duration // uncertainty of its times
	most      time.Duration // what one operation can have lost to it, where that is less than its span
	edges     []time.Duration
	causeless bool // it overlaps no spike
}

// explainer knows everything that may explain a spike.
type explainer struct {
	load   Span
	events []event
	quiet  time.Duration        // length of the load outside spikes
	sizes  map[string][]float64 // per kind, sizes of those without a spike, sorted
	likes  map[string][]float64 // per kind, all sizes, sorted
	gaps   []record.Evidence
	addr   map[string]string // node id -> address
	roles  []record.Node     // states, in order of time
}

func newExplainer(a *Analysis, spans map[string][]Span, states []record.Node) *explainer {
	e := &explainer{load: a.Load, sizes: map[string][]float64{}, likes: map[string][]float64{}, addr: map[string]string{}, roles: states}
	var spiky []Span
	for _, s := range spans {
		spiky = append(spiky, s...)
	}
	e.quiet = max(time.Second, a.Load.Len()-union(spiky, a.Load))
	for _, n := range a.Nodes {
		e.addr[n.ID] = n.Addr
	}
	e.faults(a)
	for i, p := range a.Purges {
		e.events = append(e.events, event{kind: ClassPurge, size: max(float64(p.Freed), float64(p.Removed)), Candidate: Candidate{
			Class: ClassPurge, Ref: fmt.Sprintf("purge-%d", i+1), Node: p.Node, Span: Span{p.At, max(p.To, p.At)},
			Text: fmt.Sprintf("purge of %s, %d files", p.Node, p.Removed)}})
	}
	for i, v := range a.Evidence {
		if v.Class == record.ClassProbeGap {
			e.gaps = append(e.gaps, v)
			continue
		}
		var most time.Duration
		if v.Unit == "s" {
			most = time.Duration(v.Magnitude * float64(time.Second))
		}
		e.events = append(e.events, event{kind: v.Class, size: v.Magnitude, slack: v.Uncertainty, most: most, Candidate: Candidate{
			Class: v.Class, Ref: fmt.Sprintf("%s-%d", v.Class, i+1), Node: v.Node, Span: Span{v.At, max(v.To, v.At)}, Text: evidenceText(v)}})
	}
	slices.SortStableFunc(e.events, func(x, y event) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.kind, y.kind), cmp.Compare(x.Ref, y.Ref))
	})
	e.count(spiky)
	return e
}

// faults that were in effect; those that were skipped, or did not bite, caused nothing.
func (e *explainer) faults(a *Analysis) {
	for i := range a.Faults {
		f := &a.Faults[i]
		if f.Injected <= 0 || !f.Bit {
			continue
		}
		role := ""
		if f.Role != "" {
			role = " (" + f.Role + ")"
		}
		to := max(f.Reach.To, f.Injected)
		e.events = append(e.events, event{fault: f, kind: "fault:" + f.Fault.Fault, slack: f.Uncertainty,
			edges: []time.Duration{f.Injected, f.From, f.Reverted, f.To},
			Candidate: Candidate{Class: ClassFault, Ref: f.ID, Node: f.Node, Span: Span{f.Injected, to},
				Text: fmt.Sprintf("fault %s of %s%s", f.Fault.Fault, f.Node, role)}})
	}
}

// count sorts the sizes of all events, and of those that no spike overlaps.
func (e *explainer) count(spiky []Span) {
	slices.SortFunc(spiky, func(x, y Span) int { return cmp.Compare(x.From, y.From) })
	for i := range e.events {
		v := &e.events[i]
		if v.To < e.load.From || v.From >= e.load.To {
			continue
		}
		v.causeless = !slices.ContainsFunc(spiky, func(s Span) bool { return s.From < v.To+reachBefore && v.From < s.To })
		e.likes[v.kind] = append(e.likes[v.kind], v.size)
		if v.causeless {
			e.sizes[v.kind] = append(e.sizes[v.kind], v.size)
		}
	}
	for k := range e.likes {
		slices.Sort(e.likes[k])
		slices.Sort(e.sizes[k])
	}
}

// atLeast is how many of the sorted sizes are at least 0.7 of size.
func atLeast(sorted []float64, size float64) int {
	i, _ := slices.BinarySearch(sorted, .7*size)
	return len(sorted) - i
}

// near are the events that touch the spike, or ended just before it began.
func (e *explainer) near(s *Spike) []*scored {
	var out []*scored
	for i := range e.events {
		v := &e.events[i]
		if v.From-v.slack >= s.To {
			if v.From > s.To+time.Minute {
				break
			}
			continue
		}
		if v.To+v.slack+reachBefore < s.From {
			continue
		}
		if v.fault != nil && !e.concerns(v.fault, s) {
			continue
		}
		out = append(out, &scored{event: *v})
	}
	return out
}

// concerns says that a fault's target may be of the spike's system.
func (e *explainer) concerns(f *Recovery, s *Spike) bool {
	for _, n := range e.roles {
		if n.Target == f.Target {
			return n.System == s.System
		}
	}
	return true
}

// roleAt is the role of a node at a time, as last said before it.
func (e *explainer) roleAt(node string, at time.Duration) string {
	role := ""
	for _, n := range e.roles {
		if n.ID == node && n.At <= at {
			role = n.Role
		}
	}
	return role
}

func evidenceText(v record.Evidence) string {
	text := v.Text
	if text == "" {
		text = v.Class
		if v.Node != "" {
			text += " of " + v.Node
		}
	}
	if v.Class == record.ClassTester {
		return "the tester itself, not the cluster: " + text
	}
	return text
}

// union is how much of within the spans cover together.
func union(spans []Span, within Span) time.Duration {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(x, y Span) int { return cmp.Compare(x.From, y.From) })
	var sum time.Duration
	at := within.From
	for _, s := range spans {
		from, to := max(s.From, at), min(s.To, within.To)
		if to > from {
			sum += to - from
			at = to
		}
	}
	return sum
}
