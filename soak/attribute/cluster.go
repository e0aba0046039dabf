package attribute

import (
	"cmp"
	"slices"
	"time"

	"nightshift/soak/record"
)

// stall is one operation that stalled, failed or is in doubt.
type stall struct {
	record.SlowOp
	excess time.Duration
}

func compareStalls(x, y stall) int {
	return cmp.Or(cmp.Compare(y.excess, x.excess), compareOps(x.SlowOp, y.SlowOp))
}

func compareOps(x, y record.SlowOp) int {
	return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Workload, y.Workload), cmp.Compare(x.Op, y.Op),
		cmp.Compare(x.Worker, y.Worker), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.End, y.End))
}

// cluster is a spike that still grows.
type cluster struct {
	Spike
	worst     []stall
	controls  []record.SlowOp
	workloads map[string]bool
	nodes     map[string]bool
}

func (c *cluster) keep(o stall) {
	c.Excess += o.excess
	c.workloads[o.Workload] = true
	if o.Node != "" {
		c.nodes[o.Node] = true
	}
	c.worst = append(c.worst, o)
	if len(c.worst) >= 2*keptOps {
		c.trim()
	}
}

func (c *cluster) trim() {
	slices.SortFunc(c.worst, compareStalls)
	c.worst = slices.Clip(c.worst[:min(len(c.worst), keptOps)])
}

// compareClusters puts the worst first.
func compareClusters(x, y *cluster) int {
	return cmp.Or(cmp.Compare(y.Excess, x.Excess), cmp.Compare(x.From, y.From), cmp.Compare(x.System, y.System))
}

func (c *cluster) join(o *cluster) {
	c.To = max(c.To, o.To)
	c.Excess, c.Ops, c.Failed = c.Excess+o.Excess, c.Ops+o.Ops, c.Failed+o.Failed
	c.Longest = max(c.Longest, o.Longest)
	c.worst, c.controls = append(c.worst, o.worst...), append(c.controls, o.controls...)
	for w := range o.workloads {
		c.workloads[w] = true
	}
	for n := range o.nodes {
		c.nodes[n] = true
	}
	c.trim()
}

// spike is what is reported of the cluster.
func (c *cluster) spike() Spike {
	s := c.Spike
	for _, o := range c.worst {
		s.Slow = append(s.Slow, o.SlowOp)
	}
	slices.SortFunc(c.controls, compareOps)
	s.Controls = c.controls[:min(len(c.controls), keptControls)]
	for w := range c.workloads {
		s.Workloads = append(s.Workloads, w)
	}
	for n := range c.nodes {
		s.Nodes = append(s.Nodes, n)
	}
	slices.Sort(s.Workloads)
	slices.Sort(s.Nodes)
	return s
}
