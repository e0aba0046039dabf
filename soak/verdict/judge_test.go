package verdict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// night is a healthy run of a minute, made up: 100 operations a second of 2 ms, a kill that heals, purges that
// free something, a restart. A plant changes its plan or its events.
type night struct {
	plan   string
	left   []string
	events []record.Event
}

const plan = `nightshift: 1
for: 65s
targets:
  zk: {system: zookeeper, lab: {nodes: 3}}
workloads:
  - {kind: zookeeper/ephemeral, target: zk, rate: 100/s}
faults:
  schedule: {every: 30s}
  mix: [{kind: kill, nodes: leader, hold: 4s}]
janitor: [{target: zk, keep: 3, every: 20s}]
`

func at(d time.Duration) record.Stamp { return record.Stamp{At: d} }

func hist(ds ...time.Duration) *record.Hist {
	h := record.NewHist()
	for _, d := range ds {
		h.Add(d)
	}
	return h
}

// second is a window of n operations of d each.
func second(op string, i, n int, d time.Duration) record.Window {
	w := record.Window{Stamp: at(time.Duration(i) * sec), Len: sec, Workload: "zookeeper.ephemeral", Op: op, Size: 100, OK: uint64(n),
		Service: hist(), Delay: hist(), Response: hist()}
	for range n {
		w.Service.Add(d)
		w.Response.Add(d)
	}
	return w
}

func healthy() *night {
	n := &night{plan: plan}
	n.add(
		record.Phase{Stamp: at(0), Name: record.PhaseWarmup}, record.Phase{Stamp: at(5 * sec), Name: record.PhaseLoad},
		record.Phase{Stamp: at(65 * sec), Name: record.PhaseDrain}, record.Phase{Stamp: at(66 * sec), Name: record.PhaseCheck},
		record.Phase{Stamp: at(67 * sec), Name: record.PhaseRestart},
		record.Note{Stamp: at(69 * sec), Lane: "lab", Code: record.NoteRestarted, Text: "back"},
		record.Phase{Stamp: at(70 * sec), Name: record.PhaseEnd, Text: record.EndDone},
	)
	for i := range 65 {
		n.add(second("create", i, 100, 2*ms))
	}
	for i, id := range []string{"n1", "n2", "n3"} {
		n.add(record.Node{Stamp: at(0), System: "zookeeper", Target: "zk", ID: id, Addr: fmt.Sprintf("127.0.0.1:%d", i+1), Up: true})
	}
	n.add(kill(), purge("n1"), purge("n2"), purge("n3"))
	return n
}

func kill() record.Fault {
	return record.Fault{Stamp: at(24 * sec), ID: "f1", Fault: "kill", Class: "process", Target: "zk", Node: "n1", Step: record.StepHealed,
		Injected: 20 * sec, From: 20*sec + 10*ms, Reverted: 23 * sec, To: 24 * sec, Bit: true, Healed: true, Limit: 10 * sec}
}

func purge(node string) record.Purge {
	return record.Purge{Stamp: at(40 * sec), To: 40*sec + 20*ms, Target: "zk", Node: node, Dir: "d", Removed: 3, Freed: 3 << 20, Kept: 6, Restorable: true}
}

func (n *night) add(es ...record.Event) { n.events = append(n.events, es...) }

// change replaces events; nil removes one.
func (n *night) change(f func(record.Event) record.Event) {
	var out []record.Event
	for _, e := range n.events {
		if e = f(e); e != nil {
			out = append(out, e)
		}
	}
	n.events = out
}

// each changes the events of one type.
func each[T record.Event](n *night, f func(*T) bool) {
	n.change(func(e record.Event) record.Event {
		t, ok := e.(T)
		if !ok {
			return e
		}
		if !f(&t) {
			return nil
		}
		return t
	})
}

func (n *night) judge(t *testing.T, live bool) Verdict {
	t.Helper()
	dir := t.TempDir()
	s, err := record.Create(dir, record.NewClock(), record.Run{ID: "r1", YAML: n.plan, Left: n.left})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range n.events {
		s.Emit(e)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	a, err := attribute.Analyse(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	a.Live = live
	v, err := Judge(context.Background(), r, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func codes(v Verdict) (out []string) {
	for _, r := range v.Reasons {
		out = append(out, string(r.Severity)+":"+r.Code)
	}
	return out
}

func TestHealthyPasses(t *testing.T) {
	v := healthy().judge(t, false)
	if v.Verdict != Pass || v.Verdict.ExitCode() != 0 || len(v.Reasons) != 0 {
		t.Errorf("%s %+v", v.Line(), v.Reasons)
	}
}

func note(code string) record.Note {
	return record.Note{Stamp: at(30 * sec), Lane: "x", Code: code, Text: "t"}
}

func node(up bool) record.Node {
	return record.Node{Stamp: at(71 * sec), System: "zookeeper", Target: "zk", ID: "n1", Addr: "127.0.0.1:1", Up: up}
}

// TestEachPlantFlipsTheVerdict: one defect in a healthy run, and the verdict says so.
func TestEachPlantFlipsTheVerdict(t *testing.T) {
	on := func(f func(*record.Fault) bool) func(*night) { return func(n *night) { each(n, f) } }
	onPurge := func(f func(*record.Purge) bool) func(*night) { return func(n *night) { each(n, f) } }
	adds := func(es ...record.Event) func(*night) { return func(n *night) { n.add(es...) } }
	optional := func(s string) func(*night) {
		return func(n *night) { n.plan = strings.Replace(n.plan, s, s+", optional: true", 1) }
	}
	both := func(fs ...func(*night)) func(*night) {
		return func(n *night) {
			for _, f := range fs {
				f(n)
			}
		}
	}
	drop := func(kind record.Kind, from, to time.Duration) func(*night) {
		return func(n *night) {
			each(n, func(w *record.Window) bool { return w.Kind() != kind || w.At < from || w.At >= to })
		}
	}
	phase := func(name, text string, keep bool) func(*night) {
		return func(n *night) {
			each(n, func(p *record.Phase) bool {
				if p.Name != name {
					return true
				}
				p.Text = text
				return keep
			})
		}
	}
	cases := []struct {
		name  string
		plant func(*night)
		want  Outcome
		code  string // "" when the plant must not matter
	}{
		{"write lost", adds(record.Finding{Code: "write-lost", Severity: record.Fail, Text: "x"}), Fail, "fail:write-lost"},
		{"finding inconclusive", adds(record.Finding{Code: "check-failed", Severity: record.Inconclusive, Text: "x"}), Inconclusive, "inconclusive:check-failed"},
		{"finding warns", adds(record.Finding{Code: "duplicate-event", Severity: record.Warn, Text: "x"}), Pass, "warn:duplicate-event"},
		{"fault skipped", on(func(f *record.Fault) bool {
			*f = record.Fault{Stamp: f.Stamp, ID: f.ID, Fault: f.Fault, Target: "zk", Step: record.StepSkipped, Skipped: "no"}
			return true
		}), Inconclusive, "inconclusive:" + CodeFaultSkipped},
		{"optional fault skipped", on(func(f *record.Fault) bool {
			*f = record.Fault{Stamp: f.Stamp, ID: f.ID, Fault: f.Fault, Target: "zk", Step: record.StepSkipped, Skipped: "no", Optional: true}
			return true
		}), Pass, "info:" + CodeFaultSkipped},
		{"fault does not bite", on(func(f *record.Fault) bool { f.Bit, f.From, f.Step = false, 0, record.StepFailed; return true }), Inconclusive, "inconclusive:" + CodeNoBite},
		{"optional fault does not bite", on(func(f *record.Fault) bool { f.Bit, f.From, f.Optional = false, 0, true; return true }), Pass, "info:" + CodeNoBite},
		{"fault does not heal", on(func(f *record.Fault) bool { f.Healed, f.To, f.Step = false, 0, record.StepFailed; return true }), Fail, "fail:" + CodeNotHealed},
		{"injection failed and did not heal", on(func(f *record.Fault) bool {
			f.Injected, f.From, f.Bit, f.Healed, f.To, f.Step, f.Error = 0, 0, false, false, 0, record.StepFailed, "inject: x"
			return true
		}), Fail, "fail:" + CodeNotHealed},
		{"optional fault does not heal", on(func(f *record.Fault) bool { f.Healed, f.To, f.Optional = false, 0, true; return true }), Fail, "fail:" + CodeNotHealed},
		{"service not back", func(n *night) {
			each(n, func(w *record.Window) bool {
				if w.At >= 20*sec && w.At < 50*sec {
					w.OK, w.Failed = 0, 100
				}
				return true
			})
		}, Fail, "fail:" + CodeNotRecovered},
		{"no faults", on(func(*record.Fault) bool { return false }), Inconclusive, "inconclusive:" + CodeNoFaults},
		{"no faults, all optional", both(on(func(*record.Fault) bool { return false }), optional("hold: 4s")), Pass, ""},
		{"no faults for want of consent", func(n *night) { each(n, func(*record.Fault) bool { return false }); n.left = []string{"faults"} }, Pass, ""},
		{"a fault of the mix never ran", func(n *night) { n.plan = strings.Replace(n.plan, "hold: 4s}", "hold: 4s}, {kind: pause}", 1) }, Inconclusive, "inconclusive:" + CodeFaultIdle},
		{"an optional fault of the mix never ran", func(n *night) {
			n.plan = strings.Replace(n.plan, "hold: 4s}", "hold: 4s}, {kind: pause, optional: true}", 1)
		}, Pass, ""},
		{"a second fault of the same kind never ran", both(func(n *night) {
			n.plan = strings.Replace(n.plan, "hold: 4s}", "hold: 4s}, {kind: kill, nodes: follower}", 1)
		}, on(func(f *record.Fault) bool { f.Item = 1; return true })), Inconclusive, "kill follower"},
		{"fault without load", drop(record.KindWindow, 19*sec, 26*sec), Inconclusive, "inconclusive:" + CodeFaultUnloaded},
		{"purge failed", onPurge(func(p *record.Purge) bool { p.Error = "x"; return true }), Fail, "fail:" + CodePurgeFailed},
		{"purge left ruins", onPurge(func(p *record.Purge) bool { p.Restorable = false; return true }), Fail, "fail:" + CodeNotRestorable},
		{"purge did not begin", adds(record.Purge{Stamp: at(50 * sec), To: 50 * sec, Target: "zk", Error: "x"}), Inconclusive, "inconclusive:" + CodePurgeFailed},
		{"purge removed nothing", onPurge(func(p *record.Purge) bool { p.Removed, p.Freed = 0, 0; return true }), Inconclusive, "inconclusive:" + CodeNoPurge},
		{"purge refused", onPurge(func(p *record.Purge) bool { p.Removed, p.Freed, p.Refused = 0, 0, "unsure"; return true }), Inconclusive, "inconclusive:" + CodeNoPurge},
		{"purge freed nothing", onPurge(func(p *record.Purge) bool { p.Freed = 0; return true }), Inconclusive, "inconclusive:" + CodeNoPurge},
		{"no purge", onPurge(func(p *record.Purge) bool { return false }), Inconclusive, "inconclusive:" + CodeNoPurge},
		{"no purge, optional", both(onPurge(func(p *record.Purge) bool { return false }), optional("every: 20s")), Pass, ""},
		{"one server was never purged", onPurge(func(p *record.Purge) bool { return p.Node != "n2" }), Inconclusive, "servers of zk: n2: it was never purged"},
		{"one server was always refused", onPurge(func(p *record.Purge) bool {
			if p.Node == "n2" {
				p.Removed, p.Freed, p.Refused = 0, 0, "unsure"
			}
			return true
		}), Inconclusive, "servers of zk: n2: unsure"},
		{"purge without load", drop(record.KindWindow, 33*sec, 48*sec), Inconclusive, "inconclusive:" + CodePurgeUnloaded},
		{"restart failed", adds(note(record.NoteRestartFailed)), Fail, "fail:" + CodeRestart},
		{"restart not seen to end", func(n *night) { each(n, func(*record.Note) bool { return false }) }, Inconclusive, "inconclusive:" + CodeUnproven},
		{"no restart at all", both(phase(record.PhaseRestart, "", false), func(n *night) { each(n, func(*record.Note) bool { return false }) }), Inconclusive, "inconclusive:" + CodeUnproven},
		{"lane died", adds(note(record.NoteLaneDied)), Inconclusive, "inconclusive:" + CodeLane},
		{"probe missing", adds(note(record.NoteProbeMissing)), Inconclusive, "inconclusive:" + CodeProbe},
		{"optional probe missing", adds(note(record.NoteProbeOptional)), Pass, "info:" + CodeProbe},
		{"record stalled", adds(note(record.NoteRecordStall)), Inconclusive, "inconclusive:" + CodeRecord},
		{"servers could not be asked at the end", adds(note(record.NoteNodeUnknown)), Inconclusive, "inconclusive:" + CodeNodeUnknown},
		{"left out", adds(note(record.NoteNotJudged)), Pass, "info:" + CodeNote},
		{"node down that we hit", adds(node(false)), Fail, "fail:" + CodeNodeDown},
		{"node down and up again", adds(node(false), func() record.Node { n := node(true); n.At += sec; return n }()), Pass, ""},
		{"foreign node down", func(n *night) {
			n.plan = strings.Replace(n.plan, "lab: {nodes: 3}", "servers: [a:1]", 1)
			d := node(false)
			d.ID = "n2"
			n.add(d)
		}, Inconclusive, "inconclusive:" + CodeNodeDown},
		{"weak load, shed", func(n *night) { each(n, func(w *record.Window) bool { w.Shed = 150; return true }) }, Inconclusive, "inconclusive:" + CodeWeakLoad},
		{"weak load, not even shed", func(n *night) { n.plan = strings.Replace(n.plan, "100/s", "300/s", 1) }, Inconclusive, "inconclusive:" + CodeWeakLoad},
		{"weak load, failed", func(n *night) {
			each(n, func(w *record.Window) bool { w.OK, w.InDoubt = 40, 60; return true })
		}, Inconclusive, "inconclusive:" + CodeWeakLoad},
		{"weak load, it ended in the middle", drop(record.KindWindow, 34*sec, 65*sec), Inconclusive, "the schedule wanted 6000"},
		{"a quota ended it in the middle", both(drop(record.KindWindow, 54*sec, 65*sec), func(n *night) { n.plan = strings.Replace(n.plan, "rate: 100/s", "rate: 120/s, count: 5400", 1) }), Pass, ""},
		{"weak load behind operations that follow an update", func(n *night) {
			for i := range 65 {
				w := second("event", i, 300, 2*ms)
				n.add(w)
			}
			each(n, func(w *record.Window) bool {
				if w.Op == "create" {
					w.OK, w.Shed = 30, 70
				}
				return true
			})
		}, Inconclusive, "updates of the schedule were shed"},
		{"one operation fails mostly", func(n *night) {
			for i := range 65 {
				w := second("event", i, 20, 2*ms)
				w.Failed = 30
				n.add(w)
			}
		}, Inconclusive, "event operations succeeded"},
		{"no load", drop(record.KindWindow, 0, 100*sec), Inconclusive, "inconclusive:" + CodeNoLoad},
		{"no workload in the plan", func(n *night) {
			n.plan = strings.Replace(n.plan, "  - {kind: zookeeper/ephemeral, target: zk, rate: 100/s}\n", "", 1)
			drop(record.KindWindow, 0, 100*sec)(n)
		}, Inconclusive, "inconclusive:" + CodeNoLoad},
		{"one workload idle", func(n *night) {
			n.plan = strings.Replace(n.plan, "workloads:\n", "workloads:\n  - {kind: zookeeper/pubsub, target: zk}\n", 1)
		}, Inconclusive, "inconclusive:" + CodeIdle},
		{"one of two names alike is idle", func(n *night) {
			n.plan = strings.Replace(n.plan, "{kind: zookeeper/ephemeral, target: zk,", "{kind: zookeeper/ephemeral, name: a_b, target: zk}\n  - {kind: zookeeper/ephemeral, name: a-b, target: zk,", 1)
			each(n, func(w *record.Window) bool { w.Workload = "a-b"; return true })
		}, Inconclusive, "inconclusive:" + CodeIdle},
		{"named workload", func(n *night) {
			n.plan = strings.Replace(n.plan, "target: zk, rate", "name: tree-a, target: zk, rate", 1)
			each(n, func(w *record.Window) bool { w.Workload = "tree-a"; return true })
		}, Pass, ""},
		{"not checked", phase(record.PhaseCheck, "", false), Inconclusive, "inconclusive:" + CodeNotChecked},
		{"interrupted", phase(record.PhaseEnd, record.EndInterrupted, true), Aborted, "inconclusive:" + CodeInterrupted},
		{"harness failed", phase(record.PhaseEnd, "failed: disk full", true), Aborted, "inconclusive:" + CodeHarness},
		{"killed", phase(record.PhaseEnd, "", false), Aborted, "inconclusive:" + CodeKilled},
		{"killed with a loss", both(phase(record.PhaseEnd, "", false), adds(record.Finding{Code: "write-lost", Severity: record.Fail, Text: "x"})), Aborted, "fail:write-lost"},
		{"killed in a fault", both(phase(record.PhaseEnd, "", false), on(func(f *record.Fault) bool { f.Healed, f.To = false, 0; return true })), Aborted, "inconclusive:" + CodeNotHealed},
		{"fail beats inconclusive", adds(note(record.NoteLaneDied), note(record.NoteRestartFailed)), Fail, "inconclusive:" + CodeLane},
		{"plan unreadable", func(n *night) { n.plan = "a: [" }, Inconclusive, "inconclusive:" + CodePlan},
		{"expectation holds", expect(`zookeeper.ephemeral.p99 < duration("250ms")`), Pass, ""},
		{"expectation broken", expect(`zookeeper.ephemeral.p99 < duration("1ms")`), Fail, "fail:" + CodeExpect},
		{"expectation of nothing", expect(`zookeeper.ephemeral.create.p99 < duration("1ms"), after: 2m`), Inconclusive, "inconclusive:" + CodeExpectUnsaid},
		{"expectation of an unknown metric", expect(`zookeeper.ephemeral.p98 < duration("1ms")`), Inconclusive, "inconclusive:" + CodePlan},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := healthy()
			c.plant(n)
			v := n.judge(t, false)
			if v.Verdict != c.want {
				t.Errorf("verdict %s, want %s: %+v", v.Verdict, c.want, v.Reasons)
			}
			if c.code == "" && len(v.Reasons) > 0 {
				t.Errorf("reasons %+v, want none", v.Reasons)
			}
			if c.code != "" && !slices.Contains(codes(v), c.code) && !said(v, c.code) {
				t.Errorf("reasons %+v, want %s", v.Reasons, c.code)
			}
		})
	}
}

func said(v Verdict, text string) bool {
	return slices.ContainsFunc(v.Reasons, func(r Reason) bool { return strings.Contains(r.Text, text) })
}

// TestGapOutsideOfFaults: a minute without any success is no pass, unless a fault of ours is the reason.
func TestGapOutsideOfFaults(t *testing.T) {
	for _, c := range []struct {
		from, to int
		rate     string
		fault    func(*record.Fault)
		want     Outcome
	}{
		{100, 155, "100/s", nil, Pass},
		{100, 165, "100/s", nil, Inconclusive},
		{100, 165, "6/m", nil, Pass}, // not that much was wanted
		{200, 265, "100/s", nil, Inconclusive},
		{20, 95, "100/s", func(f *record.Fault) { f.To, f.Reverted, f.Limit = 94*sec, 93*sec, 2*time.Minute }, Pass},
		{20, 165, "100/s", func(f *record.Fault) { f.To, f.Reverted, f.Limit = 94*sec, 93*sec, 20*sec }, Fail},
	} {
		n := healthy()
		n.plan = strings.Replace(n.plan, "100/s", c.rate, 1)
		each(n, func(w *record.Window) bool { return false })
		for i := range 265 {
			w := second("create", i, 100, 2*ms)
			if i >= c.from && i < c.to {
				w.OK, w.Failed = 0, 1
			}
			n.add(w)
		}
		each(n, func(p *record.Phase) bool {
			if p.At > 60*sec {
				p.At += 200 * sec
			}
			return true
		})
		if c.fault != nil {
			each(n, func(f *record.Fault) bool { c.fault(f); return true })
		}
		v := n.judge(t, false)
		if v.Verdict != c.want || c.want == Inconclusive && !slices.Contains(codes(v), "inconclusive:"+CodeLoadGap) {
			t.Errorf("%+v: %s %+v", c, v.Verdict, v.Reasons)
		}
	}
}

func expect(x string) func(*night) {
	return func(n *night) {
		x, more, _ := strings.Cut(x, ", ")
		if more != "" {
			more = ", " + more
		}
		n.plan += "expect:\n  - {expr: '" + x + "'" + more + "}\n"
	}
}

func TestLive(t *testing.T) {
	n := healthy()
	each(n, func(p *record.Phase) bool { return p.Name != record.PhaseEnd })
	if v := n.judge(t, true); v.Verdict != Inconclusive || v.Reasons[0].Code != CodeLive {
		t.Errorf("%+v", v)
	}
}

func TestQualifier(t *testing.T) {
	n := healthy()
	n.left = []string{"faults", "purge"}
	each(n, func(*record.Fault) bool { return false })
	each(n, func(*record.Purge) bool { return false })
	if v := n.judge(t, false); v.Line() != "pass, without faults and purges" {
		t.Errorf("%q %+v", v.Line(), v.Reasons)
	}
}

// TestReasonsAreFew: a thousand of one kind are eight and a number; why a run was aborted comes first.
func TestReasonsAreFew(t *testing.T) {
	n := healthy()
	for i := range 1000 {
		n.add(record.Finding{Code: "write-lost", Severity: record.Fail, Text: fmt.Sprint(i)})
	}
	each(n, func(p *record.Phase) bool { return p.Name != record.PhaseEnd })
	v := n.judge(t, false)
	if len(v.Reasons) != 9 || v.Reasons[0].Code != CodeKilled || !strings.Contains(v.Reasons[8].Text, "992 more") {
		t.Errorf("%+v", v.Reasons)
	}
}

func TestExitCodes(t *testing.T) {
	for o, want := range map[Outcome]int{Pass: 0, Fail: 3, Inconclusive: 4, Aborted: 6, "": 4} {
		if got := o.ExitCode(); got != want {
			t.Errorf("%q: %d, want %d", o, got, want)
		}
	}
}
