package zookeeper

import (
	"context"
	"errors"
	"time"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak"
	"nightshift/soak/record"
)

// order is what a publisher tells its subscribers. After each expect comes its result.
type order struct {
	kind     orderKind
	path     int
	seq      uint64
	intended time.Duration // of the create
	start    time.Duration // of the create's call
	created  certainty
}

type orderKind uint8

const (
	arm    orderKind = iota // watch the path
	expect                  // the node is about to be created
	result                  // what became of the create
)

// certainty that a node was created.
type certainty uint8

const (
	certain  certainty = iota // an event must come
	never                     // none must come
	doubtful                  // the run ended before it could be found out
)

// group is a publisher with its subscribers.
type group struct {
	ps    *pubSub
	id    int
	conn  *member
	ops   groupOps
	fill  *filler
	slots *slots
	nodes []node
	tally *tally
	subs  []*subscriber
}

// backlog bounds how far a publisher may be ahead of a subscriber.
const backlog = 256

func newGroup(p *pubSub, id int, ops groupOps, fill *filler) *group {
	g := &group{ps: p, id: id, conn: p.members[id*sessions], ops: ops, fill: fill, tally: newTally(p.spec.paths)}
	paths := p.paths(id)
	for _, path := range paths {
		g.nodes = append(g.nodes, node{path: path})
	}
	for i := 1; i < sessions; i++ {
		g.subs = append(g.subs, &subscriber{
			ps: p, group: g, id: id*sessions + i, conn: p.members[id*sessions+i], paths: paths,
			watches: make([]watch, len(paths)), orders: make(chan order, min(3*len(paths), backlog)),
		})
	}
	return g
}

func (g *group) tell(o order) {
	for _, s := range g.subs {
		s.orders <- o
	}
}

// work runs rounds: all subscribe, every node is created and kept until all events are in, every node is deleted.
// Creates and deletes follow one schedule. A path is watched again as soon as it is deleted, so the subscribers
// have the time of all other deletes to get ready for the next round.
func (g *group) work(ctx context.Context, gate *gate, end *workTime) {
	defer func() {
		for _, s := range g.subs {
			close(s.orders)
		}
	}()
	for i := range g.nodes {
		g.tell(order{kind: arm, path: i})
	}
	for i := range g.nodes {
		if !g.tally.wait(ctx, g.tally.armed, i) {
			return
		}
	}
	begin, ok := gate.pass(ctx, g.ps.env.Clock)
	if !ok {
		return
	}
	g.slots = newSlots(g.ps.spec, g.id, g.ps.spec.workers, begin)
	for round := uint64(0); g.ps.rounds == 0 || round < g.ps.rounds; round++ {
		if !g.publish(ctx, end) || !g.withdraw(ctx, end) {
			if ctx.Err() != nil {
				g.slots.finish(end.ended(), g.ops.create.Shed)
			}
			return
		}
	}
}

// publish creates all nodes and waits until the subscribers are through. It is false when the run or quota has ended.
func (g *group) publish(ctx context.Context, end *workTime) bool {
	for i := range g.nodes {
		if !g.tally.wait(ctx, g.tally.armed, i) {
			return false
		}
		intended, ok := g.slots.wait(ctx, g.ps.env.Clock, end.ended, g.ops.create.Shed)
		if !ok {
			return false
		}
		if !g.create(ctx, i, intended) && g.slots.closed() {
			sleep(ctx, pause) // a closed loop would spin on errors that come at once
		}
	}
	for i := range g.nodes {
		if !g.tally.wait(ctx, g.tally.done, i) {
			return false
		}
	}
	return true
}

// withdraw deletes all nodes and has their paths watched again.
func (g *group) withdraw(ctx context.Context, end *workTime) bool {
	for i := range g.nodes {
		if g.nodes[i].state != absent {
			intended, ok := g.slots.wait(ctx, g.ps.env.Clock, end.ended, g.ops.del.Shed)
			if !ok || !g.remove(ctx, i, intended) {
				return false
			}
		}
		g.tally.clear(g.tally.armed, i)
		g.tell(order{kind: arm, path: i})
	}
	return true
}

// create makes a node and says whether it may be there.
func (g *group) create(ctx context.Context, i int, intended time.Duration) bool {
	n, clock := &g.nodes[i], g.ps.env.Clock
	seq := n.seq + 1
	data := g.fill.next(g.ps.unit(g.id, i), seq, intended)
	g.tally.clear(g.tally.done, i)
	session, start := g.conn.SessionID(), clock.Now()
	g.tell(order{kind: expect, path: i, seq: seq, intended: intended, start: start})
	_, err := g.conn.Create(context.WithoutCancel(ctx), n.path, data, zkclient.Ephemeral)
	g.record(g.ops.create, i, seq, intended, start, outcome(err), err)
	n.created(err, session, g.conn.SessionID())
	o := order{kind: result, path: i, seq: seq, created: certain}
	switch {
	case errors.Is(err, zkclient.ErrNodeExists):
		g.ps.examine(context.WithoutCancel(ctx), g.conn.Conn, n, uint32(g.ps.unit(g.id, i)), start)
		o.created = never
	case n.state == unknown:
		o.created = g.settle(ctx, n, start)
	case n.state == absent:
		o.created = never
	}
	g.tell(o)
	return o.created != never
}

// settle finds out whether a create in doubt took effect: a read after a sync comes after it in the order of the
// session. It asks until there is an answer or the run ends.
func (g *group) settle(ctx context.Context, n *node, start time.Duration) certainty {
	var data []byte
	var stat zkclient.Stat
	err := persist(ctx, func() (err error) {
		if err = g.conn.Sync(ctx, n.path); err == nil {
			data, stat, err = g.conn.Get(ctx, n.path)
		}
		return err
	})
	if errors.Is(err, zkclient.ErrNoNode) {
		n.state, n.doubt = absent, noDoubt
		return never
	}
	if err != nil {
		return doubtful
	}
	if h, err := ParseHeader(data); err != nil || h.Seq != n.seq {
		return never // not this create's; the delete that follows removes it
	}
	n.state, n.doubt, n.session = present, noDoubt, stat.EphemeralOwner
	g.ps.book.add(CodeRecovered, start, "%s: create %d", n.path, n.seq)
	return certain
}

// remove deletes a node and repeats that until it is gone for sure. It is false when the run ended before.
// Only the first attempt follows the schedule and is recorded; the others serve the harness.
func (g *group) remove(ctx context.Context, i int, intended time.Duration) bool {
	n, octx := &g.nodes[i], context.WithoutCancel(ctx)
	for attempt := 0; n.state != absent; attempt++ {
		if attempt > 0 && !sleep(ctx, pause) {
			return false
		}
		start := g.ps.env.Clock.Now()
		err := g.conn.Delete(octx, n.path, -1)
		v := n.deleted(err, g.conn.SessionID())
		if attempt == 0 {
			g.record(g.ops.del, i, n.seq, intended, start, v.outcome, err)
		}
		g.ps.enter(n, v, start)
		if err == nil {
			g.tally.deleted(i, n.seq)
		}
	}
	return true
}

func (g *group) record(op *soak.Op, i int, seq uint64, intended, start time.Duration, out record.Outcome, err error) {
	s := soak.Sample{
		Worker: g.id * sessions, Path: g.nodes[i].path, Seq: seq, Intended: intended, Start: start, End: g.ps.env.Clock.Now(),
		Outcome: out, Node: g.conn.Server(),
	}
	if out != record.OK {
		s.Err = zkclient.Class(err)
	}
	op.Record(s)
}
