package night

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"nightshift/faults"
	"nightshift/faults/guardian"
	"nightshift/probes"
	"nightshift/soak"
	zkclient "nightshift/soak/client/zookeeper"
	"nightshift/soak/record"
	"nightshift/soak/target"
	zkload "nightshift/soak/zookeeper"
)

// dialsPerSecond bounds how many connections all workloads together open a second: after a server's death
// thousands of them would storm the others.
const dialsPerSecond = 500

// runner assembles the lanes of the run.
func (s *shift) runner(ctx context.Context) (*soak.Runner, error) {
	r := &soak.Runner{Clock: s.clock, Emit: s.emit, Warmup: s.plan.Warmup, Load: s.plan.Load(), Drain: s.plan.Drain, Broken: s.store.Done()}
	parts, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	r.Parts = parts
	s.workloadsDone = func(ctx context.Context) error { return closeAll(ctx, parts) }
	s.progress.watch(parts)
	if r.Probes, err = s.probeLanes(); err != nil {
		return nil, err
	}
	r.Loaded = s.purgeLanes()
	fl, err := s.faultLane()
	if err != nil {
		return nil, err
	}
	if fl != nil {
		r.Loaded = append(r.Loaded, fl)
	}
	if s.o.double != nil {
		r.Loaded = append(r.Loaded, s.o.double.lanes...)
	}
	r.Restart = s.restart()
	return r, nil
}

// parts makes the workloads, each with its recorder.
func (s *shift) parts(ctx context.Context) ([]soak.Part, error) {
	var parts []soak.Part
	gate := zkclient.NewDialGate(dialsPerSecond)
	for _, spec := range s.workloads {
		c, err := s.cluster(ctx, spec.Target)
		if err != nil {
			return nil, err
		}
		env := zkload.Env{Cluster: c, Clock: s.clock, Seed: s.plan.Seed, RunID: s.id, Dials: gate, Emit: s.emit, Log: s.clientLog(spec.Kind)}
		if s.o.double != nil {
			env.Dial = s.o.double.dial
		}
		w, ps := zkload.New(spec.Kind, spec.Node, env)
		if err := ps.Err(); err != nil {
			return nil, err
		}
		if spec.need.Closed {
			s.emit(record.Note{Stamp: s.clock.Stamp(), Lane: w.Name(), Level: "info", Code: record.NoteClosedLoop,
				Text: "closed loop: the next operation waits for the last, so latency counts from the start and a stall hides the load behind it"})
		}
		parts = append(parts, soak.Part{Workload: w, Recorder: soak.NewRecorder(w.Name(), s.clock, s.plan.Seed)})
	}
	return parts, nil
}

// clientLog takes the lines of a client library, which it has bounded and counted already.
func (s *shift) clientLog(lane string) func(string) {
	return func(line string) {
		s.store.Emit(record.Note{Stamp: s.clock.Stamp(), Lane: lane, Level: "info", Text: "client: " + line})
	}
}

func closeAll(ctx context.Context, parts []soak.Part) error {
	done := make(chan error, 1)
	go func() {
		var errs []error
		for _, p := range parts {
			errs = append(errs, p.Workload.Close())
		}
		done <- errors.Join(errs...)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("clients did not close in time; their sessions expire by themselves")
	}
}

func (s *shift) lookups() map[string]target.Lookup {
	m := map[string]target.Lookup{}
	for name, p := range s.patients {
		m[name] = p.Lookup
	}
	return m
}

// probeSpecs are the probes of the plan. Where it names none all run; on servers of our own each of them has what it
// needs, so one that sees nothing is a hole in the evidence.
func (a *assembly) probeSpecs() []probes.Spec {
	if !a.plan.Probes.IsZero() {
		return a.probes
	}
	specs := probes.Default()
	if slices.ContainsFunc(a.order, func(name string) bool { return !a.targets[name].isLab() }) {
		return specs
	}
	for i := range specs {
		specs[i].Optional = false
	}
	return specs
}

func (s *shift) probeLanes() ([]soak.Lane, error) {
	specs := s.probeSpecs()
	if s.o.double != nil {
		specs = slices.DeleteFunc(specs, func(p probes.Spec) bool { return !s.o.double.probes[p.Kind] })
	}
	env := probes.Env{Clock: s.clock, Run: s.run, RunDir: s.dir, Lookup: s.lookups()}
	var lanes []soak.Lane
	for _, spec := range specs {
		p, err := probes.New(spec, env)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, probes.NewLane(p, spec, s.clock))
	}
	return lanes, nil
}

// faultLane is nil when the plan has no faults or there is no consent.
func (s *shift) faultLane() (soak.Lane, error) {
	if s.assembly.faults.Empty() || !s.targets[s.faultsOn].consent().Faults {
		return nil, nil
	}
	host := faults.NewHost()
	guarded := func() error { return nil }
	path := filepath.Join(s.dir, faults.JournalName)
	if s.o.double != nil {
		host = s.o.double.host
	} else {
		g, err := guardian.Start(selfExe, []string{guardianCommand}, path, filepath.Join(s.dir, "guardian.log"))
		if err != nil {
			return nil, err
		}
		s.guard, guarded = g, g.Check
	}
	journal, err := faults.OpenJournal(path)
	if err != nil {
		return nil, err
	}
	s.journal = journal
	p := s.patients[s.faultsOn]
	return faults.NewLane(faults.Options{
		Spec: s.assembly.faults, Target: s.faultsOn, Lookup: p.Lookup, Healthy: p.Healthy, Guard: guarded, Host: host, Journal: journal,
		Rand: s.plan.Seed.Stream(faults.StreamName(s.faultsOn)), Clock: s.clock, Length: s.plan.Load(),
	}), nil
}

const (
	guardianCommand = "guardian"
	selfExe         = "/proc/self/exe"
)

// purgeLanes are none without consent.
func (s *shift) purgeLanes() []soak.Lane {
	var lanes []soak.Lane
	for _, spec := range s.janitor {
		if s.targets[spec.Target].consent().Purge {
			lanes = append(lanes, &purgeLane{spec: spec, lookup: s.patients[spec.Target].ward.Cluster, clock: s.clock})
		}
	}
	return lanes
}

// restart proves at the end that the servers come back on what the janitor kept; only for labs that were purged.
func (s *shift) restart() func(ctx context.Context) error {
	var purged []string
	for _, spec := range s.janitor {
		if s.targets[spec.Target].isLab() && !slices.Contains(purged, spec.Target) {
			purged = append(purged, spec.Target)
		}
	}
	if len(purged) == 0 {
		return nil
	}
	return func(ctx context.Context) error {
		for _, name := range purged {
			if err := s.patients[name].restart(ctx); err != nil {
				return fmt.Errorf("%s %w", name, err)
			}
		}
		return nil
	}
}

// restart stops and starts all servers. One that was down before must not be hidden by that.
func (p *patient) restart(ctx context.Context) error {
	before := p.whole(ctx, settleWithin)
	if before != nil {
		before = fmt.Errorf("before the restart: %w", before)
	}
	if err := p.ward.Restart(ctx); err != nil {
		return errors.Join(before, fmt.Errorf("at the restart: %w", err))
	}
	if err := p.whole(ctx, settleWithin); err != nil {
		return errors.Join(before, fmt.Errorf("after the restart: %w", err))
	}
	return before
}
