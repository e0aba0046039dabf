package probes

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

// jvms is a host with JVMs in a directory of its own instead of /proc.
type jvms struct {
	t    *testing.T
	proc string
	env  Env
	node target.Node
}

// newJVMs makes a host whose boot was 1000 s before the run began, which is 21:00 by its wall clock.
func newJVMs(t *testing.T) *jvms {
	h := &jvms{t: t, proc: t.TempDir()}
	clock := record.NewClock()
	h.node = target.Node{ID: "n1", GCLog: filepath.Join(t.TempDir(), "gc.log")}
	wall := time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)
	h.env = Env{
		Clock: clock, Run: record.Run{BootBase: int64(1000 * time.Second), BootID: "b"}, Proc: h.proc,
		Wall: func() time.Time { return wall.Add(clock.Now()) },
		Lookup: map[string]target.Lookup{"zk": func(context.Context) (target.Cluster, error) {
			return target.Cluster{System: "zookeeper", Nodes: []target.Node{h.node}}, nil
		}},
	}
	return h
}

// start makes a process that began at an offset of the run; the JVM in it began later by delay.
func (h *jvms) start(pid int, at, delay time.Duration, perf bool) target.ProcRef {
	h.t.Helper()
	ticks := uint64((at + 1000*time.Second) / tick)
	dir := filepath.Join(h.proc, strconv.Itoa(pid))
	data := filepath.Join(dir, "root", "tmp", "hsperfdata_zk")
	if err := os.MkdirAll(data, 0o700); err != nil {
		h.t.Fatal(err)
	}
	stat := fmt.Sprintf("%d (java) S 1 1 1 0 -1 0 0 0 0 0 10 5 0 0 20 0 30 0 %d 1000000 5000 0 0\n", pid, ticks)
	put(h.t, filepath.Join(dir, "stat"), stat, os.O_TRUNC)
	if perf {
		began := time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC).Add(at + delay)
		put(h.t, filepath.Join(data, strconv.Itoa(pid)), string(perfFile(map[string]int64{
			"sun.rt.applicationTime": 1, "sun.rt.createVmBeginTime": began.UnixMilli(), "sun.rt.safepoints": 3,
		})), os.O_TRUNC)
	}
	return target.ProcRef{Pid: pid, Ticks: ticks, BootID: "b"}
}

func (h *jvms) kill(pid int) {
	h.t.Helper()
	if err := os.RemoveAll(filepath.Join(h.proc, strconv.Itoa(pid))); err != nil {
		h.t.Fatal(err)
	}
}

// perfFile lays out performance data as HotSpot does.
func perfFile(longs map[string]int64) []byte {
	b := make([]byte, 32)
	copy(b, []byte{0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1})
	binary.LittleEndian.PutUint32(b[24:], 32)
	binary.LittleEndian.PutUint32(b[28:], uint32(len(longs)))
	for name, v := range longs {
		data := (20 + len(name) + 1 + 7) / 8 * 8
		e := make([]byte, data+8)
		binary.LittleEndian.PutUint32(e, uint32(len(e)))
		binary.LittleEndian.PutUint32(e[4:], 20)
		e[12], e[14] = 'J', 1
		binary.LittleEndian.PutUint32(e[16:], uint32(data))
		copy(e[20:], name)
		binary.LittleEndian.PutUint64(e[data:], uint64(v))
		b = append(b, e...)
	}
	return b
}

func (h *jvms) probe() *gc {
	h.t.Helper()
	p, err := New(Spec{Kind: "jvm/gc", Target: "zk"}, h.env)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = p.(*gc).Close() })
	return p.(*gc)
}

func (h *jvms) sample(p *gc) []record.Evidence {
	h.t.Helper()
	// Every look-up is a new one, as if a second had passed.
	for _, s := range p.nodes.all {
		s.tried = false
	}
	rs, err := p.Sample(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return all[record.Evidence](rs)
}

func TestGCPausesStandOnTheTimeLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		perf        bool
		zero        time.Duration
		uncertainty time.Duration
	}{
		{"performance data", true, -60*time.Second + 37*time.Millisecond, beginSlack},
		{"process start", false, -60*time.Second + launch, launchSlack},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newJVMs(t)
			h.node.Proc = h.start(7, -60*time.Second, 37*time.Millisecond, c.perf)
			p := h.probe()
			if got := h.sample(p); len(got) != 0 {
				t.Fatalf("no log yet: %v", got)
			}
			put(t, h.node.GCLog, strings.Join(lines(t, "gc.log"), "\n")+"\n", os.O_APPEND)
			got := h.sample(p)
			if len(got) != 2 {
				t.Fatalf("%d pauses: %v", len(got), got)
			}
			for i, want := range []struct{ end, took time.Duration }{{1094558517, 13219789}, {5141784402, 41025458}} {
				g := got[i]
				if d := (g.To - c.zero - want.end).Abs(); d > 2*beginSlack || g.To-g.At != want.took {
					t.Errorf("%d: from %v to %v, off by %v", i, g.At, g.To, d)
				}
				if g.Uncertainty < c.uncertainty || g.Uncertainty > 2*c.uncertainty || g.Source != "n1/gc-log" || g.Class != record.ClassGC || g.Node != "n1" {
					t.Errorf("%d: %+v", i, g)
				}
			}
			if !strings.Contains(got[0].Text, "G1CollectForAllocation: Pause Young (Normal) (G1 Evacuation Pause)") {
				t.Errorf("text %q", got[0].Text)
			}
		})
	}
}

const shortPause = `[%dns][info][safepoint   ] Safepoint "Other", Time since last: 1 ns, Total: 50000000 ns` + "\n"

func TestGCLogOfARestartedServerHasANewAnchor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		next func(h *jvms)
	}{
		{"moved away", func(h *jvms) {
			if err := os.Rename(h.node.GCLog, h.node.GCLog+".1"); err != nil {
				h.t.Fatal(err)
			}
		}},
		{"truncated", func(h *jvms) {
			if err := os.Truncate(h.node.GCLog, 0); err != nil {
				h.t.Fatal(err)
			}
		}},
		{"a file of its own", func(h *jvms) { h.node.GCLog += ".new" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newJVMs(t)
			old := h.start(7, -60*time.Second, 0, true)
			h.node.Proc = old
			put(t, h.node.GCLog, "", os.O_APPEND)
			p := h.probe()
			h.sample(p)
			put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(50*time.Second)), os.O_APPEND)
			got := h.sample(p)
			if len(got) != 1 || (got[0].To+10*time.Second).Abs() > 2*beginSlack {
				t.Fatalf("first life: %v", got)
			}

			h.kill(7)
			now := h.start(8, -5*time.Second, 0, true)
			c.next(h)
			put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(2*time.Second)), os.O_APPEND)
			if c.name != "a file of its own" { // the file of the old name is looked at before the new process is known
				for range 2 { // the rest of the old file, then the new one
					if rs, _ := p.Sample(t.Context()); len(all[record.Evidence](rs)) != 0 {
						t.Fatalf("placed by the clock of another JVM: %v", rs)
					}
				}
			}
			h.node.Proc = now
			got = h.sample(p)
			if len(got) != 1 || (got[0].To+3*time.Second).Abs() > 2*beginSlack {
				t.Fatalf("second life: %v", got)
			}
		})
	}
}

func TestGCLogWrittenOverBetweenTwoSamples(t *testing.T) {
	t.Parallel()
	h := newJVMs(t)
	h.node.Proc = h.start(7, -60*time.Second, 0, true)
	put(t, h.node.GCLog, "", os.O_APPEND)
	p := h.probe()
	h.sample(p)
	put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(50*time.Second)), os.O_APPEND)
	h.sample(p)
	h.kill(7)
	h.node.Proc = h.start(8, -20*time.Second, 0, true)
	line := fmt.Sprintf(shortPause, int64(10*time.Second)) // as long as before: truncation can't be seen
	put(t, h.node.GCLog, line+line, os.O_TRUNC)
	if got := h.sample(p); len(got) != 1 || (got[0].To+10*time.Second).Abs() > 2*beginSlack {
		t.Fatalf("%v", got)
	}
}

func TestGCLogRotatedByTheJVMKeepsItsAnchor(t *testing.T) {
	t.Parallel()
	h := newJVMs(t)
	h.node.Proc = h.start(7, -60*time.Second, 0, true)
	put(t, h.node.GCLog, "", os.O_APPEND)
	p := h.probe()
	h.sample(p)
	put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(50*time.Second)), os.O_APPEND)
	h.sample(p)
	if err := os.Rename(h.node.GCLog, h.node.GCLog+".0"); err != nil {
		t.Fatal(err)
	}
	put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(51*time.Second)), os.O_APPEND)
	h.sample(p)
	if got := h.sample(p); len(got) != 1 || (got[0].To+9*time.Second).Abs() > 2*beginSlack {
		t.Fatalf("%v", got)
	}
}

func TestGCLinesOfAnUnknownProcessAreGivenUp(t *testing.T) {
	t.Parallel()
	h := newJVMs(t)
	p := h.probe()
	h.sample(p)
	put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(time.Second)), os.O_APPEND)
	_, err := p.Sample(t.Context())
	if gs := gaps(err); len(gs) != 1 || gs[0].Node != "n1" || len(p.logs["n1"].queue) != 1 {
		t.Fatalf("%v", err)
	}
	p.logs["n1"].since -= holdFor + time.Second
	_, err = p.Sample(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1 lines are left out") || len(p.logs["n1"].queue) != 0 {
		t.Fatalf("%v", err)
	}
}

func TestGCLogWithOtherDecorations(t *testing.T) {
	t.Parallel()
	h := newJVMs(t) // no process is known: none is needed
	p := h.probe()
	p.clocks.mono = func() time.Duration { return h.env.Clock.Now() + 1000*time.Second }
	h.sample(p)
	put(t, h.node.GCLog, ""+
		`[990000000000ns][5000000000ns][info][safepoint] Safepoint "A", Time since last: 1 ns, Total: 50000000 ns`+"\n"+
		`[2026-11-30T20:59:55.000+0000][info][safepoint] Safepoint "B", Time since last: 1 ns, Total: 50000000 ns`+"\n"+
		`[2026-11-30T20:59:57.000+0000][info][gc] GC(3) Pause Full (System.gc()) 6M->1M(256M) 26.500ms`+"\n", os.O_APPEND)
	got := h.sample(p)
	if len(got) != 3 {
		t.Fatalf("%v", got)
	}
	for i, end := range []time.Duration{-10 * time.Second, -5 * time.Second, -3 * time.Second} {
		if d := (got[i].To - end).Abs(); d > 2*beginSlack {
			t.Errorf("%d: off by %v: %+v", i, d, got[i])
		}
	}
	if got[2].To-got[2].At != 26500*time.Microsecond {
		t.Errorf("a pause without its safepoint: %+v", got[2])
	}
}

func TestAnchorGetsBetterWhenTheJVMIsUp(t *testing.T) {
	t.Parallel()
	h := newJVMs(t)
	h.node.Proc = h.start(7, -60*time.Second, 0, false)
	put(t, h.node.GCLog, "", os.O_APPEND)
	p := h.probe()
	h.sample(p)
	put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(50*time.Second)), os.O_APPEND)
	if got := h.sample(p); len(got) != 1 || got[0].Uncertainty != launchSlack {
		t.Fatalf("%v", got)
	}
	h.start(7, -60*time.Second, 300*time.Millisecond, true)
	put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(51*time.Second)), os.O_APPEND)
	got := h.sample(p)
	if len(got) != 1 || got[0].Uncertainty > 2*beginSlack || (got[0].To+8700*time.Millisecond).Abs() > 2*beginSlack {
		t.Fatalf("%v", got)
	}
}

func TestLinesOfAYoungJVMWaitForItsPerformanceData(t *testing.T) {
	t.Parallel()
	h := newJVMs(t)
	h.node.Proc = h.start(7, -2*time.Second, 0, false)
	p := h.probe()
	h.sample(p)
	put(t, h.node.GCLog, fmt.Sprintf(shortPause, int64(time.Second)), os.O_APPEND)
	if got := h.sample(p); len(got) != 0 {
		t.Fatalf("%v", got)
	}
	h.start(7, -2*time.Second, 500*time.Millisecond, true)
	if got := h.sample(p); len(got) != 1 || (got[0].To+500*time.Millisecond).Abs() > 2*beginSlack {
		t.Fatalf("%v", got)
	}
}

func TestPerformanceDataOfAnotherBootIsNotUsed(t *testing.T) {
	t.Parallel()
	h := newJVMs(t)
	h.start(7, -60*time.Second, -time.Hour, true) // the wall clock was set since, or the file is a leftover
	h.node.Proc = h.start(7, -60*time.Second, 0, false)
	p := h.probe()
	p.clocks.look()
	if a := p.measure(h.node.Proc); a.uncertainty != launchSlack {
		t.Errorf("%+v", a)
	}
}

func TestPerfLong(t *testing.T) {
	t.Parallel()
	b := perfFile(map[string]int64{"a": 1, "ab": 2, "abc": 3})
	if v, ok := perfLong(b, "ab"); !ok || v != 2 {
		t.Errorf("%d %v", v, ok)
	}
	if _, ok := perfLong(b, "abcd"); ok {
		t.Error("found what is not there")
	}
	for i := range b {
		perfLong(b[:i], "abc")
	}
}

func FuzzPerfLong(f *testing.F) {
	f.Add(perfFile(map[string]int64{"sun.rt.createVmBeginTime": 5}))
	f.Fuzz(func(_ *testing.T, b []byte) { perfLong(b, "sun.rt.createVmBeginTime") })
}

func FuzzGCLine(f *testing.F) {
	b, err := os.ReadFile("testdata/gc.log")
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range strings.Split(string(b), "\n") {
		f.Add(l)
	}
	f.Add(`[2026-11-30T20:59:57.000+0000][info][gc] GC(3) Pause Full (System.gc()) 6M->1M(256M) 26.500ms`)
	f.Fuzz(func(t *testing.T, line string) {
		g, ok := parseGCLine(line)
		if !ok {
			return
		}
		if g.uptime < 0 {
			t.Errorf("%q: %+v", line, g)
		}
		if ps, ok := parsePause(g); ok && (ps.took < 0 || ps.took > maxTook) {
			t.Errorf("%q: %+v", line, ps)
		}
	})
}
