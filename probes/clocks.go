package probes

import (
	"time"

	"golang.org/x/sys/unix"

	"nightshift/soak/record"
)

// stampUncertainty is of a log line of this host: its wall clock stamp has milliseconds, and is taken a
// little before the line is written.
const stampUncertainty = 5 * time.Millisecond

// hostClocks maps stamps by the clocks of this host to offsets of the run. It goes by what the wall clock says
// now and not by the run's start, so that a clock that was set in between bends only the lines around that
// moment.
type hostClocks struct {
	env   Env
	mono  func() time.Duration // CLOCK_MONOTONIC
	set   bool
	first time.Time     // wall clock of offset zero at the first look
	shift time.Duration // how far the wall clock was set since then
	slack time.Duration // how far since the last look
	ahead time.Duration // monotonic clock minus run clock
	blur  time.Duration // the clocks were not read at the same moment: half-width
}

func newHostClocks(env Env) hostClocks { return hostClocks{env: env, mono: monotonic} }

// look reads the clocks; once before the lines of a sample are mapped. Of three readings it takes the one
// that was disturbed least.
func (c *hostClocks) look() {
	var wall time.Time
	var mono, at time.Duration
	for i := range 3 {
		begin := c.env.Clock.Now()
		w, m := c.env.wall().Round(0), c.mono() // without monotonic reading
		half := (c.env.Clock.Now() - begin) / 2
		if i == 0 || half < c.blur {
			wall, mono, at, c.blur = w, m, begin+half, half
		}
	}
	if !c.set {
		c.first, c.set = wall.Add(-at), true
	}
	shift := wall.Add(-at).Sub(c.first)
	c.slack = (shift - c.shift).Abs()
	c.shift, c.ahead = shift, mono-at
}

// stamp is the offset of a wall clock stamp by the clock of source.
func (c *hostClocks) stamp(source string, t time.Time) record.Stamp {
	u := stampUncertainty + c.blur.Truncate(time.Millisecond)
	if c.slack > stampUncertainty { // written before or after the clock was set: unknown
		u += c.slack
	}
	return record.Stamp{Source: source, At: t.Sub(c.first) - c.shift, Uncertainty: u}
}

// monoStamp is the offset of a stamp by the host's monotonic clock.
func (c *hostClocks) monoStamp(source string, d time.Duration) record.Stamp {
	return record.Stamp{Source: source, At: d - c.ahead, Uncertainty: time.Millisecond + c.blur}
}

// monotonic is the host's CLOCK_MONOTONIC, which Go's monotonic readings and the JVM's nanoTime are of.
func monotonic() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
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
