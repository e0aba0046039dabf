package night

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"nightshift/faults"
	"nightshift/soak"
	"nightshift/soak/lab"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// double replaces the parts that a test can't have for real: servers and their processes.
type double struct {
	ward   func(t *targetSpec, dir string) (ward, error)
	dial   dialer
	host   faults.Host
	probes map[string]bool // kinds of probes that work on the double
	lanes  []soak.Lane     // more lanes for the load phase
}

// consented refuses a plan that may not even load one of its targets.
func (a *assembly) consented() error {
	for _, w := range a.workloads {
		t := a.targets[w.Target]
		if !t.consent().Load {
			return usagef("target %s: the plan does not allow load on it; say `allow: [load]` there, or name the servers with --target", t.name)
		}
	}
	return nil
}

// left says what is left out for want of consent.
func (a *assembly) left() []string {
	var out []string
	if !a.faults.Empty() && !a.targets[a.faultsOn].consent().Faults {
		out = append(out, "faults")
	}
	for _, j := range a.janitor {
		if !a.targets[j.Target].consent().Purge {
			return append(out, "purges")
		}
	}
	return out
}

// labPreflight says before anything is made whether the labs can be started here.
func (a *assembly) labPreflight(ctx context.Context, d *double) error {
	if d != nil {
		return nil
	}
	for _, name := range a.order {
		t := a.targets[name]
		if !t.isLab() {
			continue
		}
		if err := lab.Preflight(ctx, t.spec); err != nil {
			return err
		}
	}
	return nil
}

// admit brings every target up, or finds it, and says who is there.
func (s *shift) admit(ctx context.Context) error {
	for _, name := range s.order {
		t := s.targets[name]
		p := &patient{spec: t}
		s.patients[name] = p
		w, err := s.ward(ctx, t)
		if err != nil {
			return err
		}
		p.ward = w
		if s.o.double != nil {
			p.dial = s.o.double.dial
		}
		if err := p.answers(ctx); err != nil && (!t.isLab() || p.whole(ctx, settleWithin) != nil) {
			return err
		}
	}
	s.nodes(ctx, true)
	return nil
}

func (s *shift) ward(ctx context.Context, t *targetSpec) (ward, error) {
	dir := filepath.Join(s.dir, t.name)
	switch {
	case s.o.double != nil:
		return s.o.double.ward(t, dir)
	case !t.isLab():
		return foreignWard{t}, nil
	}
	spec := t.spec
	spec.Dir, spec.RunID = dir, s.id
	l, err := lab.Up(ctx, spec)
	if err != nil {
		return nil, err
	}
	for _, n := range l.Notes() {
		s.emit(record.Note{Stamp: s.clock.Stamp(), Lane: "lab", Level: "warn", Text: n})
	}
	return labWard{l}, nil
}

// answers says which servers of an existing cluster do not answer.
func (p *patient) answers(ctx context.Context) error {
	c, err := p.ward.Cluster(ctx)
	if err != nil {
		return err
	}
	var dead []string
	for i, st := range p.ask(ctx, c) {
		if st.err != nil {
			dead = append(dead, fmt.Sprintf("  %s: %v", c.Nodes[i].Addrs[0], st.err))
		}
	}
	if len(dead) > 0 {
		return refusedf("target %s: %d of %d servers do not serve:\n%s", p.spec.name, len(dead), len(c.Nodes), strings.Join(dead, "\n"))
	}
	return nil
}

// cluster is the target as its workloads and probes get it.
func (s *shift) cluster(ctx context.Context, name string) (target.Cluster, error) {
	return s.patients[name].Lookup(ctx)
}
