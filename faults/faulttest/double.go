package faulttest

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"nightshift/soak/target"
)

// Double is a host without processes, for tests in virtual time. It is a faults.Host, and its Cluster a target.Lookup.
// The first node that serves is the leader.
type Double struct {
	Boots time.Duration                 // from a start until the server serves
	Deaf  bool                          // signals have no effect: faults do not bite
	Stuck bool                          // SIGCONT and starts have no effect: faults do not heal
	On    func(node string, state byte) // called when a process changes to 'S', 'T' or 0 (gone); may be nil

	mu    sync.Mutex
	boot  string
	ticks uint64
	nodes []*patient
}

type patient struct {
	node  target.Node
	state byte // 0: gone
	since time.Time
}

// NewDouble makes nodes with the given ids, all serving.
func NewDouble(ids ...string) *Double {
	boot, err := target.BootID()
	if err != nil {
		panic(err) // no test can go on without it
	}
	d := &Double{boot: boot}
	for i, id := range ids {
		p := &patient{node: target.Node{ID: id, System: "zookeeper", Addrs: []string{fmt.Sprintf("127.0.0.1:%d", i+1)},
			Start: target.Start{Owner: "double"}}}
		d.nodes = append(d.nodes, p)
		d.start(p)
		p.since = time.Time{}
	}
	return d
}

// start gives the node a new process. d.mu is held, or nobody else knows d.
func (d *Double) start(p *patient) {
	d.ticks++
	p.node.Proc = target.ProcRef{Pid: 1000 + int(d.ticks), Ticks: d.ticks, BootID: d.boot}
	p.state, p.since = 'S', time.Now()
}

func (d *Double) find(match func(*patient) bool) *patient {
	for _, p := range d.nodes {
		if match(p) {
			return p
		}
	}
	return nil
}

func (d *Double) serves(p *patient) bool { return p.state == 'S' && time.Since(p.since) >= d.Boots }

// change calls fn with the node that fits and tells On of a change of state, outside of the lock.
func (d *Double) change(match func(*patient) bool, fn func(*patient) error) error {
	d.mu.Lock()
	p := d.find(match)
	if p == nil {
		d.mu.Unlock()
		return target.ErrGone
	}
	before := p.state
	err := fn(p)
	id, after := p.node.ID, p.state
	d.mu.Unlock()
	if d.On != nil && before != after {
		d.On(id, after)
	}
	return err
}

// Signal implements faults.Host.
func (d *Double) Signal(ref target.ProcRef, sig syscall.Signal) error {
	return d.change(func(p *patient) bool { return p.node.Proc == ref && p.state != 0 }, func(p *patient) error {
		switch {
		case sig == syscall.SIGKILL && !d.Deaf:
			p.state = 0
		case sig == syscall.SIGSTOP && !d.Deaf:
			p.state = 'T'
		case sig == syscall.SIGCONT && !d.Stuck && p.state == 'T':
			p.state = 'S'
		}
		return nil
	})
}

// Unstick clears Stuck while faults run.
func (d *Double) Unstick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Stuck = false
}

// Kill ends the process of a node, as a stranger would.
func (d *Double) Kill(id string) {
	_ = d.change(func(p *patient) bool { return p.node.ID == id }, func(p *patient) error { p.state = 0; return nil })
}

// State implements faults.Host.
func (d *Double) State(ref target.ProcRef) (byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.find(func(p *patient) bool { return p.node.Proc == ref && p.state != 0 })
	if p == nil {
		return 0, target.ErrGone
	}
	return p.state, nil
}

// Start implements faults.Host.
func (d *Double) Start(_ context.Context, n target.Node) error {
	return d.change(func(p *patient) bool { return p.node.ID == n.ID }, func(p *patient) error {
		if p.state == 0 && !d.Stuck {
			d.start(p)
		}
		return nil
	})
}

// Lookup implements faults.Host.
func (d *Double) Lookup(ctx context.Context, n target.Node) (target.Node, error) {
	c, err := d.Cluster(ctx)
	for _, m := range c.Nodes {
		if m.ID == n.ID {
			return m, err
		}
	}
	return target.Node{}, fmt.Errorf("look up %s: unknown", n.ID)
}

// Serving implements faults.Host.
func (d *Double) Serving(_ context.Context, n target.Node) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.find(func(p *patient) bool { return p.node.ID == n.ID }); p == nil || !d.serves(p) {
		return fmt.Errorf("%s does not serve", n.ID)
	}
	return nil
}

// Cluster is a target.Lookup.
func (d *Double) Cluster(context.Context) (target.Cluster, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := target.Cluster{Name: "zk", System: "zookeeper", Lab: true}
	role := target.Leader
	for _, p := range d.nodes {
		n := p.node
		n.Role = target.Unknown
		if d.serves(p) {
			n.Role, role = role, target.Follower
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c, nil
}
