package telemetry

import (
	"fmt"
	"math"
	"time"

	analysis "nightshift/soak/attribute"
	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// began is the wall clock of offset zero; it carries nanoseconds that a float could not.
var began = time.Unix(1_700_000_000, 123_456_789).UTC()

func span(from, to time.Duration) analysis.Span { return analysis.Span{From: from, To: to} }

func at(d time.Duration) record.Stamp { return record.Stamp{At: d} }

func ptr(d time.Duration) *time.Duration { return &d }

// night is an analysis with one of everything: faults of every fate, a purge of every kind, evidence that is
// linked and evidence that is not, a spike with a cause and one without.
func night() (analysis.Analysis, verdict.Verdict) {
	a := analysis.Analysis{
		Run: record.Run{ID: "run-1", Plan: "quickstart", Seed: math.MaxUint64, Started: began, Host: "h", Tool: "v1"},
		Phases: []analysis.Phase{{Name: record.PhaseWarmup, Span: span(0, 10*sec)}, {Name: record.PhaseLoad, Span: span(10*sec, 100*sec)},
			{Name: record.PhaseEnd, Span: span(100*sec, 100*sec), Text: record.EndDone}},
		Ended: record.EndDone, End: 100 * sec, Load: span(10*sec, 100*sec),
	}
	fault := func(f record.Fault) analysis.Recovery { return analysis.Recovery{Fault: f} }
	healed := fault(record.Fault{ID: "f1", Fault: "kill", Node: "n3", Role: "leader", Injected: 20 * sec, From: 20100 * ms, To: 30 * sec,
		Bit: true, Healed: true, Proof: []string{"process 7 is gone", "serves again"}})
	healed.Detect, healed.FirstSuccess = ptr(88*ms), ptr(1175*ms)
	a.Faults = []analysis.Recovery{healed,
		fault(record.Fault{ID: "f2", Fault: "pause", Node: "n1", Injected: 60 * sec, From: 60 * sec, Bit: true, Error: "did not heal within 30s"}),
		fault(record.Fault{Stamp: at(70 * sec), ID: "f3", Fault: "pause", Node: "n2", Skipped: "no follower now"}),
		fault(record.Fault{Stamp: at(80 * sec), ID: "f4", Fault: "kill", Node: "n2", Injected: 75 * sec, To: 80 * sec, Healed: true}),
	}
	a.Purges = []record.Purge{
		{Stamp: at(25 * sec), To: 25200 * ms, Node: "n1", Removed: 3, Freed: 3 << 20, Kept: 6, Restorable: true},
		{Stamp: at(45 * sec), To: 45 * sec, Node: "n1", Refused: "a snapshot is being written"},
		{Stamp: at(65 * sec), To: 65100 * ms, Node: "n1", Error: "remove log.1: input/output error"},
	}
	a.Evidence = []record.Evidence{
		{Stamp: record.Stamp{At: 12 * sec, Uncertainty: ms}, To: 12100 * ms, Class: record.ClassGC, Node: "n1", Magnitude: .1, Unit: "s", Text: "nobody links to it"},
		{Stamp: record.Stamp{At: 20200 * ms, Uncertainty: 2 * ms}, To: 20900 * ms, Class: record.ClassFsync, Node: "n2", Magnitude: .7, Unit: "s", Text: "fsync took 700ms"},
	}
	a.Spikes = []analysis.Spike{
		{ID: "spike-1", System: "zookeeper", Span: span(20*sec, 24*sec), Excess: 9 * sec, Longest: 4 * sec, Ops: 3, Failed: 1,
			Workloads: []string{"zookeeper.setdata"}, Cause: "fault kill of n3 (leader)", Mechanism: "fsync took 700ms", Share: .97, Margin: 3.5,
			Slow: []record.SlowOp{
				{Stamp: at(20 * sec), Workload: "zookeeper.setdata", Op: "set", Size: 1024, Worker: 4, Path: "/a/\xff", Seq: 9, Start: 20500 * ms, End: 24 * sec,
					Outcome: record.InDoubt, Err: "timeout", Node: "127.0.0.1:2181", Why: record.WhyFailed},
				{Stamp: at(21 * sec), Workload: "zookeeper.setdata", Op: "set", Size: 1024, Start: 21 * sec, End: 23 * sec, Node: "127.0.0.1:2182", Why: record.WhySlow},
			},
			Controls: []record.SlowOp{{Stamp: at(22 * sec), Workload: "zookeeper.setdata", Op: "set", Start: 22 * sec, End: 22002 * ms, Why: record.WhyControl}},
			Candidates: []analysis.Candidate{
				{Class: analysis.ClassFault, Ref: "f1", Share: .97, Like: 2, Without: 1, Score: 4.5, Role: analysis.RoleCause, Reason: "explains 97 %",
					Terms: analysis.Terms{Base: 4, Share: .5, Onset: .7, Scope: -.7}},
				{Class: record.ClassFsync, Ref: "fsync-2", Share: .2, Like: 9, Without: 3, Role: analysis.RoleMechanism, Reason: "it came of f1"},
				{Class: analysis.ClassPurge, Ref: "purge-1", Like: 2, Without: 2, Score: math.Inf(-1), Role: analysis.RoleRejected, Reason: "it did not begin with the spike"},
			}},
		{ID: "spike-2", System: "zookeeper", Span: span(90*sec, 91*sec), Cause: "unknown", Unknown: analysis.UnknownNone, Left: 4},
	}
	return a, verdict.Verdict{Verdict: verdict.Fail}
}

// crowded is an analysis whose spike has more links and operations than a trace takes.
func crowded() (analysis.Analysis, verdict.Verdict) {
	a, v := night()
	sp := analysis.Spike{ID: "spike-1", System: "zookeeper", Span: span(20*sec, 30*sec), Left: 7}
	for i := range maxSlowOps + 5 {
		sp.Slow = append(sp.Slow, record.SlowOp{Stamp: at(20 * sec), Workload: "w", Op: "o", Seq: uint64(i), Start: 20 * sec, End: 21 * sec})
	}
	a.Purges = nil
	for i := range maxLinks + 3 {
		a.Purges = append(a.Purges, record.Purge{Stamp: at(20 * sec), To: 20 * sec, Node: "n1"})
		sp.Candidates = append(sp.Candidates, analysis.Candidate{Ref: fmt.Sprintf("purge-%d", i+1), Class: analysis.ClassPurge})
	}
	sp.Candidates = append(sp.Candidates, analysis.Candidate{Ref: "nothing-1"})
	a.Spikes = []analysis.Spike{sp}
	return a, v
}
