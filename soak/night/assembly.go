package night

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"nightshift/faults"
	"nightshift/probes"
	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/target"
	"nightshift/soak/verdict"
	zkload "nightshift/soak/zookeeper"
)

// assembly is a plan of which every room has decoded its part.
type assembly struct {
	plan      *soak.Plan
	targets   map[string]*targetSpec
	order     []string // names of targets, sorted
	workloads []workloadSpec
	faults    faults.Spec
	faultsOn  string // target of the faults
	probes    []probes.Spec
	janitor   []purgeSpec
}

// workloadSpec is one item of a plan's workloads.
type workloadSpec struct {
	Kind   string
	Target string
	Node   config.Node
	name   string
	need   zkload.Requirements
}

// Options of everything that starts from a plan.
type Options struct {
	Plan   string // name of a built-in plan, or a file
	Over   soak.Overrides
	Target []string // "zookeeper=host:port,..."
	Allow  []string // "faults", "purge"
}

// assemble loads a plan and lets every room decode its part. The error lists all problems of all rooms.
func assemble(o Options) (*assembly, error) {
	name, src, err := PlanSource(o.Plan)
	if err != nil {
		return nil, err
	}
	if len(o.Target) > 0 || len(o.Allow) > 0 {
		o.Over.Edit = func(root config.Node) error { return retarget(root, o.Target, o.Allow) }
	}
	plan, err := soak.LoadPlan(name, src, o.Over)
	var ps config.Problems
	if err != nil && (plan == nil || !errors.As(err, &ps)) {
		return nil, sorted(inFile(name, err))
	}
	a := &assembly{plan: plan}
	if err := append(ps, a.decode()...).Err(); err != nil {
		return nil, sorted(inFile(name, err))
	}
	return a, nil
}

// inFile says which plan the problems are in.
func inFile(name string, err error) error {
	var ps config.Problems
	if errors.As(err, &ps) {
		return kindError{ErrUsage, fmt.Errorf("plan %s is not valid:\n%w", name, err)}
	}
	return err
}

func (a *assembly) decode() (ps config.Problems) {
	p := a.plan
	targets, tps := decodeTargets(p.Targets)
	a.targets, ps = targets, tps
	for name := range targets {
		a.order = append(a.order, name)
	}
	sort.Strings(a.order)
	ps = append(ps, a.decodeWorkloads()...)
	ps = append(ps, a.decodeFaults()...)
	specs, pps := probes.Decode(p.Probes)
	a.probes, ps = specs, append(ps, pps...)
	for i, it := range p.Probes.Items() {
		if i < len(specs) && specs[i].Target != "" && targets[specs[i].Target] == nil {
			ps = append(ps, it.Problemf("target %q is none of the plan's targets", specs[i].Target))
		}
	}
	purges, jps := decodeJanitor(p.Janitor, targets)
	a.janitor, ps = purges, append(ps, jps...)
	_, eps := verdict.Decode(p.Expect, a.known())
	return append(ps, eps...)
}

func (a *assembly) decodeWorkloads() (ps config.Problems) {
	switch n := a.plan.Workloads; {
	case n.IsZero():
		return config.Problems{a.plan.Root.Problemf("the plan has no workloads: without load nothing can be proven")}
	case len(n.Items()) == 0:
		return config.Problems{n.Problemf("expected a list of at least one workload: without load nothing can be proven")}
	}
	names := map[string]bool{}
	for _, it := range a.plan.Workloads.Items() {
		var head struct {
			Kind   string
			Target string
		}
		if len(it.Keys()) == 0 {
			ps = append(ps, it.Problemf("expected a workload, as in {kind: zookeeper/setdata, target: zk, rate: 100/s}"))
			continue
		}
		ps = append(ps, it.Field("kind").Decode(&head.Kind)...)
		ps = append(ps, it.Field("target").Decode(&head.Target)...)
		if a.targets[head.Target] == nil && len(a.order) > 0 {
			ps = append(ps, it.Problemf("target %q is none of the plan's targets (%s)", head.Target, strings.Join(a.order, ", ")))
		}
		spec := workloadSpec{Kind: head.Kind, Target: head.Target, Node: it}
		w, wps := zkload.New(head.Kind, it, zkload.Env{Cluster: placeholder, RunID: "check"})
		ps = append(ps, wps...)
		if len(wps) == 0 {
			spec.name, spec.need = w.Name(), zkload.Require(w)
			if names[spec.name] {
				ps = append(ps, it.Problemf("a second workload is called %s; give it another name with name:", spec.name))
			}
			names[spec.name] = true
		}
		a.workloads = append(a.workloads, spec)
	}
	return ps
}

// placeholder stands for the target while its workloads are only looked at.
var placeholder = target.Cluster{Name: "target", Nodes: []target.Node{{ID: "n1", Addrs: []string{"localhost:2181"}}}}

// known are the workloads that expectations may speak of, each with its operations.
func (a *assembly) known() verdict.Known {
	ops := map[string][]string{}
	for _, k := range zkload.Kinds() {
		ops[k.Kind] = k.Ops
	}
	known := verdict.Known{}
	for _, w := range a.workloads {
		if w.name != "" {
			known[w.name] = ops[w.Kind]
		}
	}
	return known
}

func (a *assembly) decodeFaults() (ps config.Problems) {
	n := a.plan.Faults
	if n.IsZero() {
		return nil
	}
	spec, fps := faults.Decode(n)
	a.faults, ps = spec, fps
	if len(fps) > 0 {
		return ps
	}
	a.faultsOn = spec.Target
	switch {
	case a.faultsOn == "" && len(a.order) == 1:
		a.faultsOn = a.order[0]
	case a.faultsOn == "":
		ps = append(ps, n.Problemf("the plan has several targets; say which one the faults are for with target:"))
	case a.targets[a.faultsOn] == nil:
		ps = append(ps, n.Problemf("target %q is none of the plan's targets", a.faultsOn))
	}
	if t := a.targets[a.faultsOn]; t != nil {
		for i, it := range n.Field("mix").Items() {
			if text := t.stranger(spec.Mix[i].Nodes); text != "" {
				ps = append(ps, it.Field("nodes").Problemf("%s", text))
			}
		}
	}
	return ps
}
