package night

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/faults"
	"nightshift/faults/guardian"
	"nightshift/soak"
	"nightshift/soak/attribute"
	"nightshift/soak/record"
	"nightshift/soak/target"
	"nightshift/soak/telemetry"
	"nightshift/soak/verdict"
)

// RunOptions of a run.
type RunOptions struct {
	Options
	Out      string                        // directory of the run; empty: a new one below ./runs
	Tool     string                        // version of nightshift
	Replay   string                        // the command line, without --seed
	Progress io.Writer                     // live progress; nil: none
	Report   func(dir string) (int, error) // judges and shows the run, and returns its exit code; called before clients are closed

	double *double // parts that a test replaces
}

// RunResult is what became of a run.
type RunResult struct {
	Dir         string
	Code        int  // of the verdict; valid when the report was made
	Interrupted bool // ctx ended first
}

// Run works one night: lab, preflight, lanes, phases, report. ctx ends at the first interrupt, hard at the second.
// The error says why there is no report; ErrUsage, ErrUnavailable tell its kind.
func Run(ctx, hard context.Context, o RunOptions) (RunResult, error) {
	a, err := assemble(o.Options)
	if err != nil {
		return RunResult{}, err
	}
	if err := a.consented(); err != nil {
		return RunResult{}, err
	}
	if err := a.faultsFit(); err != nil {
		return RunResult{}, err
	}
	if err := a.labPreflight(ctx, o.double); err != nil {
		return RunResult{}, sorted(err)
	}
	s, err := open(a, o)
	if err != nil {
		return RunResult{}, err
	}
	res := RunResult{Dir: s.dir}
	err = s.work(ctx, hard)
	res.Interrupted = ctx.Err() != nil
	// The report comes before anything is closed: a close that hangs must not cost the result.
	if serr := s.sealRecord(); errors.Is(err, soak.ErrRecord) || serr != nil {
		s.warn(fmt.Errorf("the record ends early: %w", errors.Join(serr, err)))
		err = nil // what could be written is judged: a run without its end is aborted
	}
	var early earlyError
	if !errors.As(err, &early) {
		code, rerr := s.report(o.Report)
		res.Code, err = code, errors.Join(err, rerr)
	}
	cerr := s.close(hard)
	if res.Code != 0 && err == nil && cerr != nil {
		s.warn(cerr) // the verdict says more than a close that failed after it
		cerr = nil
	}
	return res, sorted(errors.Join(err, cerr))
}

// earlyError ended the run before there was anything to judge: the lab did not come up, preflight refused.
type earlyError struct{ error }

func (e earlyError) Unwrap() error { return e.error }

// shift is a run under way.
type shift struct {
	*assembly
	o        RunOptions
	id, dir  string
	clock    record.Clock
	run      record.Run
	store    *record.Store
	progress *progress
	patients map[string]*patient
	guard    *guardian.Guardian
	journal  *faults.Journal
	sealed   bool

	workloadsDone func(ctx context.Context) error // closes the workloads' clients
}

// open makes the run directory, writes the plan as it will run, and starts the record.
func open(a *assembly, o RunOptions) (*shift, error) {
	s := &shift{assembly: a, o: o, patients: map[string]*patient{}}
	s.id = time.Now().UTC().Format("20060102-150405") + fmt.Sprintf("-%05x", uint64(a.plan.Seed)&0xfffff)
	s.dir = o.Out
	if s.dir == "" {
		s.dir = filepath.Join("runs", a.plan.Name+"-"+s.id)
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, refusedf("make run directory: %w", err)
	}
	planFile := filepath.Join(s.dir, "plan.yaml")
	if _, err := os.Stat(planFile); err == nil {
		return nil, usagef("%s holds a run already; give another directory with --out", s.dir)
	}
	if err := os.WriteFile(planFile, []byte(a.plan.Root.String()), 0o644); err != nil {
		return nil, refusedf("write plan: %w", err)
	}
	s.clock = record.NewClock()
	run, err := s.describe()
	if err != nil {
		return nil, err
	}
	s.run = run
	if s.store, err = record.Create(s.dir, s.clock, run); err != nil {
		return nil, refusedf("start the record: %w", err)
	}
	s.progress = newProgress(s)
	return s, nil
}

func (s *shift) describe() (record.Run, error) {
	self, err := target.Resolve(os.Getpid())
	if err != nil {
		return record.Run{}, fmt.Errorf("describe run: %w", err)
	}
	hostName, err := os.Hostname()
	if err != nil {
		return record.Run{}, fmt.Errorf("describe run: %w", err)
	}
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return record.Run{}, fmt.Errorf("describe run: %w", err)
	}
	return record.Run{
		Format: record.Format, ID: s.id, Plan: s.plan.Name, YAML: s.plan.Root.String(), Seed: uint64(s.plan.Seed),
		Started: s.clock.Base().Round(0), Host: hostName, BootID: self.BootID, Pid: self.Pid, Ticks: self.Ticks,
		BootBase: boot.Nano() - int64(s.clock.Now()), Tool: s.o.Tool,
		Replay: s.replay(), Left: s.left(),
	}, nil
}

// replay is the command that runs the same again.
func (s *shift) replay() string {
	cmd := s.o.Replay
	if cmd == "" {
		cmd = "nightshift run " + s.o.Plan
	}
	return fmt.Sprintf("%s --seed %d", cmd, uint64(s.plan.Seed))
}

// emit is what every lane calls: the record, and live progress beside it.
func (s *shift) emit(e record.Event) {
	s.store.Emit(e)
	s.progress.see(e)
}

// work goes from the lab to the end of the last phase.
func (s *shift) work(ctx, hard context.Context) error {
	stopProgress := s.progress.run()
	defer stopProgress()
	s.emit(record.Phase{Stamp: s.clock.Stamp(), Name: record.PhaseLab})
	if err := s.admit(ctx); err != nil {
		return s.early(ctx, err)
	}
	if err := s.preflight(ctx); err != nil {
		return s.early(ctx, err)
	}
	r, err := s.runner(ctx)
	if err != nil {
		return s.early(ctx, err)
	}
	err = r.Run(ctx, hard)
	s.nodes(hard, ctx.Err() == nil)
	if errors.Is(err, soak.ErrRecord) {
		return fmt.Errorf("%w: %w", err, s.store.Err())
	}
	return nil // why the run is not whole stands in its last phase, and the verdict says it
}

// early ends the record of a run that never came to its load.
func (s *shift) early(ctx context.Context, err error) error {
	text := "failed: " + err.Error()
	if ctx.Err() != nil {
		text = record.EndInterrupted
	}
	s.emit(record.Phase{Stamp: s.clock.Stamp(), Name: record.PhaseEnd, Text: text})
	if ctx.Err() != nil {
		return nil // interrupted: there is a report, if a short one
	}
	return earlyError{sorted(err)}
}

// nodes records how every server stands; with again those that do not answer are asked for a while.
func (s *shift) nodes(ctx context.Context, again bool) {
	within := 2 * askLimit
	if again {
		within = settleWithin
	}
	for _, name := range s.order {
		ctx, cancel := context.WithTimeout(ctx, within)
		c, err := s.patients[name].settled(ctx)
		cancel()
		if err != nil {
			s.emit(record.Note{Stamp: s.clock.Stamp(), Lane: name, Level: "warn", Code: record.NoteNodeUnknown,
				Text: "servers could not be asked how they are: " + err.Error()})
			continue
		}
		for _, n := range c.Nodes {
			s.emit(record.Node{Stamp: s.clock.Stamp(), System: c.System, Target: name, ID: n.ID, Addr: n.Addrs[0], Pid: n.Proc.Pid,
				Role: string(n.Role), Up: n.Role != target.Unknown, DataDir: firstOf(n.DataDirs), LogDir: firstOf(n.LogDirs), Version: c.Version})
		}
	}
}

func firstOf(ss []string) string {
	if len(ss) == 0 {
		return ""
	}
	return ss[0]
}

// sealRecord ends the record in order, so that the report reads all of it.
func (s *shift) sealRecord() error {
	if s.sealed {
		return nil
	}
	s.sealed = true
	return s.store.Close()
}

func (s *shift) report(show func(string) (int, error)) (int, error) {
	// Traces are made of the record like everything else; that they could not be sent is no reason against the verdict.
	if st, err := trace(context.Background(), s.dir); err != nil {
		s.warn(err)
	} else if st.Endpoint != "" && s.o.Progress != nil {
		_, _ = fmt.Fprintf(s.o.Progress, "sent %d spans to %s\n", st.Spans, st.Endpoint)
	}
	if show == nil {
		return 0, nil
	}
	return show(s.dir)
}

// trace writes the traces of a run that has ended.
func trace(ctx context.Context, dir string) (st telemetry.Stats, err error) {
	r, err := record.Open(dir)
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	a, err := attribute.Analyse(ctx, r)
	if err != nil {
		return st, err
	}
	v, err := verdict.Judge(ctx, r, a)
	if err != nil {
		return st, err
	}
	return telemetry.Export(ctx, dir, a, v)
}

// closeLimit bounds the end of a run: what hangs is left to the guardian and the kernel.
const closeLimit = 30 * time.Second

// close ends what the run started, in the reverse order.
func (s *shift) close(hard context.Context) error {
	ctx, cancel := context.WithTimeout(hard, closeLimit)
	defer cancel()
	var errs []error
	if s.workloadsDone != nil {
		if err := s.workloadsDone(ctx); err != nil {
			s.warn(err)
		}
	}
	if s.guard != nil {
		errs = append(errs, s.guard.Close())
	}
	if s.journal != nil {
		errs = append(errs, s.journal.Close())
	}
	for _, name := range s.order {
		if p := s.patients[name]; p != nil && p.ward != nil {
			if err := p.ward.Close(ctx); err != nil {
				errs = append(errs, fmt.Errorf("close %s: %w", name, err))
			}
		}
	}
	return errors.Join(append(errs, s.sealRecord())...)
}

// warn tells of something that went wrong after the record was sealed, and that costs nobody anything.
func (s *shift) warn(err error) {
	if s.o.Progress != nil {
		_, _ = fmt.Fprintf(s.o.Progress, "warning: %v\n", err)
	}
}
