package probes

import (
	"errors"
	"maps"
	"slices"
	"time"

	"nightshift/soak/record"
)

// tracker turns what became of samples into events: readings, gaps per node, what is missing, and costs.
type tracker struct {
	lane     *Lane
	emit     record.Emit
	started  time.Duration
	lastGood time.Duration            // end of the last sample that gave anything
	any      bool                     // there was one
	open     map[string]time.Duration // node -> since when it gives nothing; "" is the whole probe
	reason   map[string]error         // node -> the last error
	ever     map[string]bool          // node -> gave something at least once
	said     map[string]bool          // what has been noted already
	blind    map[string]time.Duration // node -> how long it gave nothing; "" is the whole probe
	cost     cost
}

func newTracker(l *Lane, emit record.Emit) *tracker {
	return &tracker{
		lane: l, emit: emit, started: l.clock.Now(),
		open: map[string]time.Duration{}, reason: map[string]error{}, ever: map[string]bool{}, said: map[string]bool{},
		blind: map[string]time.Duration{},
	}
}

// missed records that no sample was taken although some were due, because the lane itself did not run.
func (t *tracker) missed(due, begin time.Duration) {
	if t.any && begin-due >= t.lane.spec.Every {
		t.gap("", t.lastGood, begin, "no sample: the lane woke "+round(begin-due)+" late")
	}
}

// late says at once that a sample hangs; the gap is recorded when it ends.
func (t *tracker) late(limit time.Duration) {
	t.once("late", "warn", "", "a sample has not come back after "+round(limit)+"; the lane waits for it")
}

func (t *tracker) ended(begin, end time.Duration, r answer) {
	t.cost = r.cost
	for _, e := range r.readings {
		t.emit(e)
	}
	bad := map[string]bool{}
	for _, g := range gaps(r.err) {
		bad[g.Node] = true
		t.failed(g, begin, end)
	}
	if bad[""] {
		return
	}
	for _, node := range slices.Sorted(maps.Keys(t.open)) {
		if !bad[node] {
			t.gap(node, t.open[node], begin, t.reason[node].Error())
			delete(t.open, node)
		}
	}
	for node := range t.reason {
		t.ever[node] = t.ever[node] || !bad[node]
	}
	if end-begin > t.lane.deadline {
		t.gap("", begin, end, "a sample took "+round(end-begin))
	}
	t.any, t.lastGood = true, end
}

func (t *tracker) failed(g Gap, begin, end time.Duration) {
	if _, known := t.reason[g.Node]; !known && g.Node != "" {
		t.ever[g.Node] = t.any // an earlier sample passed without a word about this node
	}
	t.reason[g.Node] = g.Err
	if errors.Is(g.Err, ErrUnavailable) {
		t.once(g.Error(), "info", "", g.Error())
		return
	}
	from, isOpen := t.open[g.Node]
	if !isOpen {
		from = t.started
		if t.any {
			from = t.lastGood
		}
		t.open[g.Node] = from
		t.once(g.Error(), "info", "", "gave nothing: "+g.Error())
	}
	if end-from >= gapPiece {
		t.gap(g.Node, from, begin, g.Err.Error())
		t.open[g.Node] = begin
	}
}

func (t *tracker) gap(node string, from, to time.Duration, why string) {
	if to <= from {
		return
	}
	t.blind[node] += to - from
	t.emit(record.Evidence{
		Stamp: record.Stamp{At: from}, To: to, Class: record.ClassProbeGap, Node: node,
		Magnitude: (to - from).Seconds(), Unit: "s", Text: t.lane.probe.Name() + ": " + why,
	})
}

// maxSaid bounds the notes of one lane: errors may carry numbers that never repeat.
const maxSaid = 50

func (t *tracker) once(key, level, code, text string) {
	if t.said[key] || len(t.said) >= maxSaid {
		return
	}
	t.said[key] = true
	t.lane.note(t.emit, level, code, text)
}

// costs emits totals since the begin, so that the last sample of a series is the cost of the probe.
func (t *tracker) costs() {
	name := "probe." + t.lane.probe.Name()
	for _, s := range []struct {
		what, unit string
		value      float64
	}{
		{".cost", "s", t.cost.cpu.Seconds()},
		{".wall", "s", t.cost.wall.Seconds()},
		{".samples", "1", float64(t.cost.samples)},
	} {
		t.emit(record.Series{Stamp: t.lane.clock.Stamp(), Name: name + s.what, Unit: s.unit, Value: s.value})
	}
}

// close records what is still open, what never came, and the cost.
func (t *tracker) close() {
	now := t.lane.clock.Now()
	for _, node := range slices.Sorted(maps.Keys(t.open)) {
		t.gap(node, t.open[node], now, t.reason[node].Error())
	}
	code, level := record.NoteProbeMissing, "warn"
	if t.lane.spec.Optional {
		code, level = record.NoteProbeOptional, "info"
	}
	switch {
	case !t.any && t.reason[""] != nil:
		t.lane.note(t.emit, level, code, t.lane.probe.Name()+" gave nothing: "+t.reason[""].Error())
	case !t.any:
		t.lane.note(t.emit, level, code, t.lane.probe.Name()+" gave nothing: the run ended before its first sample")
	default:
		for _, node := range slices.Sorted(maps.Keys(t.reason)) {
			if node != "" && !t.ever[node] {
				t.lane.note(t.emit, level, code, t.lane.probe.Name()+" gave nothing of "+node+": "+t.reason[node].Error())
			}
		}
		t.mostlyBlind(level, code, now-t.started)
	}
	t.costs()
}

// minBlind is what a short look may miss while servers start: less says nothing about a run.
const minBlind = 10 * time.Second

// mostlyBlind says of whom nothing was known for more than half of the run: a probe that has died is as good as none.
func (t *tracker) mostlyBlind(level, code string, life time.Duration) {
	for _, node := range slices.Sorted(maps.Keys(t.blind)) {
		whose := ""
		if node != "" {
			if !t.ever[node] && t.reason[node] != nil {
				continue // said already
			}
			whose = " of " + node
		}
		if blind := t.blind[node]; blind > life/2 && blind >= minBlind {
			t.lane.note(t.emit, level, code, t.lane.probe.Name()+" gave nothing"+whose+" for "+round(blind)+" of "+round(life))
		}
	}
}

// round writes a duration with three digits or so.
func round(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
