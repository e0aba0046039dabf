package night

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"nightshift/faults"
	"nightshift/probes"
	"nightshift/soak/lab"
)

// Preview is everything that a plan would run, and what is missing here.
type Preview struct {
	Plan      string          `json:"plan"`
	Seed      uint64          `json:"seed"`
	For       Seconds         `json:"for"`
	Warmup    Seconds         `json:"warmup"`
	Targets   []PreviewTarget `json:"targets"`
	Workloads []PreviewLoad   `json:"workloads"`
	Faults    []PreviewFault  `json:"faults"`
	Probes    []PreviewProbe  `json:"probes"`
	Purges    []PreviewPurge  `json:"purges"`
	Left      []string        `json:"left_out"` // for want of consent
	Missing   []string        `json:"missing"`  // what would stop the run here
	YAML      string          `json:"-"`
}

// Seconds is a duration that JSON has in seconds, as in reports.
type Seconds time.Duration

// MarshalJSON writes seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

func (s Seconds) String() string { return time.Duration(s).String() }

// PreviewProbe is a probe that would run.
type PreviewProbe struct {
	Kind     string  `json:"kind"`
	Target   string  `json:"target,omitempty"`
	Every    Seconds `json:"every"`
	Optional bool    `json:"optional"`
	Cost     string  `json:"cost"` // of one sample
}

// PreviewTarget is a cluster that would be used.
type PreviewTarget struct {
	Name    string   `json:"name"`
	System  string   `json:"system"`
	Lab     bool     `json:"lab"`
	Version string   `json:"version,omitempty"`
	Nodes   int      `json:"nodes"`
	Servers []string `json:"servers,omitempty"`
	Prefix  string   `json:"prefix"`
}

// PreviewLoad is a workload that would run.
type PreviewLoad struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Target      string `json:"target"`
	Connections int    `json:"connections"`
	Closed      bool   `json:"closed_loop"`
	Spec        string `json:"spec"`
}

// PreviewFault is a fault that would be injected, with how it is undone.
type PreviewFault struct {
	At   Seconds `json:"at"` // into the load phase
	Kind string  `json:"kind"`
	On   string  `json:"nodes"`
	Hold Seconds `json:"hold"`
	Doc  string  `json:"doc"`
}

// PreviewPurge is a lane of the janitor that would run.
type PreviewPurge struct {
	Target string  `json:"target"`
	Keep   int     `json:"keep"`
	First  Seconds `json:"first"`
	Every  Seconds `json:"every"`
}

// Check validates a plan and says what it would do. It starts nothing and reaches no server.
func Check(ctx context.Context, o Options) (Preview, error) {
	a, err := assemble(o)
	if err != nil {
		return Preview{}, err
	}
	if err := a.consented(); err != nil {
		return Preview{}, err
	}
	p := Preview{Plan: a.plan.Name, Seed: uint64(a.plan.Seed), For: Seconds(a.plan.For), Warmup: Seconds(a.plan.Warmup), YAML: a.plan.Root.String(),
		Left: a.left()}
	costs := map[string]string{}
	for _, k := range probes.Kinds() {
		costs[k.Kind] = k.Cost
	}
	for _, spec := range a.probeSpecs() {
		p.Probes = append(p.Probes, PreviewProbe{spec.Kind, spec.Target, Seconds(spec.Every), spec.Optional, costs[spec.Kind]})
	}
	for _, name := range a.order {
		t := a.targets[name]
		pt := PreviewTarget{Name: name, System: t.System, Lab: t.isLab(), Servers: t.Servers, Nodes: len(t.Servers), Prefix: t.Prefix}
		if t.isLab() {
			pt.Version, pt.Nodes = t.spec.Version, t.spec.Nodes
			if err := lab.Preflight(ctx, t.spec); err != nil {
				p.Missing = append(p.Missing, err.Error())
			}
		}
		p.Targets = append(p.Targets, pt)
	}
	for _, w := range a.workloads {
		p.Workloads = append(p.Workloads, PreviewLoad{Name: w.name, Kind: w.Kind, Target: w.Target, Connections: w.need.Connections,
			Closed: w.need.Closed, Spec: strings.Join(strings.Fields(w.Node.String()), " ")})
	}
	p.Faults = a.faultPreview()
	if err := a.faultsFit(); err != nil {
		p.Missing = append(p.Missing, err.Error())
	}
	for _, j := range a.janitor {
		if a.targets[j.Target].consent().Purge {
			p.Purges = append(p.Purges, PreviewPurge{j.Target, j.Keep, Seconds(j.First), Seconds(j.Every)})
		}
	}
	return p, nil
}

// faultsFit refuses a plan whose first fault could not end within its load.
func (a *assembly) faultsFit() error {
	if a.faults.Empty() || !a.targets[a.faultsOn].consent().Faults || len(a.faultPreview()) > 0 {
		return nil
	}
	return refusedf("no fault fits into a load phase of %s, so the verdict can't be a pass; make the plan longer, or the schedule's first and every shorter", a.plan.Load())
}

func (a *assembly) faultPreview() []PreviewFault {
	if a.faults.Empty() || !a.targets[a.faultsOn].consent().Faults {
		return nil
	}
	var out []PreviewFault
	rnd := a.plan.Seed.Stream(faults.StreamName(a.faultsOn))
	for _, f := range a.faults.Preview(rnd, a.plan.Load()) {
		it := a.faults.Mix[f.Item]
		doc := ""
		if k, err := faults.Find(it.Kind); err == nil {
			doc = k.Doc
		}
		out = append(out, PreviewFault{At: Seconds(f.At), Kind: it.Kind, On: it.Nodes, Hold: Seconds(it.Hold), Doc: doc})
	}
	return out
}

// maxFaultsShown bounds the text; the JSON has the whole schedule.
const maxFaultsShown = 30

// Text prints the preview.
func (p Preview) Text(w io.Writer) error {
	var b strings.Builder
	f := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	f("plan %s, seed %d: %s, of which %s warm-up", p.Plan, p.Seed, p.For, p.Warmup)
	for _, t := range p.Targets {
		if t.Lab {
			f("target %s: %d %s %s servers started here", t.Name, t.Nodes, t.System, t.Version)
			continue
		}
		f("target %s: %s at %s, below %s", t.Name, t.System, strings.Join(t.Servers, ", "), t.Prefix)
	}
	for _, l := range p.Workloads {
		loop := "open loop"
		if l.Closed {
			loop = "closed loop"
		}
		f("workload %s on %s: %s, %d connections  %s", l.Name, l.Target, loop, l.Connections, l.Spec)
	}
	for i, x := range p.Faults {
		if i == maxFaultsShown {
			f("fault ... and %d more", len(p.Faults)-i)
			break
		}
		f("fault at %s into the load: %s %s for %s  (%s)", time.Duration(x.At).Round(100*time.Millisecond), x.Kind, x.On, x.Hold, x.Doc)
	}
	for _, j := range p.Purges {
		f("purge of %s: from %s into the load, every %s, keeps %d snapshots", j.Target, j.First, j.Every, j.Keep)
	}
	for _, x := range p.Probes {
		need := "required"
		if x.Optional {
			need = "optional"
		}
		f("probe %s every %s, %s  (%s)", strings.TrimSpace(x.Kind+" "+x.Target), x.Every, need, x.Cost)
	}
	for _, l := range p.Left {
		f("LEFT OUT: %s, the plan or --allow does not permit them on this target", l)
	}
	for _, m := range p.Missing {
		f("MISSING: %s", m)
	}
	if len(p.Missing) == 0 {
		f("nothing is missing here")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
