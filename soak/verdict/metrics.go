package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
)

// metric is one quantity that an expression names.
type metric struct {
	path  string   // as written: "zookeeper.ephemeral.p99"
	parts []string // the path's words
	group group    // zero for metrics of the whole run
	field string   // "p99"; for the whole run everything behind the first word
	zero  any      // a value of its type
}

// group is a workload, or one operation of it, by the names of metrics.
type group struct{ workload, op string }

// fields are the metrics of a workload. The response times need operations to say anything.
var fields = map[string]any{
	"p50": time.Duration(0), "p95": time.Duration(0), "p99": time.Duration(0), "p999": time.Duration(0),
	"max": time.Duration(0), "mean": time.Duration(0),
	"tps": float64(0), "error_rate": float64(0),
	"ok": 0, "failed": 0, "in_doubt": 0, "shed": 0, "late": 0,
}

// whole are the metrics of the whole run; those of disks have their own names.
var whole = map[string]any{
	"faults.count": 0, "faults.bit": 0, "faults.healed": 0, "faults.skipped": 0, "faults.recovered_max": time.Duration(0),
	"purges.count": 0, "purges.removed": 0, "purges.freed": 0,
	"spikes.count": 0, "spikes.unknown": 0, "spikes.longest": time.Duration(0),
	"self.cpu": float64(0), "self.rss": 0,
}

// diskFields are the metrics of disk.<node>.<kind>.
var diskFields = map[string]any{"bytes": 0, "allocated": 0, "files": 0, "peak": 0, "per_hour": float64(0)}

// metricName is a workload's or operation's name as expressions write it.
func metricName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == '.':
			return '.'
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return r
		}
		return '_'
	}, s)
}

// resolve finds the metric of a path, or says what is wrong with it.
func resolve(path string, known Known) (metric, error) {
	parts := strings.Split(path, ".")
	m := metric{path: path, parts: parts}
	if z, ok := whole[path]; ok {
		m.field, m.zero = path, z
		return m, nil
	}
	last := parts[len(parts)-1]
	if parts[0] == "disk" && len(parts) >= 4 {
		if z, ok := diskFields[last]; ok {
			m.field, m.zero = path, z
			return m, nil
		}
		return m, fmt.Errorf("%s: a disk has no %s; it has %s", path, last, words(diskFields))
	}
	names := make([]string, 0, len(known))
	for w := range known {
		names = append(names, metricName(w))
	}
	slices.Sort(names)
	for w, ops := range known {
		rest, ok := strings.CutPrefix(path, metricName(w)+".")
		if !ok {
			continue
		}
		op, field := "", rest
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			op, field = rest[:i], rest[i+1:]
		}
		z, ok := fields[field]
		if !ok {
			return m, fmt.Errorf("%s: a workload has no %s; it has %s", path, field, words(fields))
		}
		if op != "" && len(ops) > 0 && !slices.ContainsFunc(ops, func(o string) bool { return metricName(o) == op }) {
			return m, fmt.Errorf("%s: %s has no operation %s; it has %s", path, w, op, strings.Join(ops, ", "))
		}
		m.group, m.field, m.zero = group{metricName(w), op}, field, z
		return m, nil
	}
	return m, fmt.Errorf("%s is no metric; workloads are %s; of the whole run there are faults, purges, spikes, disk, self",
		path, strings.Join(names, ", "))
}

func words(m map[string]any) string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// tally collects the windows of one group in one span.
type tally struct {
	ok, failed, inDoubt, shed, late uint64
	response                        *record.Hist
}

func (t *tally) add(w record.Window) {
	t.ok, t.failed, t.inDoubt = t.ok+w.OK, t.failed+w.Failed, t.inDoubt+w.InDoubt
	t.shed, t.late = t.shed+w.Shed, t.late+w.Late
	t.response.Merge(w.Response)
}

func (t *tally) reset() {
	h := t.response
	h.Reset()
	*t = tally{response: h}
}

// value of a field over a span of that many seconds; false when the span says nothing of it.
func (t *tally) value(field string, seconds float64) (any, bool) {
	done := t.ok + t.failed + t.inDoubt
	switch field {
	case "tps":
		return float64(t.ok) / max(1, seconds), true
	case "ok":
		return int(t.ok), true
	case "failed":
		return int(t.failed), done+t.shed > 0
	case "in_doubt":
		return int(t.inDoubt), done+t.shed > 0
	case "shed":
		return int(t.shed), done+t.shed > 0
	case "late":
		return int(t.late), done+t.shed > 0
	case "error_rate":
		return float64(t.failed+t.inDoubt) / float64(max(1, done)), done > 0
	case "max":
		return t.response.Max(), done > 0
	case "mean":
		return t.response.Mean(), done > 0
	}
	q := map[string]float64{"p50": .5, "p95": .95, "p99": .99, "p999": .999}[field]
	return t.response.Quantile(q), done > 0
}

// wholeValue is a metric of the whole run; false when the record does not have it.
func wholeValue(a attribute.Analysis, m metric) (any, bool) {
	switch m.parts[0] {
	case "disk":
		return diskValue(a, m)
	case "faults":
		return faultValue(a, m.field)
	case "self":
		if m.field == "self.cpu" {
			return a.Self.CPU, a.Self.CPUUnit != "" || a.Self.CPU > 0
		}
		return int(a.Self.RSS), a.Self.RSS > 0
	case "purges":
		removed, freed := 0, int64(0)
		for _, p := range a.Purges {
			removed, freed = removed+p.Removed, freed+p.Freed
		}
		return map[string]int{"purges.count": len(a.Purges), "purges.removed": removed, "purges.freed": int(freed)}[m.field], true
	}
	longest := time.Duration(0)
	for _, s := range a.Spikes {
		longest = max(longest, s.Longest)
	}
	if m.field == "spikes.longest" {
		return longest, true
	}
	return map[string]int{"spikes.count": len(a.Spikes) + a.SpikesLeft, "spikes.unknown": a.Unknown}[m.field], true
}

func faultValue(a attribute.Analysis, field string) (any, bool) {
	var bit, healed, skipped int
	var longest time.Duration
	seen := false
	for _, f := range a.Faults {
		switch {
		case f.Injected <= 0:
			skipped++
			continue
		case f.Recovered != nil:
			longest, seen = max(longest, *f.Recovered), true
		}
		if f.Bit {
			bit++
		}
		if f.Healed {
			healed++
		}
	}
	if field == "faults.recovered_max" {
		return longest, seen
	}
	return map[string]int{"faults.count": bit + countUnbit(a), "faults.bit": bit, "faults.healed": healed, "faults.skipped": skipped}[field], true
}

// countUnbit is how many faults were injected and did not bite.
func countUnbit(a attribute.Analysis) int {
	n := 0
	for _, f := range a.Faults {
		if f.Injected > 0 && !f.Bit {
			n++
		}
	}
	return n
}

func diskValue(a attribute.Analysis, m metric) (any, bool) {
	n := len(m.parts)
	node, kind := m.parts[1], strings.Join(m.parts[2:n-1], ".")
	for _, d := range a.Disks {
		if metricName(d.Node) != node || metricName(d.Kind) != kind {
			continue
		}
		switch m.parts[n-1] {
		case "bytes":
			return int(d.Bytes), true
		case "allocated":
			return int(d.Allocated), true
		case "files":
			return d.Files, true
		case "peak":
			return int(d.PeakBytes), true
		}
		return d.PerHour, d.Judged
	}
	return nil, false
}
