package report

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

// JSON writes the report as one JSON document.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r.document())
}

func (r Report) document() document {
	a := r.Analysis
	d := document{
		Verdict: string(r.Verdict.Verdict), Qualifier: r.Verdict.Qualifier,
		Reasons: []reason{}, Operations: []operation{}, Faults: []fault{}, Purges: []purge{}, Disks: []disk{},
		Spikes: []spike{}, SpikesLeft: a.SpikesLeft, Findings: []finding{}, Notes: []note{}, Expectations: []expectation{},
		Run: runDoc{ID: a.Run.ID, Plan: a.Run.Plan, Seed: a.Run.Seed, Started: a.Run.Started, Ended: a.Ended, Live: a.Live,
			Load: a.Load.Len().Seconds(), Replay: a.Run.Replay, Nodes: []node{}},
		Self: self{CPU: cores(a.Self), RSS: a.Self.RSSMax, Written: a.Self.Written},
	}
	for _, x := range r.Verdict.Reasons {
		d.Reasons = append(d.Reasons, reasonOf(x))
	}
	for _, n := range a.Nodes {
		d.Run.Nodes = append(d.Run.Nodes, node{n.ID, n.System, n.Addr, n.Role, n.Up, n.Version})
	}
	for _, o := range a.Operations {
		d.Operations = append(d.Operations, operationOf(o))
	}
	for _, f := range a.Faults {
		d.Faults = append(d.Faults, faultOf(f))
	}
	for _, p := range a.Purges {
		d.Purges = append(d.Purges, purge{p.Target, p.Node, p.At.Seconds(), p.Removed, p.Freed, p.Kept, p.Restorable, p.Zxid, p.Refused, p.Error, some(p.Files)})
	}
	for _, x := range a.Disks {
		d.Disks = append(d.Disks, disk{x.Node, x.Kind, x.Bytes, x.Allocated, x.Files, finite(x.PerHour), x.Judged, x.PeakBytes})
	}
	for _, s := range a.Spikes {
		d.Spikes = append(d.Spikes, spikeOf(s))
	}
	for _, f := range a.Findings {
		d.Findings = append(d.Findings, findingOf(f))
	}
	for _, n := range a.Notes {
		d.Notes = append(d.Notes, note{n.At.Seconds(), n.Level, n.Lane, n.Code, n.Text})
	}
	for _, e := range r.Verdict.Expectations {
		d.Expectations = append(d.Expectations, expectation{e.Name, e.Expr, string(e.Outcome), e.Looked, e.Broken, e.Text})
	}
	return d
}

func reasonOf(x verdict.Reason) reason {
	return reason{x.Code, string(x.Severity), x.Text, x.From.Seconds(), x.To.Seconds(), some(x.Evidence)}
}

func operationOf(o attribute.Operation) operation {
	return operation{Workload: o.Workload, Operation: o.Op, Size: o.Size, Count: o.Count, Failed: o.Failed,
		InDoubt: o.InDoubt, Shed: o.Shed, Late: o.Late, TPS: finite(o.TPS), MeanMS: inMS(o.Mean), P50MS: inMS(o.P50),
		P95MS: inMS(o.P95), P99MS: inMS(o.P99), P999MS: inMS(o.P999), MaxMS: inMS(o.Max),
		RecentTPS: finite(o.RecentTPS), RecentMS: inMS(o.RecentMean), ServiceP99: inMS(o.ServiceP99)}
}

func faultOf(f attribute.Recovery) fault {
	return fault{ID: f.ID, Kind: f.Fault.Fault, Node: f.Node, Role: f.Role, Bit: f.Bit, Healed: f.Healed,
		From: f.From.Seconds(), To: f.To.Seconds(), DetectMS: msPtr(f.Detect), FirstSuccessMS: msPtr(f.FirstSuccess),
		RecoveredMS: msPtr(f.Recovered), Skipped: f.Skipped, Overdue: f.Overdue, Unjudged: f.Unjudged, Error: f.Error, Proof: some(f.Proof)}
}

func spikeOf(s attribute.Spike) spike {
	out := spike{ID: s.ID, From: s.From.Seconds(), To: s.To.Seconds(), LongestMS: inMS(s.Longest), Ops: s.Ops,
		Cause: s.Cause, Mechanism: s.Mechanism, Share: finite(s.Share), Unknown: string(s.Unknown), Evidence: []candidate{}}
	for _, c := range s.Candidates {
		out.Evidence = append(out.Evidence, candidate{c.Class, c.Ref, c.Text, string(c.Role), finite(c.Share), c.Like, c.Without, finite(c.Score), c.Reason})
	}
	return out
}

func findingOf(f record.Finding) finding {
	return finding{f.Code, string(f.Severity), f.Subject, f.Text, f.From.Seconds(), f.To.Seconds(), f.Count, some(f.Evidence)}
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func msPtr(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	v := inMS(*d)
	return &v
}

// some is the list, or an empty one: null would be a special case for every reader.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// finite keeps a number that JSON has no form for from costing the whole document.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
