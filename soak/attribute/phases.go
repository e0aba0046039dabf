package attribute

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"nightshift/soak/record"
)

// setPhases gives every phase its end and finds the judged span.
func (a *Analysis) setPhases(ps []record.Phase) {
	slices.SortStableFunc(ps, func(x, y record.Phase) int { return cmp.Compare(x.At, y.At) })
	for i, p := range ps {
		to := max(a.End, p.At)
		if i+1 < len(ps) {
			to = ps[i+1].At
		}
		a.Phases = append(a.Phases, Phase{Name: p.Name, Span: Span{From: p.At, To: to}, Text: p.Text})
		switch p.Name {
		case record.PhaseLoad:
			// A second that the warm-up began belongs to the warm-up.
			a.Load = Span{From: ceilSecond(p.At), To: max(to, ceilSecond(p.At))}
		case record.PhaseEnd:
			a.Ended = p.Text
		}
	}
}

// drained is where operations stop to count: the end of the drain, or of the record.
func drained(a Analysis) time.Duration {
	for i := len(a.Phases) - 1; i >= 0; i-- {
		if a.Phases[i].Name == record.PhaseDrain {
			return max(a.Phases[i].To, a.Load.To)
		}
	}
	return max(a.Load.To, a.End)
}

// order gives every list one order that does not depend on how events of the same time were stored.
func (a *Analysis) order() {
	slices.SortStableFunc(a.Purges, func(x, y record.Purge) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Dir, y.Dir), cmp.Compare(x.To, y.To))
	})
	slices.SortStableFunc(a.Evidence, func(x, y record.Evidence) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Class, y.Class), cmp.Compare(x.Node, y.Node),
			cmp.Compare(x.To, y.To), cmp.Compare(x.Text, y.Text), cmp.Compare(x.Magnitude, y.Magnitude))
	})
	slices.SortStableFunc(a.Faults, func(x, y Recovery) int {
		return cmp.Or(cmp.Compare(begin(x.Fault), begin(y.Fault)), cmp.Compare(x.ID, y.ID))
	})
	slices.SortStableFunc(a.Findings, func(x, y record.Finding) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Code, y.Code), cmp.Compare(x.Subject, y.Subject), cmp.Compare(x.Text, y.Text))
	})
	slices.SortStableFunc(a.Notes, func(x, y record.Note) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Lane, y.Lane), cmp.Compare(x.Code, y.Code), cmp.Compare(x.Text, y.Text))
	})
}

// begin of a fault: its injection, or when it was skipped.
func begin(f record.Fault) time.Duration {
	if f.Injected > 0 {
		return f.Injected
	}
	return f.At
}

// lastNodes is the last state of every node, in order of name. The run says it once more when all is
// over, before it closes a lab.
func lastNodes(states []record.Node) []record.Node {
	last := map[[2]string]record.Node{}
	for _, n := range states {
		k := [2]string{n.Target, n.ID}
		if old, ok := last[k]; !ok || n.At >= old.At {
			last[k] = n
		}
	}
	out := make([]record.Node, 0, len(last))
	for _, n := range last {
		out = append(out, n)
	}
	slices.SortFunc(out, func(x, y record.Node) int {
		return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.ID, y.ID))
	})
	return out
}

// systemOf is the system of a target; when the record does not say, any system ("").
func (a *Analysis) systemOf(target string) string {
	for _, n := range a.Nodes {
		if n.Target == target {
			return n.System
		}
	}
	return ""
}

// systems are those of the run's nodes.
type systems []string

func systemsOf(nodes []record.Node) systems {
	var out systems
	for _, n := range nodes {
		if !slices.Contains(out, n.System) {
			out = append(out, n.System)
		}
	}
	slices.Sort(out)
	return out
}

// of is the system that a workload loads: the only one there is, or the one its name begins with; else
// the first word of its name.
func (s systems) of(workload string) string {
	if len(s) == 1 {
		return s[0]
	}
	if i := strings.IndexAny(workload, "/."); i > 0 {
		return workload[:i]
	}
	return workload
}

func ceilSecond(d time.Duration) time.Duration {
	return (d + time.Second - 1) / time.Second * time.Second
}
