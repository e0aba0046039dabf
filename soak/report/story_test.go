package report

import (
	"testing"
	"time"

	"nightshift/soak/record"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

const plan = `nightshift: 1
for: 30s
targets: {zk: {system: zookeeper, lab: {nodes: 3}}}
workloads: [{kind: zookeeper/setdata, target: zk, rate: 100/s}]
`

func at(d time.Duration) record.Stamp { return record.Stamp{At: d} }

// story is the record of a small run that is made up: a workload of 100 operations a second of 2 ms each.
type story struct {
	yaml   string
	phases []record.Phase
	load   time.Duration // operations end here
	nodes  bool
	events []record.Event
	slow   map[int]time.Duration // a second and how long its operations took
}

func phases(end string) []record.Phase {
	ps := []record.Phase{{Stamp: at(0), Name: record.PhaseWarmup}, {Stamp: at(5 * sec), Name: record.PhaseLoad}, {Stamp: at(35 * sec), Name: record.PhaseDrain},
		{Stamp: at(36 * sec), Name: record.PhaseCheck}}
	if end != "" {
		ps = append(ps, record.Phase{Stamp: at(38 * sec), Name: record.PhaseEnd, Text: end})
	}
	return ps
}

// quiet is a run in which nothing happened.
func quiet(end string) story {
	return story{yaml: plan, phases: phases(end), load: 35 * sec, nodes: true}
}

// dir writes the record.
func (s story) dir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	store, err := record.Create(dir, record.NewClock(), record.Run{ID: "20260102-030405-0002a", Plan: "quickstart", YAML: s.yaml, Seed: 42,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Host: "h", Tool: "v1", Replay: "nightshift run quickstart --seed 42"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.all() {
		store.Emit(e)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s story) all() []record.Event {
	var out []record.Event
	for _, p := range s.phases {
		out = append(out, p)
	}
	if s.nodes {
		for i, role := range []string{"leader", "follower", "follower"} {
			id := string(rune('1' + i))
			out = append(out, record.Node{System: "zookeeper", Target: "zk", ID: "n" + id, Addr: "127.0.0.1:218" + id, Role: role, Up: true, Version: "3.9.5"})
		}
	}
	for begin := time.Duration(0); begin < s.load; begin += sec {
		took, n := 2*ms, uint64(100)
		if d := s.slow[int(begin/sec)]; d > 0 {
			took, n = d, 20
		}
		w := record.Window{Stamp: at(begin), Len: sec, Workload: "zookeeper.setdata", Op: "set", Size: 1024, OK: n, Bytes: n << 10,
			Service: record.NewHist(), Delay: record.NewHist(), Response: record.NewHist()}
		for i := range n {
			w.Service.Add(took)
			w.Delay.Add(0)
			w.Response.Add(took)
			if took >= 150*ms {
				start := begin + time.Duration(i)*10*ms
				out = append(out, record.SlowOp{Stamp: at(start), Workload: w.Workload, Op: w.Op, Size: w.Size, Seq: i, Path: "/p", Start: start, End: start + took,
					Node: "127.0.0.1:2181", Why: record.WhySlow})
			}
		}
		out = append(out, w)
	}
	return append(out, s.events...)
}

// eventful is a run with something in every table.
func eventful() story {
	s := quiet(record.EndDone)
	s.yaml += `faults: {schedule: {every: 10s}, mix: [{kind: kill, nodes: leader}, {kind: pause, nodes: follower}]}
janitor: [{target: zk, keep: 3, every: 10s}]
expect:
  - {name: writes are fast, expr: zookeeper.setdata.p99 < duration("250ms"), over: 10s}
  - {name: all is well, expr: zookeeper.setdata.error_rate < 0.01}
`
	s.slow = map[int]time.Duration{12: 800 * ms, 20: 300 * ms}
	s.events = []record.Event{
		record.Fault{Stamp: at(16 * sec), ID: "f1", Fault: "kill", Class: "process", Target: "zk", Node: "n1", Role: "leader", Step: record.StepHealed,
			Injected: 11900 * ms, From: 11950 * ms, Reverted: 15 * sec, To: 16 * sec, Bit: true, Healed: true, Limit: 10 * sec, Proof: []string{"process 7 is gone", "serves"}},
		record.Fault{Stamp: at(22 * sec), ID: "f2", Fault: "pause", Class: "process", Target: "zk", Node: "n2", Role: "follower", Step: record.StepSkipped,
			Skipped: "no cgroup, and the process is not ours", Optional: true},
		record.Fault{Stamp: at(30 * sec), ID: "f3", Fault: "pause", Class: "process", Target: "zk", Node: "n3", Role: "follower", Step: record.StepFailed,
			Injected: 25 * sec, From: 25100 * ms, Reverted: 28 * sec, Bit: true, Error: "not seen healed within 2s\nit is still stopped", Limit: 10 * sec},
		record.Evidence{Stamp: at(11950 * ms), To: 12750 * ms, Class: record.ClassFsync, Node: "n2", Magnitude: .8, Unit: "s", Text: "fsync in SyncThread:2 took 800ms"},
		record.Finding{Code: "recovered", Severity: record.Info, System: "zookeeper", Subject: "zookeeper.setdata", Text: "1 write in doubt had taken effect", Count: 1, Evidence: []string{"/p: write 9"}},
		record.Finding{Code: "recovered", Severity: record.Info, System: "zookeeper", Subject: "zookeeper.setdata", Text: "1 write in doubt had taken effect", Count: 1, Evidence: []string{"/p: write 9"}},
		record.Finding{Code: "lost-write", Severity: record.Fail, System: "zookeeper", Subject: "zookeeper.setdata", Text: "5 acknowledged writes are lost", Count: 5,
			Evidence: []string{"/p1: write 1", "/p2: write 2", "/p3: write 3", "/p4: write 4", "/p5: write 5"}},
		record.Note{Stamp: at(30 * sec), Lane: "lab", Level: "warn", Text: "cgroups can't be made here:\n\x1b[31mpermission denied"},
		record.Note{Stamp: at(37 * sec), Lane: "zk", Level: "info", Code: record.NoteRestarted, Text: "3 servers restarted on what the purges kept"},
		record.Note{Stamp: at(31 * sec), Lane: "lab", Level: "info", Text: "nobody needs to read this"},
	}
	for i, n := range []string{"n1", "n2", "n3"} {
		p := record.Purge{Stamp: at(time.Duration(10+10*i) * sec), To: time.Duration(10+10*i)*sec + 50*ms, Target: "zk", Node: n, Dir: "d", Removed: 3 * i, Freed: int64(i) << 20, Kept: 9, Restorable: i != 2, Zxid: "0x200"}
		if i == 0 {
			p.Refused = "a snapshot is being written"
		}
		s.events = append(s.events, p)
	}
	for i := range 60 {
		for name, v := range map[string]float64{"count": 7, "bytes": 1 << 20, "allocated": float64(500<<10 + i*1000)} {
			s.events = append(s.events, record.Series{Stamp: at(5*sec + time.Duration(i)*sec/2), Name: "zookeeper.files.log." + name, Node: "n1", Unit: "By", Value: v})
		}
	}
	return s
}
