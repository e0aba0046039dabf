package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

func show(t testing.TB, r Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// night is the report of eight hours: hundreds of faults and spikes, thousands of purges and findings, long texts.
func night() Report {
	long := strings.Repeat("some task waited for cpu for 992.8ms of 1s ", 5)
	a := attribute.Analysis{Run: record.Run{Plan: "quickstart"}, Load: attribute.Span{To: 8 * time.Hour}, Ended: record.EndDone, SpikesLeft: 1234, Unknown: 70}
	for i := range 800 {
		at := time.Duration(i) * 35 * sec
		f := attribute.Recovery{Fault: record.Fault{ID: fmt.Sprint(i), Fault: []string{"kill", "pause"}[i%2], Node: "n1", Role: "follower",
			Injected: at, From: at, To: at + 4*sec, Bit: true, Healed: true}}
		d := time.Duration(i) * ms
		f.Detect, f.FirstSuccess, f.Recovered = &d, &d, &d
		switch {
		case i%31 == 0:
			f.Bit, f.Error = false, "did not bite: "+long
		case i == 50:
			f.Skipped = long
		case i == 52:
			f.Unnoticed = true // nothing to look at
		}
		a.Faults = append(a.Faults, f)
		a.Purges = append(a.Purges, record.Purge{Target: "zk", Node: fmt.Sprintf("n%d", i%3+1), Removed: i, Restorable: true})
	}
	for i := range attribute.MaxSpikes {
		s := attribute.Spike{Span: attribute.Span{From: time.Duration(i) * time.Minute, To: time.Duration(i)*time.Minute + sec}, Excess: time.Duration(i*7%200) * sec, Ops: 9,
			Longest: 16*sec + time.Duration(i)*ms, Cause: long, Mechanism: long, Share: .5,
			Candidates: []attribute.Candidate{{Class: "pressure", Text: long, Role: attribute.RoleRejected, Reason: long, Like: 100, Without: 99}}}
		a.Spikes = append(a.Spikes, s)
	}
	v := verdict.Verdict{Verdict: verdict.Fail}
	for i := range 3000 {
		a.Findings = append(a.Findings, record.Finding{Code: "lost-write", Severity: record.Fail, Subject: "zookeeper.setdata", Text: fmt.Sprintf("%d: %s", i, long)})
		a.Notes = append(a.Notes, record.Note{Level: "warn", Lane: "probe", Text: long})
	}
	for _, f := range a.Findings[:8] {
		v.Reasons = append(v.Reasons, verdict.Reason{Code: f.Code, Severity: f.Severity, Text: f.Text, Evidence: strings.Fields(long)})
	}
	v.Expectations = []verdict.Result{{Name: long, Expr: long, Outcome: verdict.Fail, Text: long}}
	return Report{Analysis: a, Verdict: v}
}

// TestLongRun: the report of a night can be read in the morning, and says what it left out.
func TestLongRun(t *testing.T) {
	text := show(t, night())
	lines := strings.Split(text, "\n")
	if len(lines) > 200 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if width(l) > 160 {
			t.Errorf("%d columns: %s", width(l), l)
		}
	}
	for _, want := range []string{
		"and 1,414 more spikes, each with less time lost", "70 of 200 without a known cause", "and 7 more faults", "and 2,972 more findings", "and 2,980 more notes",
		"kill     400", "pause    400", "8h00m of load", "zookeeper.setdata: 0: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Contains(text, "no client noticed") {
		t.Error("a fault without trouble is among those to look at")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestWorstSpikesAreShown in order of time.
func TestWorstSpikesAreShown(t *testing.T) {
	got := worst(night().Analysis.Spikes)
	if len(got) != maxRows {
		t.Fatalf("%d spikes", len(got))
	}
	for i, s := range got {
		if s.Excess < 180*sec {
			t.Errorf("a spike of %s is shown", s.Excess)
		}
		if i > 0 && s.From < got[i-1].From {
			t.Error("not in order of time")
		}
	}
}

func TestTable(t *testing.T) {
	for name, c := range map[string]struct {
		heads []string
		rows  [][]string
		want  string
	}{
		"right and left": {[]string{"n>", "name"}, [][]string{{"1", "a"}, {"100", "b"}}, "    n  name\n    1  a\n  100  b\n"},
		"empty columns go, named ones stay": {[]string{"a", "b?>", "c?", "d>", ""}, [][]string{{"x", "0", "-", "0", ""}, {"y", "0", "", "0", ""}},
			"  a  d\n  x  0\n  y  0\n"},
		"a column with one value stays":  {[]string{"a", "b?>"}, [][]string{{"x", "0"}, {"y", "7"}}, "  a  b\n  x  0\n  y  7\n"},
		"no heads":                       {[]string{"", ""}, [][]string{{"x", "1"}}, "  x  1\n"},
		"not ASCII":                      {[]string{"a", "b>"}, [][]string{{"é", "1"}, {"e\u0301x", "22"}}, "  a    b\n  é    1\n  e\u0301x  22\n"},
		"wide":                           {[]string{"a", "b>"}, [][]string{{"夜勤", "1"}, {"abcd", "2"}, {"ｘ", "3"}}, "  a     b\n  夜勤  1\n  abcd  2\n  ｘ    3\n"},
		"one line a row":                 {[]string{"a", "b"}, [][]string{{"x\ny\tz", "\x1b[2J\r"}}, "  a      b\n  x y z  \uFFFD[2J\n"},
		"short rows":                     {[]string{"a", "b", "c"}, [][]string{{"x"}, {"y", "1", "2"}}, "  a  b  c\n  x\n  y  1  2\n"},
		"nothing at all, not even heads": {[]string{"a"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			p := &page{w: &b}
			p.table("", c.heads, c.rows)
			if p.err != nil || b.String() != c.want {
				t.Errorf("%v\n%q\nwant\n%q", p.err, b.String(), c.want)
			}
		})
	}
}

func TestCutAndWrap(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"short", 5, "short"}, {"longer", 5, "long…"}, {"one, two", 5, "one…"}, {"夜勤夜勤", 5, "夜勤…"}, {"a\nb", 9, "a b"}} {
		if got := cut(c.s, c.n); got != c.want || width(got) > c.n {
			t.Errorf("cut %q to %d: %q", c.s, c.n, got)
		}
	}
	got := wrap("one two three toolongforaline x", 7)
	if want := []string{"one two", "three", "toolongforaline", "x"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("wrap: %q", got)
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0.0ms", 850 * time.Microsecond: "0.8ms", 88 * ms: "88ms", 1175 * ms: "1.18s", 16749 * ms: "16.7s",
		59960 * ms: "1m00s", 125 * sec: "2m05s", 8*time.Hour + 90*sec: "8h01m", 9996 * ms: "10.0s", 999600 * time.Microsecond: "1.00s"} {
		if got := took(d); got != want {
			t.Errorf("%s is printed %s, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0:00", 65 * sec: "1:05", time.Hour + 2*time.Minute + 3*sec: "1:02:03"} {
		if got := clock(d); got != want {
			t.Errorf("%s is printed %s, want %s", d, got, want)
		}
	}
}

func TestCauses(t *testing.T) {
	pressure := attribute.Candidate{Class: "pressure", Text: "some task waited", Role: attribute.RoleRejected, Like: 95, Without: 37}
	late := attribute.Candidate{Class: "gc", Node: "n1", Text: "JVM stood still", Role: attribute.RoleRejected, Terms: attribute.Terms{Onset: -1.5}}
	purge := attribute.Candidate{Class: attribute.ClassPurge, Text: "purge of n2, 3 files", Role: attribute.RoleRejected, Share: .08}
	fsync := attribute.Candidate{Class: "fsync", Node: "n1", Text: "fsync took 4s", Role: attribute.RoleMechanism}
	fault := attribute.Candidate{Class: attribute.ClassFault, Text: "fault pause of n1", Role: attribute.RoleCause}
	for _, c := range []struct {
		s            attribute.Spike
		cause, wasnt string
	}{
		{attribute.Spike{Cause: fault.Text, Mechanism: fsync.Text, Candidates: []attribute.Candidate{fault, fsync, pressure}}, "fault pause of n1, through fsync of n1", "pressure: 37 of 95 like it did nothing"},
		{attribute.Spike{Cause: "the tester itself, not the cluster: it was not scheduled", Mechanism: "election took 473ms, in the log of n1",
			Candidates: []attribute.Candidate{{Class: "tester", Role: attribute.RoleCause}}}, "the tester itself, through election took 473ms", ""},
		{attribute.Spike{Unknown: attribute.UnknownNone, Candidates: []attribute.Candidate{late}}, "unknown; nothing likelier than chance", "gc of n1: began at another time"},
		{attribute.Spike{Unknown: attribute.UnknownGap, Candidates: []attribute.Candidate{late, pressure, purge}}, "unknown; a probe was blind at the time", "purge of n2, 3 files: explains only 8%"},
		{attribute.Spike{Unknown: attribute.UnknownAmbiguous, Cause: "unknown: fault pause of n1, or fsync took 4s", Candidates: []attribute.Candidate{fault, fsync}}, "unknown; fault pause of n1 or fsync of n1", ""},
		{attribute.Spike{Unknown: attribute.UnknownAmbiguous, Cause: "unknown: a, or b"}, "unknown; a, or b", ""},
	} {
		if got, not := cause(c.s), innocent(c.s); got != c.cause || not != c.wasnt {
			t.Errorf("cause %q, not %q; want %q, %q", got, not, c.cause, c.wasnt)
		}
	}
}

// TestJSONKeys: what scripts rely on is there with its type, whatever the record holds.
func TestJSONKeys(t *testing.T) {
	const text, num, flag, list = "text", "number", "bool", "list"
	keys := map[string]map[string]string{
		"operations": {"workload": text, "operation": text, "size": num, "count": num, "failed": num, "in_doubt": num, "shed": num, "late": num, "tps": num,
			"mean_ms": num, "p50_ms": num, "p95_ms": num, "p99_ms": num, "p999_ms": num, "max_ms": num},
		"faults": {"kind": text, "node": text, "bit": flag, "healed": flag, "from": num, "to": num, "detect_ms": num, "first_success_ms": num, "recovered_ms": num,
			"skipped": text, "proof": list},
		"purges":   {"target": text, "removed": num, "freed": num, "kept": num, "restorable": flag, "files": list},
		"disks":    {"node": text, "kind": text, "bytes": num, "allocated": num, "files": num, "per_hour": num},
		"spikes":   {"from": num, "to": num, "cause": text, "share": num, "unknown": text, "candidates": list},
		"findings": {"code": text, "severity": text, "subject": text, "text": text, "evidence": list},
		"reasons":  {"code": text, "severity": text, "text": text, "evidence": list},
		"self":     {"cpu": num, "rss": num, "written": num},
	}
	kind := func(v any) string {
		switch v.(type) {
		case string:
			return text
		case float64:
			return num
		case bool:
			return flag
		case []any:
			return list
		}
		return "null"
	}
	for name, s := range map[string]story{"full": eventful(), "empty": {}} {
		_, raw := printed(t, loaded(t, s, nil))
		var doc map[string]any
		if err := json.Unmarshal([]byte(raw), &doc); err != nil {
			t.Fatal(err)
		}
		if kind(doc["verdict"]) != text || strings.Contains(raw, "null") && name == "empty" {
			t.Errorf("%s: verdict %v, or a null in\n%s", name, doc["verdict"], raw)
		}
		for part, want := range keys {
			rows, ok := doc[part].([]any)
			if part == "self" {
				rows, ok = []any{doc[part]}, true
			}
			if !ok || name == "full" && len(rows) == 0 {
				t.Fatalf("%s: %s is %v", name, part, doc[part])
			}
			for _, row := range rows[:min(1, len(rows))] {
				for key, k := range want {
					v, there := row.(map[string]any)[key]
					if !there || kind(v) != k {
						t.Errorf("%s: %s.%s is %v (%s), want a %s", name, part, key, v, kind(v), k)
					}
				}
			}
		}
	}
}

// TestNoNumberCostsTheDocument: JSON has no form for some numbers.
func TestNoNumberCostsTheDocument(t *testing.T) {
	r := night()
	r.Analysis.Disks = []attribute.Disk{{PerHour: math.NaN(), Judged: true}}
	r.Analysis.Self.CPU = math.Inf(1)
	r.Analysis.Operations = []attribute.Operation{{TPS: math.NaN(), RecentTPS: math.Inf(-1)}}
	r.Analysis.Spikes[0].Candidates[0].Score = math.Inf(-1)
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("error %v", err)
	}
}

type broken struct{ left int }

func (w *broken) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errors.New("pipe is closed")
	}
	return len(p), nil
}

// TestEveryWriteErrorIsSaid wherever it happens.
func TestEveryWriteErrorIsSaid(t *testing.T) {
	r := loaded(t, eventful(), nil)
	for n := 0; ; n++ {
		w := &broken{left: n}
		err := r.Text(w)
		if w.left >= 0 {
			if err != nil || n < 20 {
				t.Errorf("after %d writes: %v", n, err)
			}
			return
		}
		if err == nil {
			t.Fatalf("write %d failed and nothing was said", n)
		}
	}
}

func TestClosedLoopIsSaid(t *testing.T) {
	r := Report{Analysis: attribute.Analysis{
		Operations: []attribute.Operation{{Workload: "w", Op: "create", Count: 1, OK: 1}},
		Notes:      []record.Note{{Lane: "w", Level: "info", Code: record.NoteClosedLoop, Text: "closed loop: planted"}},
	}}
	var b strings.Builder
	if err := r.Text(&b); err != nil || !strings.Contains(b.String(), "w: closed loop: planted") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
