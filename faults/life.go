package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

// Defaults and bounds of a fault's life.
const (
	DefaultHold    = 5 * time.Second
	DefaultRecover = 30 * time.Second

	biteWithin = 5 * time.Second
	lifeGrace  = 10 * time.Second // after the hold, before the guardian takes over from a tool that hangs
)

// Case is one fault on one node.
type Case struct {
	ID       string // unique in the journal
	Item     int    // of the plan's mix, from 1; 0: by hand
	Info     Info
	Scope    Scope
	Params   Params
	Hold     time.Duration // from seen to bite to the revert
	Recover  time.Duration // limit for healing, and for the service's recovery after it
	Optional bool
}

// Life leads faults through their lives: health check, undo record synced, inject, prove that it bit, hold, revert,
// prove that it healed. After any error, and when ctx ends, only the clean-up is done.
type Life struct {
	Host    Host
	Journal *Journal
	Clock   record.Clock
	Healthy func(ctx context.Context) error // nil: not asked
	Guard   func() error                    // says why nobody would undo the fault if this process died; nil: not asked
}

// Result is how a life ended.
type Result struct {
	Fault record.Fault // as emitted last
	Left  *Undo        // what may still be in effect, because it was not seen to heal
}

// Run leads one life and emits the fault at each step. What can't run here is a skip in the record, what did not bite
// or did not heal a failed step; neither is an error of Run. The error says that the journal could not be written:
// then nothing more may be injected.
func (l Life) Run(ctx context.Context, c Case, emit record.Emit) (Result, error) {
	s := &course{Life: l, c: c, emit: emit, fault: c.Info.New(l.Host), f: record.Fault{
		ID: c.ID, Item: c.Item, Fault: c.Info.Kind, Class: c.Info.Class, Target: c.Scope.Target, Node: c.Scope.Node.ID,
		Role: string(c.Scope.Node.Role), Optional: c.Optional, Limit: c.Recover,
	}}
	if reason := s.prepare(ctx); reason != nil {
		s.f.Skipped = reason.Error()
		s.step(record.StepSkipped)
		return Result{Fault: s.f}, s.broken
	}
	s.run(ctx)
	r := Result{Fault: s.f}
	if !s.f.Healed {
		r.Left = &s.undo
	}
	return r, s.broken
}

// course is one life under way.
type course struct {
	Life
	c      Case
	emit   record.Emit
	fault  Fault
	undo   Undo
	f      record.Fault
	broken error // the journal could not be written
}

// step emits the state reached.
func (s *course) step(name string) {
	s.f.Stamp, s.f.Step = s.Clock.Stamp(), name
	f := s.f
	f.Proof = append([]string(nil), f.Proof...)
	s.emit(f)
}

// prepare goes as far as the undo record. The error is why the fault is skipped; nothing has been done then.
func (s *course) prepare(ctx context.Context) error {
	if err := s.c.Info.Available(); err != nil {
		return err
	}
	if s.Guard != nil {
		if err := s.Guard(); err != nil {
			return fmt.Errorf("nobody would undo it if nightshift died: %w", err)
		}
	}
	if s.Healthy != nil {
		if err := s.Healthy(ctx); err != nil {
			return fmt.Errorf("%s was not healthy: %w", s.c.Scope.Target, err)
		}
	}
	u, err := s.fault.Prepare(ctx, s.c.Scope, s.c.Params)
	if err != nil {
		return err
	}
	u.ID, u.MaxLife = s.c.ID, biteWithin+s.c.Hold+lifeGrace
	s.undo = u
	if err := s.Journal.Prepared(u); err != nil {
		s.broken = err
		return err
	}
	if ctx.Err() != nil {
		s.mark(MarkHealed, "never injected")
		return fmt.Errorf("not injected: %w", context.Cause(ctx))
	}
	s.step(record.StepPrepared)
	return nil
}

// run goes from injecting to the proof of healing, which a panic on the way does not leave out.
func (s *course) run(ctx context.Context) {
	defer s.heal(ctx)
	if err := s.inject(ctx); err != nil {
		s.f.Error = err.Error()
		return
	}
	if err := sleep(ctx, s.c.Hold); err != nil {
		s.f.Proof = append(s.f.Proof, fmt.Sprintf("hold cut short after %s: %v", (s.Clock.Now()-s.f.From).Round(time.Millisecond), err))
		return
	}
	s.held(ctx)
}

// held looks whether the fault lasted: what somebody else has undone meanwhile, as a service manager does, was not the
// fault that the plan asks for, and does not count as one that bit.
func (s *course) held(ctx context.Context) {
	if ev, err := observe(ctx, s.fault, s.undo, Healed); err == nil && ev.Seen {
		s.f.Bit = false
		s.f.Error = fmt.Sprintf("it was over before its hold of %s was: %s", s.c.Hold, ev.Text)
	}
}

// inject does it and waits until it is seen to bite.
func (s *course) inject(ctx context.Context) error {
	if err := s.fault.Inject(ctx, s.undo); err != nil {
		return fmt.Errorf("inject: %w", err)
	}
	s.f.Injected = s.Clock.Now()
	if !s.mark(MarkInjected, "") {
		return s.broken
	}
	s.step(record.StepInjected)
	bctx, cancel := context.WithTimeout(ctx, biteWithin)
	defer cancel()
	ev, err := await(bctx, s.fault, s.undo, Biting)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("cut short before it was seen to bite: %w; %w", context.Cause(ctx), err)
	case err != nil:
		return fmt.Errorf("did not bite within %s; %w", biteWithin, err)
	}
	s.f.From, s.f.Bit = s.Clock.Now(), true
	s.f.Proof = append(s.f.Proof, "bit: "+ev.Text)
	s.step(record.StepBit)
	return nil
}

// heal reverts and proves it, whether ctx has ended or not.
func (s *course) heal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.c.Recover)
	defer cancel()
	ev, err := mend(ctx, s.fault, s.undo, func() {
		s.f.Reverted = s.Clock.Now()
		s.mark(MarkReverted, "")
		s.step(record.StepReverted)
	})
	if err != nil {
		if errors.Is(err, target.ErrNoOwner) {
			err = fmt.Errorf("did not heal: %w", err)
		} else {
			err = fmt.Errorf("did not heal within %s; %w", s.c.Recover, err)
		}
		s.mark(MarkGaveUp, err.Error())
		s.f.Error = join(s.f.Error, err.Error())
		s.step(record.StepFailed)
		return
	}
	s.f.To, s.f.Healed = s.Clock.Now(), true
	s.f.Proof = append(s.f.Proof, "healed: "+ev.Text)
	s.mark(MarkHealed, ev.Text)
	if s.f.Error != "" {
		s.step(record.StepFailed)
		return
	}
	s.step(record.StepHealed)
}

// mark writes to the journal; false when that failed, which ends the life but never keeps it from its clean-up.
func (s *course) mark(m Mark, text string) bool {
	if err := s.Journal.Mark(s.c.ID, m, text); err != nil {
		s.broken = errors.Join(s.broken, err)
		return false
	}
	return true
}

// join puts two texts into one.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
