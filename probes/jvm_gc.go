package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"nightshift/soak/record"
)

func gcInfo() Info {
	return Info{
		Kind:    "jvm/gc",
		Purpose: "stop-the-world pauses of each server's JVM (collections and other safepoints), from its -Xlog:gc*,safepoint file",
		Cost:    "reads what was appended, at most 4 MiB a sample; a quiet log costs two system calls",
		Every:   time.Second,
		Params:  []Param{{Name: "min", Default: "5ms", Purpose: "shorter pauses are left out"}},
	}
}

type gcParams struct {
	Min time.Duration `yaml:"min" json:"min"`
}

func gcDefaults() gcParams { return gcParams{Min: 5 * time.Millisecond} }

func (p gcParams) check() error {
	if p.Min < 0 {
		return errors.New("min must not be negative")
	}
	return nil
}

// gc follows the GC log of each node. Its stamps are of the end of a pause, by the JVM's uptime; where uptime
// zero lies on the run's time line comes from an anchor, a new one for each JVM. A log that is decorated
// with timenanos (the host's monotonic clock) or time needs none.
type gc struct {
	name   string
	env    Env
	own    gcParams
	nodes  *clusters
	clocks hostClocks
	logs   map[string]*gcLog
	tails  map[string]*tail
}

func newGC(s Spec, env Env, own gcParams) (Probe, error) {
	cs, err := clustersOf(env, s.Target)
	return &gc{
		name: named(s.Kind, s.Target), env: env, own: own, nodes: cs, clocks: newHostClocks(env),
		logs: map[string]*gcLog{}, tails: map[string]*tail{},
	}, err
}

// Name implements Probe.
func (p *gc) Name() string { return p.name }

// Close ends the tails.
func (p *gc) Close() error { return closeTails(p.tails) }

// Sample implements Probe.
func (p *gc) Sample(ctx context.Context) ([]Reading, error) {
	nodes, err := p.nodes.nodes(ctx, "", 30*time.Second)
	errs := []error{err}
	p.clocks.look()
	var rs []Reading
	for _, n := range nodes {
		r, err := p.node(ctx, n)
		if err != nil {
			errs = append(errs, Gap{Node: n.ID, Err: err})
		}
		rs = append(rs, r...)
	}
	return rs, errors.Join(errs...)
}

// gcLog is the state of one node's log.
type gcLog struct {
	queue   []gcLine // lines that have not been placed yet
	since   time.Duration
	anchor  anchor
	last    gcLine // the last one placed by uptime
	pending *pause // a collection whose safepoint line has not come yet
}

// Bounds of what waits until the process of a new JVM is known.
const (
	holdFor   = 30 * time.Second
	holdLines = 100_000
	// A collection is logged right before the safepoint that it was in. Where safepoints are not logged, it
	// is taken as it is after this.
	pendingFor = 500 * time.Millisecond
	// Lines of one JVM may be written a little out of order.
	disorder = time.Second
)

func (p *gc) node(ctx context.Context, n member) ([]Reading, error) {
	t, err := tailOf(p.tails, n, n.GCLog, "GC log")
	if err != nil {
		return nil, err
	}
	l := p.logs[n.ID]
	if l == nil {
		l = &gcLog{}
		p.logs[n.ID] = l
	}
	c, err := t.read()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the server has not started yet; its log will be read from its begin
	}
	if err != nil {
		return nil, err
	}
	now := p.env.Clock.Now()
	if len(l.queue) == 0 {
		l.since = now
	}
	for _, line := range c.lines {
		if g, ok := parseGCLine(line); ok {
			g.gen = c.gen
			l.queue = append(l.queue, g)
		}
	}
	var rs []Reading
	if a, ok := p.refine(l.anchor); ok {
		l.anchor = a
		rs = append(rs, p.anchored(n.ID, a))
	}
	placed, err := p.place(ctx, n, l)
	rs = append(rs, placed...)
	if err != nil && (now-l.since > holdFor || len(l.queue) > holdLines) {
		err = fmt.Errorf("%w; %d lines are left out", err, len(l.queue))
		l.queue = nil
	}
	return rs, errors.Join(err, c.behind())
}

// place maps what is queued to the run's time line.
func (p *gc) place(ctx context.Context, n member, l *gcLog) ([]Reading, error) {
	var rs []Reading
	for len(l.queue) > 0 {
		g := l.queue[0]
		end, note, err := p.stamp(ctx, n, l, g)
		if errors.Is(err, errYoung) {
			return rs, nil
		}
		if err != nil {
			return rs, err
		}
		l.queue = l.queue[1:]
		if note != nil {
			rs = append(rs, note)
		}
		if ps, ok := parsePause(g); ok {
			ps.end = end
			rs = append(rs, p.merge(n.ID, l, ps)...)
		}
	}
	if l.pending != nil && p.env.Clock.Now()-l.pending.end.At > pendingFor {
		rs = append(rs, p.evidence(n.ID, *l.pending)...)
		l.pending = nil
	}
	return rs, nil
}

// stamp is the offset of the time a line carries, and a note when a new JVM was anchored for it.
func (p *gc) stamp(ctx context.Context, n member, l *gcLog, g gcLine) (record.Stamp, Reading, error) {
	source := n.ID + "/gc-log"
	switch {
	case g.mono > 0:
		return p.clocks.monoStamp(source, g.mono), nil, nil
	case !g.wall.IsZero():
		return p.clocks.stamp(source, g.wall), nil, nil
	}
	var note Reading
	if l.anchor.proc.Pid == 0 || anotherJVM(l.last, g) {
		a, err := p.anchor(ctx, n, l.anchor)
		if err != nil {
			return record.Stamp{}, nil, err
		}
		l.anchor = a
		note = p.anchored(n.ID, a)
	}
	l.last = g
	return record.Stamp{Source: source, At: l.anchor.zero + g.uptime, Uncertainty: l.anchor.uncertainty}, note, nil
}

// anchored is the note that tells where a JVM stands.
func (p *gc) anchored(node string, a anchor) Reading {
	return record.Note{
		Stamp: p.env.Clock.Stamp(), Lane: p.name, Level: "info",
		Text: fmt.Sprintf("%s/gc-log: uptime zero of process %d is at %v ± %v, by %s",
			node, a.proc.Pid, a.zero.Round(time.Millisecond), a.uncertainty, a.by),
	}
}

// anotherJVM says that uptime went back: a server has been started again. A log that the JVM rotates by
// itself goes on counting.
func anotherJVM(last, now gcLine) bool {
	if now.gen != last.gen {
		return now.uptime < last.uptime
	}
	return now.uptime < last.uptime-disorder
}

// merge joins a collection with the safepoint that it was in: the safepoint is the longer of the two.
func (p *gc) merge(node string, l *gcLog, ps pause) []Reading {
	var rs []Reading
	if was := l.pending; was != nil {
		l.pending = nil
		if ps.whole && was.end.At >= ps.end.At-ps.took && was.end.At <= ps.end.At {
			ps.text += ": " + was.text
		} else {
			rs = p.evidence(node, *was)
		}
	}
	if !ps.whole {
		l.pending = &ps
		return rs
	}
	return append(rs, p.evidence(node, ps)...)
}

func (p *gc) evidence(node string, ps pause) []Reading {
	begin := ps.end
	begin.At -= ps.took
	if ps.took < p.own.Min || begin.At > p.env.Clock.Now() {
		return nil // short, or not of this JVM: nothing stands in the future
	}
	return []Reading{record.Evidence{
		Stamp: begin, To: ps.end.At, Class: record.ClassGC, Node: node,
		Magnitude: ps.took.Seconds(), Unit: "s", Text: "JVM stood still for " + round(ps.took) + ", " + ps.text,
	}}
}
