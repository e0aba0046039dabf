package night

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"nightshift/faults"
	"nightshift/soak"
	"nightshift/soak/lab"
	"nightshift/soak/record"
	"nightshift/soak/target"
	zkload "nightshift/soak/zookeeper"
)

// Heal undoes what a killed run left: faults in effect, empty cgroups and sockets of its labs, and the nodes
// it made on existing clusters. runDir "" heals the faults that were injected by hand. It says what it does.
func Heal(ctx context.Context, runDir string, w io.Writer) error {
	if runDir == "" {
		return healByHand(ctx, w)
	}
	run, err := readRun(runDir)
	if err != nil {
		return err
	}
	if Live(run) {
		return usagef("run %s is still going on (process %d); interrupt it instead", runDir, run.Pid)
	}
	errs := []error{healJournal(ctx, filepath.Join(runDir, faults.JournalName), w)}
	a, err := assembled(run)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, name := range a.order {
		errs = append(errs, healTarget(ctx, runDir, run.ID, a.targets[name], w))
	}
	return sorted(errors.Join(errs...))
}

func readRun(dir string) (run record.Run, err error) {
	r, err := record.Open(dir)
	if err != nil {
		return record.Run{}, usagef("%w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.Run()
}

// assembled decodes the plan again as a run recorded it.
func assembled(run record.Run) (*assembly, error) {
	plan, err := soak.LoadPlan(run.Plan, []byte(run.YAML), soak.Overrides{})
	if err != nil {
		return nil, fmt.Errorf("read the plan in the record: %w", err)
	}
	a := &assembly{plan: plan}
	if err := a.decode().Err(); err != nil {
		return nil, fmt.Errorf("read the plan in the record: %w", err)
	}
	return a, nil
}

func healJournal(ctx context.Context, path string, w io.Writer) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		say(w, "no fault was injected")
		return nil
	}
	return faults.Heal(ctx, path, faults.NewHost(), sayTo(w))
}

func healTarget(ctx context.Context, runDir, runID string, t *targetSpec, w io.Writer) error {
	if t.isLab() {
		gone, err := lab.RemoveLeftovers(filepath.Join(runDir, t.name))
		for _, g := range gone {
			say(w, "removed %s", g)
		}
		return err
	}
	p := &patient{spec: t, ward: foreignWard{t}}
	c, err := p.Lookup(ctx)
	if err != nil {
		return fmt.Errorf("look up %s: %w", t.name, err)
	}
	n, err := zkload.Sweep(ctx, c, runID, nil)
	if err != nil {
		err = kindError{ErrUnavailable, err}
	}
	if err == nil || n > 0 {
		say(w, "%s: removed %d nodes of run %s below %s", t.name, n, runID, c.Prefix)
	}
	return err
}

// handDir holds the journals of faults that were injected by hand.
func handDir() (string, error) {
	base, err := lab.DefaultDir("any")
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(filepath.Dir(base)), "faults"), nil
}

func healByHand(ctx context.Context, w io.Writer) error {
	dir, err := handDir()
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	if err != nil {
		return fmt.Errorf("find journals: %w", err)
	}
	if len(paths) == 0 {
		say(w, "no fault was injected by hand; `nightshift heal RUN` heals a run")
		return nil
	}
	sort.Strings(paths)
	var errs []error
	for _, p := range paths {
		say(w, "%s:", filepath.Base(p))
		if err := faults.Heal(ctx, p, faults.NewHost(), sayTo(w)); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, forget(p))
	}
	return errors.Join(errs...)
}

// forget removes a journal in which everything is undone and proven. One of a tool that still lives stays.
func forget(path string) error {
	r := faults.NewReader(path)
	if err := r.Refresh(); err != nil {
		return err
	}
	if len(r.Pending()) > 0 {
		return nil
	}
	if err := os.Remove(logBeside(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Remove(path)
}

func say(w io.Writer, format string, args ...any) { sayTo(w)(fmt.Sprintf(format, args...)) }

// Live says whether the process of a run is still there.
func Live(run record.Run) bool {
	return target.ProcRef{Pid: run.Pid, Ticks: run.Ticks, BootID: run.BootID}.Alive()
}
