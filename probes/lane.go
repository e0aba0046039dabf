package probes

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"golang.org/x/sync/errgroup"

	"nightshift/soak/record"
)

// Lane polls one probe. It keeps going whatever a sample does: late and failing samples are recorded as
// gaps, and what the probe itself costs is recorded too.
type Lane struct {
	probe    Probe
	spec     Spec
	clock    record.Clock
	deadline time.Duration // of one sample
	phase    time.Duration // of the schedule, so that probes do not all wake at once
}

// Limits of one sample, and how long a lane that ends waits for a sample that hangs in the kernel.
const (
	minDeadline = 2 * time.Second
	maxDeadline = 30 * time.Second
	lastSample  = 2 * time.Second
	costEvery   = time.Minute
	gapPiece    = time.Minute // an open gap is recorded in pieces, so that a killed run has it
)

// NewLane makes the lane of a probe: a sample at once, then one each spec.Every by the monotonic clock,
// and a last one when the run ends, so that the tail of a log is not missed.
func NewLane(p Probe, spec Spec, clock record.Clock) *Lane {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.Name())) // never fails
	every := max(spec.Every, minEvery)
	spec.Every = every
	return &Lane{
		probe: p, spec: spec, clock: clock,
		deadline: min(max(every, minDeadline), maxDeadline),
		phase:    every/4 + time.Duration(h.Sum32())%(every/2+1),
	}
}

// Name is the probe's, with a word that says what kind of lane it is.
func (l *Lane) Name() string { return "probe " + l.probe.Name() }

// Run polls until ctx ends. It returns an error only when a sample can't be ended.
func (l *Lane) Run(ctx context.Context, emit record.Emit) error {
	var g errgroup.Group
	if w, ok := l.probe.(Watcher); ok {
		g.Go(func() error {
			if err := w.Watch(ctx, emit); err != nil && ctx.Err() == nil {
				code := record.NoteProbeMissing
				if l.spec.Optional {
					code = record.NoteProbeOptional
				}
				l.note(emit, "warn", code, "stopped looking between samples: "+err.Error())
			}
			return nil
		})
	}
	g.Go(func() error { return l.poll(ctx, emit) })
	return g.Wait()
}

func (l *Lane) note(emit record.Emit, level, code, text string) {
	emit(record.Note{Stamp: l.clock.Stamp(), Lane: l.Name(), Level: level, Code: code, Text: text})
}

func (l *Lane) poll(ctx context.Context, emit record.Emit) error {
	s := newSampler(l.probe)
	t := newTracker(l, emit)
	start := l.clock.Now()
	costAt := start + costEvery
	for due := start; ; {
		begin := l.clock.Now()
		t.missed(due, begin)
		if err := l.sample(ctx, s, t, l.deadline); err != nil {
			s.leave()
			t.close()
			return err
		}
		now := l.clock.Now()
		if now >= costAt {
			t.costs()
			costAt = now + costEvery
		}
		if due = l.next(start, now); !record.Wait(ctx, due-now) {
			break
		}
	}
	err := l.sample(context.WithoutCancel(ctx), s, t, min(l.deadline, lastSample))
	t.close()
	if err != nil {
		s.leave()
		return err
	}
	s.join()
	return nil
}

// next is the first slot of the schedule after now. After a late sample the missed slots are skipped, not
// caught up: a burst would load what is already slow.
func (l *Lane) next(start, now time.Duration) time.Duration {
	slot := start + l.phase
	if now >= slot {
		slot += ((now-slot)/l.spec.Every + 1) * l.spec.Every
	}
	return slot
}

// sample takes one and waits for it. A sample that is late is said at once and waited for: a second one
// beside it would hang as well.
func (l *Lane) sample(ctx context.Context, s *sampler, t *tracker, limit time.Duration) error {
	begin := l.clock.Now()
	sctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.ask(sctx)
	late := time.NewTimer(limit + limit/4)
	defer late.Stop()
	var stuck <-chan time.Time
	done := ctx.Done()
	for {
		select {
		case r := <-s.answers:
			// A sample cut short because the run ends says nothing about the probe.
			if r.err != nil && ctx.Err() != nil && errors.Is(r.err, ctx.Err()) {
				r.err = nil
				if len(r.readings) == 0 {
					return nil
				}
			}
			t.ended(begin, l.clock.Now(), r)
			return nil
		case <-late.C:
			t.late(limit)
			if done == nil {
				stuck = time.After(lastSample)
			}
		case <-done:
			done = nil
			cancel()
			stuck = time.After(lastSample + limit/4)
		case <-stuck:
			return fmt.Errorf("sample %s: it hangs in the kernel since %v, and is left behind",
				l.probe.Name(), (l.clock.Now() - begin).Round(time.Millisecond))
		}
	}
}
