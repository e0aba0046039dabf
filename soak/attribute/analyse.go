package attribute

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nightshift/soak/record"
)

// Analyse reads the whole record. It fails only when the record can't be read.
func Analyse(ctx context.Context, r *record.Reader) (Analysis, error) {
	a, states, err := load(r)
	if err != nil {
		return a, fmt.Errorf("analyse the run: %w", err)
	}
	for _, step := range []func() error{
		func() (err error) { a.Operations, a.Workloads, err = operations(r, a.Load, drained(a)); return err },
		func() error { return a.disks(r) },
		func() error { return a.self(r) },
		func() error { return a.explain(ctx, r, states) },
	} {
		if err := ctx.Err(); err != nil {
			return a, err
		}
		if err := step(); err != nil {
			return a, fmt.Errorf("analyse the run: %w", err)
		}
	}
	a.DiskPerOp = a.diskPerOp()
	return a, nil
}

// load reads the rare events. The second result is every state of every node.
func load(r *record.Reader) (a Analysis, states []record.Node, err error) {
	if a.Run, err = r.Run(); err != nil {
		return a, nil, err
	}
	if a.End, err = r.End(); err != nil {
		return a, nil, err
	}
	phases, err := record.Events[record.Phase](r, record.Span{})
	if err != nil {
		return a, nil, err
	}
	a.setPhases(phases)
	if states, err = record.Events[record.Node](r, record.Span{}); err != nil {
		return a, nil, err
	}
	if a.Purges, err = record.Events[record.Purge](r, record.Span{}); err != nil {
		return a, nil, err
	}
	if a.Evidence, err = record.Events[record.Evidence](r, record.Span{}); err != nil {
		return a, nil, err
	}
	if a.Findings, err = record.Events[record.Finding](r, record.Span{}); err != nil {
		return a, nil, err
	}
	if a.Notes, err = record.Events[record.Note](r, record.Span{}); err != nil {
		return a, nil, err
	}
	files, err := record.Events[record.File](r, record.Span{})
	if err != nil {
		return a, nil, err
	}
	faults, err := r.LastFaults()
	if err != nil {
		return a, nil, err
	}
	a.Nodes, a.Files = lastNodes(states), fileChanges(files)
	a.Without = without(a.Run.Left)
	for _, f := range faults {
		a.Faults = append(a.Faults, Recovery{Fault: f})
	}
	a.order()
	return a, states, nil
}

// explain finds baselines, recoveries, spikes and their causes.
func (a *Analysis) explain(ctx context.Context, r *record.Reader, states []record.Node) error {
	t, err := readTable(ctx, r, a)
	if err != nil {
		return err
	}
	a.activity(t)
	t.holdUps(a.Evidence)
	a.Baselines = baselines(t, a)
	bars := newBars(a.Baselines)
	normal := newHistory(t, a, bars)
	for i := range a.Faults {
		f := &a.Faults[i]
		c := newCourse(f, a, t, normal.before(f.Injected), a.systemOf(f.Target))
		var ops []record.SlowOp
		if s := c.looksAt(); s.Len() > 0 {
			if err := r.SlowOps(record.Span(s), func(o record.SlowOp) error { ops = append(ops, o); return ctx.Err() }); err != nil {
				return err
			}
		}
		c.judge(ops)
		normal.spoilt(*f)
	}
	a.idle(t)
	sp := newSpiker(a.Load, bars, t.systems, a.injections())
	for _, s := range troubled(t, bars, a.Load) {
		if err := r.SlowOps(record.Span(s), func(o record.SlowOp) error { sp.add(o); return ctx.Err() }); err != nil {
			return err
		}
	}
	a.setSpikes(sp.finish(t), states)
	return nil
}

// setSpikes keeps the worst spikes and names what caused each.
func (a *Analysis) setSpikes(all found, states []record.Node) {
	a.Spikes, a.SpikesLeft, a.SpikesExcess = all.spikes, all.left, all.excess
	e := newExplainer(a, all.spans, states)
	for i := range a.Spikes {
		a.Spikes[i].ID = fmt.Sprintf("spike-%d", i+1)
		e.explain(&a.Spikes[i])
		if a.Spikes[i].Unknown != Known {
			a.Unknown++
		}
	}
}

// injections of all faults, in order.
func (a *Analysis) injections() []time.Duration {
	var out []time.Duration
	for _, f := range a.Faults {
		if f.Injected > 0 {
			out = append(out, f.Injected)
		}
	}
	slices.Sort(out)
	return out
}

// without says in words what consent was missing for.
func without(left []string) []string {
	var out []string
	for _, l := range left {
		if l == "purge" {
			l = "purges"
		}
		out = append(out, l)
	}
	return out
}
