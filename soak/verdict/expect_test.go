package verdict

import (
	"strings"
	"testing"
	"time"

	"nightshift/soak/config"
	"nightshift/soak/record"
)

var knownHere = Known{"zookeeper/ephemeral": {"create", "delete"}, "tree-a": nil}

func decode(t *testing.T, text string) ([]Expectation, config.Problems) {
	t.Helper()
	n, ps := config.Parse([]byte(text))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	return Decode(n.Field("expect"), knownHere)
}

func TestDecode(t *testing.T) {
	for _, x := range []string{
		`zookeeper.ephemeral.p99 < duration("250ms")`,
		`zookeeper.ephemeral.create.p999 <= duration("1s") && zookeeper.ephemeral.tps > 100`,
		`tree_a.read.mean < duration("3s")`,
		`tree_a.error_rate < 0.01 and faults.bit >= 2`,
		`spikes.unknown == 0`, `disk.n1.log.per_hour < 1e9`, `self.rss < 500000000`,
		`let p = zookeeper.ephemeral.p99; p < duration("1s")`,
		`zookeeper.ephemeral["p99"] < duration("1s")`,
		`max(zookeeper.ephemeral.ok, 3) > 2`,
	} {
		if _, ps := decode(t, "expect:\n- {expr: '"+x+"'}\n"); len(ps) > 0 {
			t.Errorf("%s: %s", x, ps)
		}
	}
}

// TestDecodeRefuses: every mistake is found before the run, with its place, all at once.
func TestDecodeRefuses(t *testing.T) {
	for x, want := range map[string]string{
		`{expr: 'zookeeper.ephemeral.p98 < duration("1s")'}`:      "has no p98",
		`{expr: 'zookeeper.ephemerol.p99 < duration("1s")'}`:      "is no metric",
		`{expr: 'zookeeper.ephemeral.read.p99 < duration("1s")'}`: "no operation read",
		`{expr: 'zookeeper.ephemeral.p99 < 250'}`:                 "mismatched types",
		`{expr: 'zookeeper.ephemeral.p99'}`:                       "expected bool",
		`{expr: 'zookeeper.ephemeral.p99 < duration("fast")'}`:    "fast",
		`{expr: 'zookeeper.ephemeral.p99 <'}`:                     "unexpected",
		`{expr: 'true'}`:                                          "names no metric",
		`{expr: 'foo(zookeeper.ephemeral.ok) > 1'}`:               "foo",
		`{expr: 'disk.n1.log.colour > 1'}`:                        "no colour",
		`{expr: 'faults.bitten > 1'}`:                             "is no metric",
		`{expr: 'spikes.count == 0', over: 10s}`:                  "need a metric of a workload",
		`{expr: 'zookeeper.ephemeral.ok > 1', except: [rain]}`:    "can't be left out",
		`{expr: 'zookeeper.ephemeral.ok > 1', over: 1500ms}`:      "whole seconds",
		`{expr: 'zookeeper.ephemeral.ok > 1', after: sunrise}`:    "neither warmup nor",
		`{over: 10s}`: "needs an expr",
		`{expr: 'zookeeper.ephemeral.ok > 1', ovr: 10s}`: "ovr",
	} {
		_, ps := decode(t, "expect:\n- "+x+"\n")
		if len(ps) != 1 || !strings.Contains(ps[0].Text, want) || ps[0].Line != 2 || ps[0].Column == 0 {
			t.Errorf("%s: %q, want %q with its place", x, ps, want)
		}
	}
	_, ps := decode(t, "expect:\n- {expr: 'a.b > 1'}\n- {expr: 'c.d > 1'}\n")
	if len(ps) != 2 || ps[1].Line != 3 {
		t.Errorf("%q, want both", ps)
	}
	if _, ps := decode(t, "expect: {expr: 'a'}\n"); len(ps) == 0 {
		t.Error("a mapping is no list of expectations")
	}
	if xs, ps := Decode(config.Node{}, nil); len(xs)+len(ps) > 0 {
		t.Errorf("%v %v of nothing", xs, ps)
	}
}

// result judges one expectation on a night that has been changed.
func result(t *testing.T, item string, change func(*night)) Result {
	t.Helper()
	n := healthy()
	n.plan += "expect:\n- " + item + "\n"
	if change != nil {
		change(n)
	}
	v := n.judge(t, false)
	if len(v.Expectations) != 1 {
		t.Fatalf("%+v", v)
	}
	return v.Expectations[0]
}

// slow makes the seconds [from, to) slow by d.
func slow(from, to int, d time.Duration) func(*night) {
	return func(n *night) {
		each(n, func(w *record.Window) bool {
			if i := int(w.At / sec); i >= from && i < to && w.Op == "create" {
				*w = second("create", i, 100, d)
			}
			return true
		})
	}
}

func TestSpans(t *testing.T) {
	const p99 = `expr: 'zookeeper.ephemeral.p99 < duration("10ms")'`
	both := func(fs ...func(*night)) func(*night) {
		return func(n *night) {
			for _, f := range fs {
				f(n)
			}
		}
	}
	none := func(from, to time.Duration) func(*night) {
		return func(n *night) { each(n, func(w *record.Window) bool { return w.At < from || w.At >= to }) }
	}
	for _, c := range []struct {
		name           string
		item           string
		change         func(*night)
		want           Outcome
		looked, broken int
		text           string
	}{
		{"all spans hold", "{" + p99 + ", over: 10s}", nil, Pass, 6, 0, "held in 6 of 6"},
		{"whole run", "{" + p99 + "}", slow(30, 31, 20*ms), Fail, 1, 1, "from 5s to 1m5s"},
		{"one bad second breaks its span", "{" + p99 + ", over: 10s}", slow(37, 38, 20*ms), Fail, 6, 1, "from 35s to 45s; 1 of 6"},
		{"the worst span is named", "{" + p99 + ", over: 10s}", both(slow(16, 17, 20*ms), slow(57, 58, 90*ms), slow(36, 37, 30*ms)), Fail, 6, 3, "p99 was 90"},
		{"the worst of what should be large", "{expr: 'zookeeper.ephemeral.tps > 95', over: 10s}", none(36*sec, 39*sec), Fail, 6, 1, "tps was 70 from 35s"},
		{"the warm-up is not looked at", "{" + p99 + ", over: 10s}", slow(0, 5, 20*ms), Pass, 6, 0, ""},
		{"after", "{" + p99 + ", over: 10s, after: 20s}", slow(5, 25, 20*ms), Pass, 4, 0, ""},
		{"except faults", "{" + p99 + ", over: 5s, except: [faults]}", slow(20, 24, 20*ms), Pass, 11, 0, ""},
		{"not except faults", "{" + p99 + ", over: 5s}", slow(20, 24, 20*ms), Fail, 12, 1, ""},
		{"except purges", "{" + p99 + ", over: 5s, except: [purges]}", slow(40, 41, 20*ms), Pass, 12, 0, ""},
		{"except spikes", "{" + p99 + ", over: 5s, except: [spikes]}", slow(50, 51, 400*ms), Pass, 12, 0, ""},
		{"no operations say nothing of their time", "{" + p99 + ", over: 10s}", none(35*sec, 45*sec), Pass, 5, 0, "1 said nothing"},
		{"mostly no operations", "{" + p99 + ", over: 10s}", none(15*sec, 55*sec), Inconclusive, 2, 0, "4 said nothing"},
		{"nothing wanted is not nothing failed", "{expr: 'zookeeper.ephemeral.failed == 0', over: 10s}", none(0, 65*sec), Inconclusive, 0, 0, "no value of"},
		{"shed is wanted", "{expr: 'zookeeper.ephemeral.failed == 0', over: 10s}", func(n *night) {
			each(n, func(w *record.Window) bool { w.OK, w.Shed = 0, 100; return true })
		}, Pass, 6, 0, ""},
		{"no operations are zero a second", "{expr: 'zookeeper.ephemeral.tps > 10', over: 10s}", none(35*sec, 45*sec), Fail, 6, 1, "tps was 0"},
		{"nothing left", "{" + p99 + ", except: [faults]}", func(n *night) {
			each(n, func(f *record.Fault) bool { f.Injected, f.From, f.To = 5*sec, 5*sec, 65*sec; return true })
		}, Inconclusive, 0, 0, "nothing of the load phase"},
		{"an operation that never was", "{expr: 'zookeeper.ephemeral.delete.p99 < duration(\"1s\")'}", func(n *night) { n.add(second("delete", 1, 5, ms)) }, Inconclusive, 0, 0, ""},
		{"one operation", "{expr: 'zookeeper.ephemeral.delete.p99 < duration(\"5ms\")'}", func(n *night) { n.add(second("delete", 30, 5, ms)); slow(5, 65, 20*ms)(n) }, Pass, 1, 0, ""},
		{"error rate", "{expr: 'zookeeper.ephemeral.error_rate < 0.1', over: 10s}", func(n *night) {
			each(n, func(w *record.Window) bool {
				if w.At == 50*sec {
					w.Failed, w.InDoubt = 100, 100
				}
				return true
			})
		}, Fail, 6, 1, "error_rate was 0.16"},
		{"whole-run metrics", "{expr: 'faults.bit == 1 && faults.recovered_max <= duration(\"5s\") && purges.removed == 9 && spikes.count == 0'}", nil, Pass, 1, 0, ""},
		{"whole-run metric broken", "{expr: 'purges.freed > 100000000'}", nil, Fail, 1, 1, "purges.freed was 9437184"},
		{"a disk that is not there", "{expr: 'disk.n1.log.bytes < 10'}", nil, Inconclusive, 0, 0, "no value of disk.n1.log.bytes"},
		{"a disk", "{expr: 'disk.n1.log.bytes < 10'}", func(n *night) {
			n.add(record.Series{Stamp: at(30 * sec), Name: "zookeeper.files.log.bytes", Node: "n1", Unit: "By", Value: 9})
		}, Pass, 1, 0, ""},
		{"no fault recovered", "{expr: 'faults.recovered_max < duration(\"5s\")'}", func(n *night) { each(n, func(*record.Fault) bool { return false }) }, Inconclusive, 0, 0, "no value of faults.recovered_max"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := result(t, c.item, c.change)
			if r.Outcome != c.want || r.Looked != c.looked || r.Broken != c.broken || !strings.Contains(r.Text, c.text) {
				t.Errorf("%s, %d looked, %d broken, %q; want %s, %d, %d, %q", r.Outcome, r.Looked, r.Broken, r.Text, c.want, c.looked, c.broken, c.text)
			}
		})
	}
}
