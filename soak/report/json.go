package report

import (
	"encoding/json"
	"io"
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

// The JSON form. Its keys stay; new ones may come. Times without a unit in their name are seconds from the
// begin of the run, sizes are bytes, null is "not seen".
type document struct {
	Verdict      string        `json:"verdict"`
	Qualifier    string        `json:"qualifier,omitempty"`
	Reasons      []reason      `json:"reasons"`
	Run          runDoc        `json:"run"`
	Operations   []operation   `json:"operations"`
	Faults       []fault       `json:"faults"`
	Purges       []purge       `json:"purges"`
	Disks        []disk        `json:"disks"`
	Spikes       []spike       `json:"spikes"`
	Findings     []finding     `json:"findings"`
	Expectations []expectation `json:"expectations"`
	Self         self          `json:"self"`
}

type reason struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity"`
	Text     string   `json:"text"`
	From     float64  `json:"from"`
	To       float64  `json:"to"`
	Evidence []string `json:"evidence,omitempty"`
}

type runDoc struct {
	ID      string    `json:"id"`
	Plan    string    `json:"plan"`
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	Ended   string    `json:"ended"` // done, interrupted, failed: ..., or empty: live or killed
	Load    float64   `json:"load"`  // length of the load phase in seconds
	Replay  string    `json:"replay"`
	Nodes   []node    `json:"nodes"`
}

type node struct {
	ID      string `json:"id"`
	System  string `json:"system"`
	Addr    string `json:"addr"`
	Role    string `json:"role"`
	Up      bool   `json:"up"`
	Version string `json:"version"`
}

type operation struct {
	Workload   string  `json:"workload"`
	Operation  string  `json:"operation"`
	Size       int     `json:"size"`
	Count      uint64  `json:"count"`
	Failed     uint64  `json:"failed"`
	InDoubt    uint64  `json:"in_doubt"`
	Shed       uint64  `json:"shed"`
	Late       uint64  `json:"late"`
	TPS        float64 `json:"tps"`
	MeanMS     float64 `json:"mean_ms"`
	P50MS      float64 `json:"p50_ms"`
	P95MS      float64 `json:"p95_ms"`
	P99MS      float64 `json:"p99_ms"`
	P999MS     float64 `json:"p999_ms"`
	MaxMS      float64 `json:"max_ms"`
	RecentTPS  float64 `json:"recent_tps"`
	RecentMS   float64 `json:"recent_ms"`
	ServiceP99 float64 `json:"service_p99_ms"`
}

type fault struct {
	ID             string   `json:"id"`
	Kind           string   `json:"kind"`
	Node           string   `json:"node"`
	Role           string   `json:"role"`
	Bit            bool     `json:"bit"`
	Healed         bool     `json:"healed"`
	From           float64  `json:"from"`
	To             float64  `json:"to"`
	DetectMS       *float64 `json:"detect_ms"`
	FirstSuccessMS *float64 `json:"first_success_ms"`
	RecoveredMS    *float64 `json:"recovered_ms"`
	Skipped        string   `json:"skipped"`
	Error          string   `json:"error"`
	Proof          []string `json:"proof"`
}

type purge struct {
	Target     string   `json:"target"`
	Node       string   `json:"node"`
	At         float64  `json:"at"`
	Removed    int      `json:"removed"`
	Freed      int64    `json:"freed"`
	Kept       int      `json:"kept"`
	Restorable bool     `json:"restorable"`
	Zxid       string   `json:"zxid"`
	Error      string   `json:"error"`
	Files      []string `json:"files"`
}

type disk struct {
	Node      string  `json:"node"`
	Kind      string  `json:"kind"`
	Bytes     int64   `json:"bytes"`
	Allocated int64   `json:"allocated"`
	Files     int     `json:"files"`
	PerHour   float64 `json:"per_hour"`
	Judged    bool    `json:"judged"` // false: the run is too short for per_hour
	Peak      int64   `json:"peak"`
}

type spike struct {
	ID        string      `json:"id"`
	From      float64     `json:"from"`
	To        float64     `json:"to"`
	LongestMS float64     `json:"longest_ms"`
	Ops       uint64      `json:"ops"`
	Cause     string      `json:"cause"`
	Mechanism string      `json:"mechanism"`
	Share     float64     `json:"share"`
	Unknown   string      `json:"unknown"` // empty: the cause is known
	Evidence  []candidate `json:"candidates"`
}

type candidate struct {
	Class   string  `json:"class"`
	Ref     string  `json:"ref"`
	Text    string  `json:"text"`
	Role    string  `json:"role"`
	Share   float64 `json:"share"`
	Like    int     `json:"like"`
	Without int     `json:"without_spike"`
	Score   float64 `json:"score"`
	Reason  string  `json:"reason"`
}

type finding struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity"`
	Subject  string   `json:"subject"`
	Text     string   `json:"text"`
	From     float64  `json:"from"`
	To       float64  `json:"to"`
	Count    int      `json:"count"`
	Evidence []string `json:"evidence"`
}

type expectation struct {
	Name   string `json:"name"`
	Expr   string `json:"expr"`
	Result string `json:"result"`
	Looked int    `json:"looked"`
	Broken int    `json:"broken"`
	Text   string `json:"text"`
}

type self struct {
	CPU     float64 `json:"cpu"` // mean, cores
	RSS     int64   `json:"rss"` // highest, bytes
	Written int64   `json:"written"`
}

// JSON writes the report as one JSON document.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r.document())
}

func (r Report) document() document {
	a := r.Analysis
	d := document{
		Verdict: string(r.Verdict.Verdict), Qualifier: r.Verdict.Qualifier,
		Reasons: []reason{}, Operations: []operation{}, Faults: []fault{}, Purges: []purge{}, Disks: []disk{},
		Spikes: []spike{}, Findings: []finding{}, Expectations: []expectation{},
		Run: runDoc{ID: a.Run.ID, Plan: a.Run.Plan, Seed: a.Run.Seed, Started: a.Run.Started, Ended: a.Ended,
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
		d.Purges = append(d.Purges, purge{p.Target, p.Node, p.At.Seconds(), p.Removed, p.Freed, p.Kept, p.Restorable, p.Zxid, p.Error, p.Files})
	}
	for _, x := range a.Disks {
		d.Disks = append(d.Disks, disk{x.Node, x.Kind, x.Bytes, x.Allocated, x.Files, x.PerHour, x.Judged, x.PeakBytes})
	}
	for _, s := range a.Spikes {
		d.Spikes = append(d.Spikes, spikeOf(s))
	}
	for _, f := range a.Findings {
		d.Findings = append(d.Findings, findingOf(f))
	}
	for _, e := range r.Verdict.Expectations {
		d.Expectations = append(d.Expectations, expectation{e.Name, e.Expr, string(e.Outcome), e.Looked, e.Broken, e.Text})
	}
	return d
}

func reasonOf(x verdict.Reason) reason {
	return reason{x.Code, string(x.Severity), x.Text, x.From.Seconds(), x.To.Seconds(), x.Evidence}
}

func operationOf(o attribute.Operation) operation {
	return operation{Workload: o.Workload, Operation: o.Op, Size: o.Size, Count: o.Count, Failed: o.Failed,
		InDoubt: o.InDoubt, Shed: o.Shed, Late: o.Late, TPS: o.TPS, MeanMS: ms(o.Mean), P50MS: ms(o.P50),
		P95MS: ms(o.P95), P99MS: ms(o.P99), P999MS: ms(o.P999), MaxMS: ms(o.Max),
		RecentTPS: o.RecentTPS, RecentMS: ms(o.RecentMean), ServiceP99: ms(o.ServiceP99)}
}

func faultOf(f attribute.Recovery) fault {
	return fault{ID: f.ID, Kind: f.Fault.Fault, Node: f.Node, Role: f.Role, Bit: f.Bit, Healed: f.Healed,
		From: f.From.Seconds(), To: f.To.Seconds(), DetectMS: msPtr(f.Detect), FirstSuccessMS: msPtr(f.FirstSuccess),
		RecoveredMS: msPtr(f.Recovered), Skipped: f.Skipped, Error: f.Error, Proof: f.Proof}
}

func spikeOf(s attribute.Spike) spike {
	out := spike{ID: s.ID, From: s.From.Seconds(), To: s.To.Seconds(), LongestMS: ms(s.Longest), Ops: s.Ops,
		Cause: s.Cause, Mechanism: s.Mechanism, Share: s.Share, Unknown: string(s.Unknown), Evidence: []candidate{}}
	for _, c := range s.Candidates {
		out.Evidence = append(out.Evidence, candidate{c.Class, c.Ref, c.Text, string(c.Role), c.Share, c.Like, c.Without, c.Score, c.Reason})
	}
	return out
}

func findingOf(f record.Finding) finding {
	return finding{f.Code, string(f.Severity), f.Subject, f.Text, f.From.Seconds(), f.To.Seconds(), f.Count, f.Evidence}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func msPtr(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	v := ms(*d)
	return &v
}
