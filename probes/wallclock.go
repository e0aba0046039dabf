package probes

import (
	"time"

	"nightshift/soak/record"
)

// stampUncertainty is of a log line of this host: its wall clock stamp has milliseconds, and is taken a
// little before the line is written.
const stampUncertainty = 5 * time.Millisecond

// wallMap maps wall clock stamps of logs to offsets of the run. It goes by what the wall clock says now and
// not by the run's start, so that a clock that was set in between bends only the lines around that moment.
type wallMap struct {
	env   Env
	set   bool
	shift time.Duration // wall clock minus run clock, from the wall clock of the first look
	first time.Time     // wall clock of offset zero at the first look
	slack time.Duration // how far the wall clock was set since the last look
}

// look reads both clocks; once before the lines of a sample are mapped.
func (m *wallMap) look() {
	now := m.env.wall().Round(0) // without monotonic reading
	at := m.env.Clock.Now()
	if !m.set {
		m.first, m.set = now.Add(-at), true
	}
	shift := now.Add(-at).Sub(m.first)
	m.slack = (shift - m.shift).Abs()
	m.shift = shift
}

// stamp is the offset of a wall clock stamp by the clock of source.
func (m *wallMap) stamp(source string, t time.Time) record.Stamp {
	u := stampUncertainty
	if m.slack > time.Millisecond { // written before or after the clock was set: unknown
		u += m.slack
	}
	return record.Stamp{Source: source, At: t.Sub(m.first) - m.shift, Uncertainty: u}
}

// logTime reads the time that a log line begins with: ISO 8601 with a blank or a T, a comma or a point
// before the milliseconds, and perhaps a zone. Without a zone it is UTC, as the lab's servers write it.
func logTime(line string) (t time.Time, rest string, ok bool) {
	const size = len("2026-11-30T21:00:00.123")
	if len(line) < size || line[4] != '-' || line[7] != '-' || (line[10] != ' ' && line[10] != 'T') ||
		line[13] != ':' || line[16] != ':' || (line[19] != ',' && line[19] != '.') {
		return time.Time{}, line, false
	}
	var v [7]int
	for i, span := range [7][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}, {20, 23}} {
		for _, c := range []byte(line[span[0]:span[1]]) {
			if c < '0' || c > '9' {
				return time.Time{}, line, false
			}
			v[i] = v[i]*10 + int(c-'0')
		}
	}
	if v[1] < 1 || v[1] > 12 || v[2] < 1 || v[2] > 31 || v[3] > 23 || v[4] > 59 || v[5] > 60 {
		return time.Time{}, line, false
	}
	zone, rest, ok := logZone(line[size:])
	if !ok {
		return time.Time{}, line, false
	}
	t = time.Date(v[0], time.Month(v[1]), v[2], v[3], v[4], v[5], v[6]*int(time.Millisecond), time.UTC)
	return t.Add(-zone), rest, true
}

// logZone reads Z, +hhmm, +hh:mm or nothing at all.
func logZone(s string) (zone time.Duration, rest string, ok bool) {
	if s == "" || s[0] == ' ' || s[0] == ']' {
		return 0, s, true
	}
	if s[0] == 'Z' {
		return 0, s[1:], true
	}
	for _, layout := range []string{"-07:00", "-0700"} {
		if len(s) >= len(layout) {
			if t, err := time.Parse(layout, s[:len(layout)]); err == nil {
				_, secs := t.Zone()
				return time.Duration(secs) * time.Second, s[len(layout):], true
			}
		}
	}
	return 0, s, false
}
