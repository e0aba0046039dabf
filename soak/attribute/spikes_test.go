package attribute

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"nightshift/soak/record"
)

// TestCauses are the sentinels: each plants one cause, often beside an innocent one.
func TestCauses(t *testing.T) {
	calm := func() *story { return &story{end: 125 * sec} }
	purges := func(s *story) *story { // as a janitor does every 20 s, harmless
		for i := range 5 {
			d := warm + time.Duration(i+1)*20*sec
			s.add(purge("n1", d, d+20*ms))
		}
		return s
	}
	cases := []struct {
		name      string
		story     *story
		cause     string // part of the text
		mechanism string
		unknown   UnknownKind
	}{
		{"pause", calm().stall(40*sec, 43*sec).add(fault("f1", "pause", "n1", "leader", 40*sec, 43*sec)), "fault pause of n1 (leader)", "", Known},
		{"a purge inside a pause is not blamed", purges(calm()).stall(40*sec, 43*sec).
			add(fault("f1", "pause", "n1", "leader", 40*sec, 43*sec), purge("n1", 40*sec+10*ms, 40*sec+60*ms)), "fault pause", "", Known},
		{"a long purge in the middle of a pause is not blamed", calm().stall(40*sec, 43*sec).
			add(fault("f1", "pause", "n1", "leader", 40*sec, 43*sec), purge("n1", 41*sec, 42*sec)), "fault pause", "", Known},
		{"an election is how a kill acts", calm().stall(40*sec, 42*sec).
			add(fault("f1", "kill", "n1", "leader", 40*sec, 45*sec), evidence(record.ClassElection, "n2", 40*sec+100*ms, 41*sec+900*ms)), "fault kill", "election of n2", Known},
		{"the stopped server's own fsync line is how a pause acts", calm().stall(40*sec, 43*sec).
			add(fault("f1", "pause", "n1", "leader", 40*sec, 43*sec), evidence(record.ClassFsync, "n1", 40*sec+10*ms, 43*sec)), "fault pause", "fsync of n1", Known},
		{"fsync", calm().stall(60*sec, 60*sec+400*ms).add(evidence(record.ClassFsync, "n1", 60*sec-5*ms, 60*sec+400*ms)), "fsync of n1", "", Known},
		{"fsync that happens all the time and is short", shortFsyncs(calm()).stall(60*sec, 60*sec+800*ms), "unknown", "", UnknownNone},
		{"a purge that stalls", calm().stall(60*sec, 60*sec+400*ms).add(purge("n1", 60*sec-5*ms, 60*sec+400*ms)), "purge of n1", "", Known},
		{"a purge that acts through fsync", calm().stall(60*sec, 60*sec+400*ms).
			add(purge("n1", 60*sec-20*ms, 60*sec+150*ms), evidence(record.ClassFsync, "n1", 60*sec, 60*sec+400*ms)), "purge of n1", "fsync of n1", Known},
		{"harmless purges are not how an fsync came", purges(calm()).stall(65*sec, 65*sec+400*ms).
			add(evidence(record.ClassFsync, "n1", 65*sec, 65*sec+400*ms)), "fsync of n1", "", Known},
		{"the tester itself", calm().stall(60*sec, 60*sec+500*ms).add(evidence(record.ClassTester, "", 60*sec-5*ms, 60*sec+500*ms)), "the tester itself, not the cluster", "", Known},
		{"the tester's short stall during a kill", calm().stall(40*sec, 42*sec).
			add(fault("f1", "kill", "n1", "leader", 40*sec, 45*sec), evidence(record.ClassTester, "", 40*sec+100*ms, 40*sec+160*ms)), "fault kill", "", Known},
		{"nothing seen", calm().stall(60*sec, 61*sec), "unknown", "", UnknownNone},
		{"a blind probe", calm().stall(60*sec, 61*sec).add(evidence(record.ClassProbeGap, "n1", 59*sec, 62*sec)), "unknown", "", UnknownGap},
		{"two that fit as well", calm().stall(60*sec, 60*sec+400*ms).
			add(evidence(record.ClassFsync, "n1", 60*sec, 60*sec+400*ms), evidence(record.ClassGC, "n1", 60*sec, 60*sec+400*ms)), "unknown: ", "", UnknownAmbiguous},
		{"one disk under two servers is one answer", calm().stall(60*sec, 60*sec+400*ms).
			add(evidence(record.ClassFsync, "n1", 60*sec, 60*sec+400*ms), evidence(record.ClassFsync, "n2", 60*sec, 60*sec+380*ms)), "fsync of n", "", Known},
		{"another follower's trouble", (&story{end: 125 * sec, stalls: []plant{{Span: Span{60 * sec, 60*sec + 400*ms}, node: addrs[1]}}}).
			add(evidence(record.ClassGC, "n3", 60*sec, 60*sec+100*ms)), "unknown", "", UnknownNone},
		{"a fault that did not bite", calm().stall(41*sec, 42*sec).
			add(func() record.Fault { f := fault("f1", "pause", "n1", "", 40*sec, 43*sec); f.Bit = false; return f }()), "unknown", "", UnknownNone},
		{"failures of the recovery belong to the fault", (&story{end: 125 * sec, stalls: []plant{
			{Span: Span{40 * sec, 45 * sec}, fail: true}}}).add(fault("f1", "kill", "n1", "leader", 40*sec, 44*sec)), "fault kill", "", Known},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := c.story.spike(t)
			if !strings.Contains(s.Cause, c.cause) || s.Mechanism != c.mechanism || s.Unknown != c.unknown {
				t.Errorf("cause %q through %q unknown %q; want %q, %q, %q\n%s", s.Cause, s.Mechanism, s.Unknown, c.cause, c.mechanism, c.unknown, table2(s))
			}
			if s.Unknown == Known && s.Share < .5 {
				t.Errorf("the cause explains %.2f of the spike", s.Share)
			}
		})
	}
}

func table2(s Spike) string {
	var b strings.Builder
	for _, c := range s.Candidates {
		b.WriteString(c.Ref + " " + string(c.Role) + " " + c.Reason + "\n")
	}
	return b.String()
}

// shortFsyncs are background: 60 ms every second.
func shortFsyncs(s *story) *story {
	for d := warm; d < s.end; d += sec {
		s.add(evidence(record.ClassFsync, "n1", d, d+60*ms))
	}
	return s
}

// TestPurgeInPauseIsSaidWhy: the innocent purge is listed, with its numbers.
func TestPurgeInPauseIsSaidWhy(t *testing.T) {
	s := &story{end: 125 * sec}
	for i := range 5 {
		d := warm + time.Duration(i+1)*20*sec
		s.add(purge("n1", d, d+20*ms))
	}
	sp := s.stall(40*sec, 43*sec).add(fault("f1", "pause", "n1", "leader", 40*sec, 43*sec), purge("n1", 40*sec+10*ms, 40*sec+60*ms)).spike(t)
	p := candidate(sp, "purge-2")
	if p.Role != RoleRejected || p.Like != 6 || p.Without != 5 || p.Share > .1 {
		t.Errorf("purge is %+v", p)
	}
	if f := candidate(sp, "f1"); f.Role != RoleCause || f.Share < .95 {
		t.Errorf("fault is %+v", f)
	}
}

// TestOrderOfEqualTimes: events of one time may be stored in any order.
func TestOrderOfEqualTimes(t *testing.T) {
	build := func(seed uint64) Analysis {
		s := &story{end: 65 * sec, seed: seed}
		s.stall(40*sec, 43*sec).stall(50*sec, 50*sec+400*ms)
		for _, n := range []string{"n1", "n2", "n3"} {
			s.add(evidence(record.ClassFsync, n, 50*sec, 50*sec+390*ms), evidence(record.ClassGC, n, 50*sec, 50*sec+390*ms), purge(n, 50*sec, 50*sec+20*ms))
		}
		s.add(fault("f1", "pause", "n1", "leader", 40*sec, 43*sec), fault("f2", "pause", "n2", "follower", 40*sec, 43*sec))
		return s.analyse(t)
	}
	want := build(0)
	if len(want.Spikes) != 2 {
		t.Fatalf("%d spikes", len(want.Spikes))
	}
	for seed := uint64(1); seed <= 3; seed++ {
		got := build(seed)
		got.Run.Started, want.Run.Started = time.Time{}, time.Time{}
		for i := range want.Spikes {
			if !reflect.DeepEqual(got.Spikes[i], want.Spikes[i]) {
				t.Errorf("seed %d: spike %d differs:\n%+v\n%+v", seed, i, got.Spikes[i], want.Spikes[i])
			}
		}
		got.Spikes, want.Spikes = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: the analysis differs", seed)
		}
		want = build(0)
	}
}

func TestSpikeSpans(t *testing.T) {
	s := &story{end: 65 * sec}
	s.stall(20*sec, 20*sec+147*ms)                              // shorter than a stall
	s.stall(30*sec, 30*sec+300*ms).stall(31*sec, 31*sec+300*ms) // one spike: the gap is short
	s.stall(40*sec, 40*sec+300*ms)
	s.stall(2*sec, 3*sec) // warm-up is not judged
	a := s.analyse(t)
	if len(a.Spikes) != 2 {
		t.Fatalf("%v", spans(a.Spikes))
	}
	sp := a.Spikes[0]
	if sp.From != 30*sec || sp.To != 31*sec+302*ms || sp.Longest != 302*ms || sp.ID != "spike-1" {
		t.Errorf("spike is %v to %v, longest %v", sp.From, sp.To, sp.Longest)
	}
	// 16 operations of each stall were due at least 150 ms before its end.
	if sp.Ops != 32 || sp.Excess < 32*150*ms || sp.Excess > 32*300*ms {
		t.Errorf("%d operations, %v", sp.Ops, sp.Excess)
	}
	if len(sp.Controls) == 0 || len(sp.Controls) > keptControls {
		t.Errorf("%d controls", len(sp.Controls))
	}
}

// TestFaultBeginsASpike: what a fault does is told apart from the trouble that was there before.
func TestFaultBeginsASpike(t *testing.T) {
	s := &story{end: 125 * sec}
	for d := 36 * sec; d < 40*sec; d += sec {
		s.stall(d, d+300*ms)
	}
	a := s.stall(40*sec, 43*sec).add(fault("f1", "pause", "n1", "leader", 40*sec, 43*sec)).analyse(t)
	if len(a.Spikes) != 2 || a.Spikes[0].From != 36*sec || a.Spikes[1].From != 40*sec {
		t.Fatalf("%v", spans(a.Spikes))
	}
	if a.Spikes[0].Unknown != UnknownNone || !strings.Contains(a.Spikes[1].Cause, "pause") {
		t.Errorf("%q and %q", a.Spikes[0].Cause, a.Spikes[1].Cause)
	}
}

// TestBlindSeconds: a second that failed is a spike also when no failed operation was kept.
func TestBlindSeconds(t *testing.T) {
	s := &story{end: 65 * sec}
	w := record.Window{Stamp: at(30 * sec), Len: sec, Workload: "zookeeper.setdata", Op: "set", Failed: 4, OK: 1,
		Service: record.NewHist(), Delay: record.NewHist(), Response: record.NewHist()}
	w.Response.Add(5 * ms)
	a := s.add(w).analyse(t)
	if len(a.Spikes) != 1 || a.Spikes[0].From != 30*sec || a.Spikes[0].Failed != 4 {
		t.Errorf("%+v", a.Spikes)
	}
}

// TestTooManySpikes keeps the worst and counts the rest.
func TestTooManySpikes(t *testing.T) {
	sp := newSpiker(Span{0, 4000 * sec}, bars{}, nil, nil)
	const n = 3*MaxSpikes + 7
	for i := range n {
		d := time.Duration(i) * 5 * sec
		sp.add(record.SlowOp{Stamp: at(d), Workload: "zookeeper.x", Op: "o", Start: d, End: d + 200*ms + time.Duration(i%300)*ms, Why: record.WhySlow})
	}
	f := sp.finish(newTable(0, nil))
	if len(f.spikes) != MaxSpikes || f.left != n-MaxSpikes || len(f.spans["zookeeper"]) != n {
		t.Fatalf("%d spikes, %d left, %d spans", len(f.spikes), f.left, len(f.spans["zookeeper"]))
	}
	for i, s := range f.spikes {
		if s.Longest < 300*ms {
			t.Errorf("spike of %v was kept", s.Longest)
		}
		if len(s.Slow) != 1 {
			t.Errorf("a kept spike lost its operations")
		}
		if i > 0 && f.spikes[i-1].From > s.From {
			t.Errorf("not in order of time")
		}
	}
}
