package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nightshift/soak/record"
)

// Part is a workload with the recorder of what it does.
type Part struct {
	Workload Workload
	Recorder *Recorder
}

// Runner runs one plan that has been assembled: workloads and lanes through the phases of a run.
//
//	setup  warm-up   load                          drain   check   restart   end
//	|------|---------|-----------------------------|-------|-------|---------|
//	       workloads ------------------------------>
//	                 faults, janitor -------------->   (stopped first: faults are undone)
//	probes ------------------------------------------------------------------>
type Runner struct {
	Clock  record.Clock
	Emit   record.Emit
	Parts  []Part
	Probes []Lane // run from the begin to the end
	Loaded []Lane // run in the load phase: faults, janitor

	Warmup, Load, Drain time.Duration
	Restart             func(ctx context.Context) error // restarts the lab on what is on disk; nil: no such phase
	Broken              <-chan struct{}                 // closed when the record can't be written

	told sync.Map // findings emitted: the checks run twice when the lab is restarted
}

// Limits of phases that wait for the cluster.
const (
	setupLimit   = 2 * time.Minute
	checkLimit   = 2 * time.Minute
	restartLimit = 5 * time.Minute // a host with much to do starts servers slowly; one that dies is said at once
	laneLimit    = 3 * time.Minute // faults have to be undone and proven healed
)

// ErrRecord is returned when the run stopped because its record could not be written.
var ErrRecord = errors.New("the record can't be written any more")

// Run goes through the phases. When ctx ends the run is cut short in order: faults undone, drain, checks.
// When hard ends nothing is waited for any more. The error says why the run is not whole, and stands in the
// record's last phase too; context.Canceled means that ctx ended first.
func (r *Runner) Run(ctx, hard context.Context) error {
	probes := r.start(hard, r.Probes)
	defer probes.stop(hard)
	stopFlush := r.flush(hard)
	err := r.phases(ctx, hard)
	stopFlush()
	probes.stop(hard)
	end := record.EndDone
	switch {
	case ctx.Err() != nil:
		end, err = record.EndInterrupted, errors.Join(context.Canceled, err)
	case err != nil:
		end = "failed: " + err.Error()
	}
	r.phase(record.PhaseEnd, end)
	return err
}

func (r *Runner) phases(ctx, hard context.Context) error {
	r.phase(record.PhaseSetup, "")
	defer r.clean(hard)
	if err := r.setup(ctx); err != nil {
		return err
	}
	work := r.work(hard)
	err := r.load(ctx, hard, work)
	r.phase(record.PhaseDrain, "")
	if derr := work.drain(hard, r.Drain); derr != nil {
		r.note(record.Note{Lane: "runner", Level: "error", Code: record.NoteLaneDied, Text: derr.Error()})
	}
	r.phase(record.PhaseCheck, "")
	r.check(hard)
	if ctx.Err() == nil && err == nil && r.Restart != nil {
		r.restart(hard)
	}
	return err
}

// load is warm-up and load phase. It ends by time, when every workload has done its quota, or early.
func (r *Runner) load(ctx, hard context.Context, work *work) error {
	r.phase(record.PhaseWarmup, "")
	if err := r.wait(ctx, work, r.Warmup); err != nil || ctx.Err() != nil {
		return err
	}
	r.phase(record.PhaseLoad, "")
	lanes := r.start(hard, r.Loaded)
	err := r.wait(ctx, work, r.Load)
	lanes.stop(hard)
	return err
}

func (r *Runner) wait(ctx context.Context, work *work, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-work.done:
	case <-ctx.Done():
	case <-r.Broken:
		return ErrRecord
	}
	return nil
}

func (r *Runner) setup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, setupLimit)
	defer cancel()
	return r.each(func(p Part) error {
		if err := p.Workload.Setup(ctx); err != nil {
			return fmt.Errorf("set up %s: %w", p.Workload.Name(), err)
		}
		return nil
	})
}

// each calls f for all parts at once and joins the errors.
func (r *Runner) each(f func(Part) error) error {
	errs := make([]error, len(r.Parts))
	var wg sync.WaitGroup
	for i, p := range r.Parts {
		wg.Go(func() { errs[i] = guard(func() error { return f(p) }) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// guard turns a panic of a lane into its error: one broken lane must not take the verdict away.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

func (r *Runner) check(hard context.Context) {
	ctx, cancel := context.WithTimeout(hard, checkLimit)
	defer cancel()
	err := r.each(func(p Part) error {
		findings, err := p.Workload.Check(ctx)
		r.findings(findings)
		if err != nil {
			return fmt.Errorf("check %s: %w", p.Workload.Name(), err)
		}
		return nil
	})
	if err != nil {
		text := err.Error()
		if hard.Err() != nil {
			text = "the run was told to quit at once, before its writes were checked"
		}
		r.Emit(record.Finding{Code: "check-failed", Severity: record.Inconclusive, Text: text, From: r.Clock.Now()})
	}
}

func (r *Runner) restart(hard context.Context) {
	r.phase(record.PhaseRestart, "")
	ctx, cancel := context.WithTimeout(hard, restartLimit)
	defer cancel()
	if err := r.Restart(ctx); err != nil {
		r.note(record.Note{Lane: "lab", Level: "error", Code: record.NoteRestartFailed, Text: err.Error()})
		return
	}
	r.note(record.Note{Lane: "lab", Level: "info", Code: record.NoteRestarted, Text: "all servers restarted on what is on disk"})
	r.check(hard)
}

// clean removes what the workloads left on the target. What stays is a finding.
func (r *Runner) clean(hard context.Context) {
	ctx, cancel := context.WithTimeout(hard, checkLimit)
	defer cancel()
	err := r.each(func(p Part) error {
		c, ok := p.Workload.(Cleaner)
		if !ok {
			return nil
		}
		findings, err := c.Clean(ctx)
		r.findings(findings)
		if err != nil {
			return fmt.Errorf("clean %s: %w", p.Workload.Name(), err)
		}
		return nil
	})
	switch {
	case err != nil && hard.Err() != nil:
		r.Emit(record.Finding{Code: "left-over", Severity: record.Inconclusive, From: r.Clock.Now(),
			Text: "the run was told to quit at once, before what it made on the target was removed; `nightshift heal RUN` removes it"})
	case err != nil:
		r.Emit(record.Finding{Code: "left-over", Severity: record.Fail, From: r.Clock.Now(),
			Text: "what the run made on the target could not be removed; `nightshift heal RUN` tries again: " + err.Error()})
	}
}

func (r *Runner) findings(fs []record.Finding) {
	for _, f := range fs {
		if _, again := r.told.LoadOrStore(f.Code+"\x00"+f.Subject+"\x00"+f.Text, true); !again {
			r.Emit(f)
		}
	}
}

func (r *Runner) phase(name, text string) {
	r.Emit(record.Phase{Stamp: r.Clock.Stamp(), Name: name, Text: text})
}

func (r *Runner) note(n record.Note) {
	n.Stamp = r.Clock.Stamp()
	r.Emit(n)
}
