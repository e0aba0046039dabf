package probes

import (
	"strconv"
	"strings"
	"time"

	"nightshift/soak/record"
)

// gcLine is one line of the log.
type gcLine struct {
	gen    int           // of the file, see tail
	uptime time.Duration // since the JVM began
	mono   time.Duration // the host's monotonic clock, when the log is decorated with timenanos as well
	wall   time.Time     // when the log is decorated with time
	tags   string
	text   string
}

// pause is a span in which the JVM stood still.
type pause struct {
	end   record.Stamp
	took  time.Duration
	text  string
	whole bool // from a safepoint line, which includes reaching the safepoint
}

// parseGCLine reads the decorations of unified logging (JEP 158): one or more of [123ns], [1.234s], [ISO
// time], [level], [tags]. Of two stamps in ns the first is timenanos and the second uptimenanos, for the JVM
// fixes the order.
func parseGCLine(line string) (gcLine, bool) {
	var g gcLine
	stamps := 0
	for strings.HasPrefix(line, "[") {
		deco, rest, ok := strings.Cut(line[1:], "]")
		if !ok {
			return gcLine{}, false
		}
		deco = strings.TrimSpace(deco)
		if up, ok := uptime(deco); ok {
			if stamps++; stamps > 1 {
				g.mono = g.uptime
			}
			g.uptime = up
		} else if t, _, ok := logTime(deco); ok {
			g.wall = t
			stamps++
		} else {
			g.tags = deco
		}
		line = rest
	}
	g.text = strings.TrimSpace(line)
	return g, stamps > 0 && g.text != ""
}

// uptime reads 123ns, 123ms or 1.234s.
func uptime(s string) (time.Duration, bool) {
	if v, ok := strings.CutSuffix(s, "ns"); ok {
		n, err := strconv.ParseInt(v, 10, 64)
		return time.Duration(n), err == nil && n >= 0
	}
	if v, ok := strings.CutSuffix(s, "ms"); ok {
		n, err := strconv.ParseInt(v, 10, 64)
		return time.Duration(n) * time.Millisecond, err == nil && n >= 0 && n < int64(1<<62/time.Millisecond)
	}
	if v, ok := strings.CutSuffix(s, "s"); ok {
		f, err := strconv.ParseFloat(strings.Replace(v, ",", ".", 1), 64)
		return time.Duration(f * float64(time.Second)), err == nil && f >= 0 && f < 1e9
	}
	return 0, false
}

// parsePause reads what stood still out of a line: a safepoint, or a collection's pause.
func parsePause(g gcLine) (pause, bool) {
	if name, m, ok := safepointName(g.text); ok {
		_, m, ok := strings.Cut(m, "Total: ")
		if !ok {
			return pause{}, false
		}
		v, _, ok := strings.Cut(m, " ns")
		n, err := strconv.ParseInt(v, 10, 64)
		if !ok || err != nil || n < 0 || time.Duration(n) > maxTook {
			return pause{}, false
		}
		return pause{took: time.Duration(n), text: "safepoint " + name, whole: true}, true
	}
	if !strings.HasPrefix(g.text, "GC(") || g.tags != "gc" {
		return pause{}, false
	}
	_, m, _ := strings.Cut(g.text, " ")
	if !strings.HasPrefix(m, "Pause ") {
		return pause{}, false
	}
	i := strings.LastIndexByte(m, ' ')
	v, ok := strings.CutSuffix(m[i+1:], "ms")
	f, err := strconv.ParseFloat(strings.Replace(v, ",", ".", 1), 64)
	if !ok || err != nil || !(f >= 0 && f < maxTook.Seconds()*1000) {
		return pause{}, false
	}
	return pause{took: time.Duration(f * float64(time.Millisecond)), text: m[:i]}, true
}

// safepointName takes Safepoint "G1CollectForAllocation", ... apart.
func safepointName(s string) (name, rest string, ok bool) {
	m, ok := strings.CutPrefix(s, `Safepoint "`)
	if !ok {
		return "", "", false
	}
	return strings.Cut(m, `", `)
}
