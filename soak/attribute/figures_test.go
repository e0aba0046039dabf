package attribute

import (
	"math"
	"slices"
	"testing"
	"time"

	"nightshift/soak/record"
	"pgregory.net/rapid"
)

// TestOperations: warm-up is left out, the drain counts, rates are per second of load.
func TestOperations(t *testing.T) {
	s := &story{end: 65 * sec}
	late := record.Window{Stamp: at(65 * sec), Len: sec, Workload: "zookeeper.ephemeral", Op: "create", Size: 100, OK: 3, Shed: 2,
		Service: hist(40 * ms), Delay: hist(), Response: hist(40 * ms)}
	other := record.Window{Stamp: at(20 * sec), Len: sec, Workload: "zookeeper.ephemeral", Op: "delete", Size: 100, OK: 7, Failed: 1, InDoubt: 2, Late: 4,
		Service: hist(ms), Delay: hist(), Response: hist(ms, 3*time.Hour)}
	a := s.add(late, other).analyse(t)
	if len(a.Operations) != 2 || len(a.Workloads) != 1 {
		t.Fatalf("%+v", a.Operations)
	}
	o := a.Operations[0]
	if o.Op != "create" || o.OK < 6000 || o.OK > 6003 || o.Shed != 2 || o.Max != 40*ms || o.Count != o.OK {
		t.Errorf("create %+v", o)
	}
	if math.Abs(o.TPS-100) > .2 || math.Abs(o.RecentTPS-100) > .2 || o.RecentMean > 3*ms || o.P50 > 3*ms {
		t.Errorf("create %+v", o)
	}
	d := a.Operations[1]
	if d.Count != 10 || d.Late != 4 || d.Over != 1 || d.Max != 3*time.Hour || d.Offered() != 10 || d.Active != (Span{20 * sec, 21 * sec}) {
		t.Errorf("delete %+v", d)
	}
	w := a.Workloads[0]
	if w.Op != "" || w.Count != o.Count+d.Count || w.Shed != 2 || w.Max != 3*time.Hour {
		t.Errorf("sum %+v", w)
	}
}

func hist(ds ...time.Duration) *record.Hist {
	h := record.NewHist()
	for _, d := range ds {
		h.Add(d)
	}
	return h
}

// TestLongRunReadsRollups: what rollups say is what seconds say.
func TestLongRunReadsRollups(t *testing.T) {
	const from, to = 5*sec + 0, 2*time.Hour + 7*time.Minute + 3*sec
	var es []record.Event
	for d := time.Duration(0); d < to; d += sec {
		es = append(es, record.Window{Stamp: at(d), Len: sec, Workload: "w", Op: "o", OK: 1, Service: hist(ms), Delay: hist(), Response: hist(time.Duration(d/sec%50+1) * ms)})
	}
	es = append(es, record.Phase{Stamp: at(0), Name: record.PhaseWarmup}, record.Phase{Stamp: at(from), Name: record.PhaseLoad},
		record.Phase{Stamp: at(to), Name: record.PhaseDrain}, record.Phase{Stamp: at(to), Name: record.PhaseEnd, Text: record.EndDone})
	a, err := Analyse(t.Context(), write(t, es))
	if err != nil {
		t.Fatal(err)
	}
	want := uint64((to - from) / sec)
	if o := a.Operations[0]; o.OK != want || o.Max != 50*ms || o.TPS != 1 {
		t.Errorf("%+v, want %d", o, want)
	}
}

// TestSegments: every instant is in exactly one segment, and rollups begin and end on their step.
func TestSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Duration(rapid.Int64Range(0, 20000).Draw(t, "from")) * sec
		to := from + time.Duration(rapid.Int64Range(1, 40000).Draw(t, "len"))*sec + time.Duration(rapid.Int64Range(0, 999).Draw(t, "ms"))*ms
		next := from
		for _, q := range segments(from, to) {
			if q.From != next || q.To <= q.From || q.From%q.Step != 0 || q.Step > sec && q.To%q.Step != 0 {
				t.Fatalf("segment %+v after %v", q, next)
			}
			next = q.To
		}
		if next != to {
			t.Fatalf("ends at %v, want %v", next, to)
		}
	})
}

func TestDisks(t *testing.T) {
	s := &story{end: 125 * sec}
	for i := range 125 {
		d := time.Duration(i) * sec
		v := float64(1000 * i)
		if i%30 == 7 {
			v *= 50 // a wild reading does not move the slope
		}
		s.add(record.Series{Stamp: at(d), Name: "zookeeper.files.log.allocated", Node: "n1", Unit: "By", Value: v},
			record.Series{Stamp: at(d), Name: "zookeeper.files.log.bytes", Node: "n1", Unit: "By", Value: float64(4096 * i)},
			record.Series{Stamp: at(d), Name: "zookeeper.files.log.count", Node: "n1", Unit: "1", Value: float64(i / 10)},
			record.Series{Stamp: at(d), Name: "zookeeper.files.log.zxid", Node: "n1", Unit: "1", Value: 9},
			record.Series{Stamp: at(d), Name: "self.cpu", Unit: "%", Value: float64(i % 2)},
			record.Series{Stamp: at(d), Name: "self.rss", Unit: "By", Value: float64(1000 + i)},
			record.Series{Stamp: at(d), Name: "self.written", Unit: "By", Value: float64(i)})
	}
	s.add(record.Series{Stamp: at(sec), Name: "zookeeper.files.snapshot.bytes", Node: "n1", Unit: "By", Value: 5})
	s.add(record.File{Stamp: at(sec), Node: "n1", Type: "log", Bytes: 10, Change: "created"}, record.File{Stamp: at(2 * sec), Node: "n1", Type: "log", Bytes: 4, Change: "removed"})
	a := s.add(purge("n1", 50*sec, 50*sec+ms)).analyse(t)
	if len(a.Disks) != 2 {
		t.Fatalf("%+v", a.Disks)
	}
	d := a.Disks[0]
	if d.Kind != "log" || d.Allocated != 124000 || d.Bytes != 4096*124 || d.Files != 12 || !d.Judged || math.Abs(d.PerHour-3.6e6) > 1e5 || d.PeakAlloc < 1e6 {
		t.Errorf("log %+v", d)
	}
	if d := a.Disks[1]; d.Kind != "snapshot" || d.Bytes != 5 || d.Judged {
		t.Errorf("snapshot %+v", d)
	}
	if want := (float64(1000*119) + 3<<20) / float64(a.Workloads[0].OK); math.Abs(a.DiskPerOp-want) > 1 {
		t.Errorf("%v bytes an operation, want %v", a.DiskPerOp, want)
	}
	if a.Self.CPUMax != 1 || a.Self.CPUUnit != "%" || a.Self.RSS != 1124 || a.Self.Written != 124 {
		t.Errorf("%+v", a.Self)
	}
	if !slices.Equal(a.Files, []FileChange{{Node: "n1", Type: "log", Created: 1, Removed: 1, CreatedBytes: 10, RemovedBytes: 4}}) {
		t.Errorf("%+v", a.Files)
	}
}

func TestTheilSenThins(t *testing.T) {
	var ps []record.Point
	for i := range 10000 {
		ps = append(ps, record.Point{At: time.Duration(i) * sec, Value: 3 * float64(i)})
	}
	if got := theilSen(thin(ps, maxSlopePoints)); math.Abs(got-3) > 1e-6 {
		t.Errorf("slope %v", got)
	}
}

// TestUnfinished: a record without load, without end, or with nothing at all is analysed too.
func TestUnfinished(t *testing.T) {
	for name, es := range map[string][]record.Event{
		"empty":      nil,
		"no load":    {record.Phase{Stamp: at(0), Name: record.PhaseSetup}},
		"killed":     {record.Phase{Stamp: at(sec), Name: record.PhaseLoad}, record.Window{Stamp: at(3 * sec), Len: sec, Workload: "w", Op: "o", OK: 5, Service: hist(ms), Delay: hist(), Response: hist(ms)}},
		"only fault": {fault("f1", "kill", "n1", "", 40*sec, 44*sec)},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Analyse(t.Context(), write(t, es))
			if err != nil {
				t.Fatal(err)
			}
			if a.Ended != "" || len(a.Spikes) != 0 {
				t.Errorf("%+v", a)
			}
			if name == "killed" && (len(a.Operations) != 1 || a.Operations[0].OK != 5) {
				t.Errorf("%+v", a.Operations)
			}
		})
	}
}
