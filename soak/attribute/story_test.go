package attribute

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nightshift/soak/record"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// story is a run that is made up: 100 operations a second of 2 ms each, alternating over three servers,
// a warm-up of 5 s, and a load phase up to end. What is planted makes it different.
type story struct {
	end    time.Duration
	stalls []plant
	events []record.Event
	idle   bool   // no operations but those added
	seed   uint64 // 0: events in order; else those of equal time are shuffled
}

// plant stalls operations that are due in its span until it ends, on one node or on all; with fail they
// end in doubt.
type plant struct {
	Span
	node string
	fail bool
}

const warm = 5 * sec

var addrs = []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}

func (s *story) stall(from, to time.Duration) *story {
	s.stalls = append(s.stalls, plant{Span: Span{from, to}})
	return s
}

func (s *story) add(es ...record.Event) *story {
	s.events = append(s.events, es...)
	return s
}

// hiccups stalls the operations once a second for d; with held nightshift itself did not run for 200 ms of it.
func (s *story) hiccups(from, to, d time.Duration, held bool) *story {
	for t := from + 100*ms; t < to; t += sec {
		s.stall(t, t+d)
		if held {
			s.add(evidence(record.ClassTester, "", t, t+200*ms))
		}
	}
	return s
}

// fault is one that bit and healed.
func fault(id, kind, node, role string, from, to time.Duration) record.Fault {
	return record.Fault{Stamp: record.Stamp{At: to}, ID: id, Fault: kind, Class: "process", Target: "zk", Node: node, Role: role, Step: record.StepHealed,
		Injected: from, From: from + 20*ms, Reverted: to - 100*ms, To: to, Bit: true, Healed: true, Limit: 10 * sec}
}

func purge(node string, from, to time.Duration) record.Purge {
	return record.Purge{Stamp: record.Stamp{At: from}, To: to, Target: "zk", Node: node, Dir: "d", Removed: 3, Freed: 3 << 20, Restorable: true}
}

func evidence(class, node string, from, to time.Duration) record.Evidence {
	return record.Evidence{Stamp: record.Stamp{At: from}, To: to, Class: class, Node: node, Magnitude: (to - from).Seconds(), Unit: "s", Text: class + " of " + node}
}

func at(d time.Duration) record.Stamp { return record.Stamp{At: d} }

// all are the events of the story, those made up and those planted.
func (s *story) all() []record.Event {
	out := []record.Event{
		record.Phase{Stamp: at(0), Name: record.PhaseWarmup}, record.Phase{Stamp: at(warm), Name: record.PhaseLoad},
		record.Phase{Stamp: at(s.end), Name: record.PhaseDrain}, record.Phase{Stamp: at(s.end + 2*sec), Name: record.PhaseCheck},
		record.Phase{Stamp: at(s.end + 3*sec), Name: record.PhaseEnd, Text: record.EndDone},
	}
	for i, role := range []string{"leader", "follower", "follower"} {
		out = append(out, record.Node{Stamp: at(0), System: "zookeeper", Target: "zk", ID: []string{"n1", "n2", "n3"}[i], Addr: addrs[i], Role: role, Up: true})
	}
	if !s.idle {
		out = append(out, s.load()...)
	}
	out = append(out, s.events...)
	if s.seed > 0 {
		r := rand.New(rand.NewPCG(s.seed, 1))
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

func (s *story) load() []record.Event {
	windows := map[time.Duration]*record.Window{}
	var out []record.Event
	for due := time.Duration(0); due < s.end; due += 10 * ms {
		n := uint64(due / (10 * ms))
		o := record.SlowOp{Stamp: at(due), Workload: "zookeeper.ephemeral", Op: "create", Size: 100, Seq: n, Start: due, End: due + 2*ms, Node: addrs[n%3]}
		for _, p := range s.stalls {
			if due < p.From || due >= p.To || p.node != "" && p.node != o.Node {
				continue
			}
			o.End = p.To + 2*ms
			if p.fail {
				o.Outcome, o.Err = record.InDoubt, "timeout"
			}
		}
		begin := o.End / sec * sec
		w := windows[begin]
		if w == nil {
			w = &record.Window{Stamp: at(begin), Len: sec, Workload: o.Workload, Op: o.Op, Size: o.Size, Service: record.NewHist(), Delay: record.NewHist(), Response: record.NewHist()}
			windows[begin] = w
		}
		if o.Outcome == record.OK {
			w.OK++
		} else {
			w.InDoubt++
		}
		w.Service.Add(o.End - o.Start)
		w.Delay.Add(0)
		w.Response.Add(o.End - o.At)
		switch {
		case o.Outcome != record.OK:
			o.Why = record.WhyFailed
		case o.End-o.At > 50*ms:
			o.Why = record.WhySlow
		default:
			o.Why = record.WhyControl
		}
		if o.Why != record.WhyControl || n%10 == 0 {
			out = append(out, o)
		}
	}
	for _, w := range windows {
		out = append(out, *w)
	}
	return out
}

// analyse writes the story as a record and analyses that.
func (s *story) analyse(t *testing.T) Analysis {
	t.Helper()
	r := write(t, s.all())
	a, err := Analyse(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func write(t *testing.T, es []record.Event) *record.Reader {
	t.Helper()
	dir := t.TempDir()
	st, err := record.Create(dir, record.NewClock(), record.Run{ID: "r1", Plan: "p", Left: nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		st.Emit(e)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// the one spike of a run.
func (s *story) spike(t *testing.T) Spike {
	t.Helper()
	a := s.analyse(t)
	if len(a.Spikes) != 1 {
		t.Fatalf("%d spikes, want 1: %+v", len(a.Spikes), spans(a.Spikes))
	}
	return a.Spikes[0]
}

func spans(ss []Spike) (out []Span) {
	for _, s := range ss {
		out = append(out, s.Span)
	}
	return out
}

func candidate(s Spike, ref string) Candidate {
	i := slices.IndexFunc(s.Candidates, func(c Candidate) bool { return c.Ref == ref })
	if i < 0 {
		return Candidate{}
	}
	return s.Candidates[i]
}
