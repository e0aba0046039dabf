package zookeeper

import (
	"context"
	"errors"
	"sync"
	"time"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/record"
)

func ephemeralDefaults() loadParams {
	return loadParams{params: defaults(KindEphemeral), Connections: 10}
}

// ephemeral is the workload of sessions that create and delete ephemeral nodes.
type ephemeral struct{ *crew }

func newEphemeral(n config.Node, env Env) (soak.Workload, config.Problems) {
	p := ephemeralDefaults()
	ps := n.Decode(&p)
	ps = append(ps, count(n, "connections", p.Connections)...)
	c, more := newCrew(env, p.params, n, p.Connections)
	return &ephemeral{crew: c}, append(ps, more...)
}

// Requirements implements Sized.
func (e *ephemeral) Requirements() Requirements {
	return e.spec.requirements(e.dir(), e.spec.workers, 0.5)
}

// Setup connects all sessions and makes a directory for each.
func (e *ephemeral) Setup(ctx context.Context) error {
	return e.setup(ctx, e.spec.workers, e.buffer(),
		func(ctx context.Context, i int, conn *zkclient.Conn) error {
			return ensureNode(ctx, conn, e.workerDir(i), nil)
		})
}

// Run implements soak.Workload.
func (e *ephemeral) Run(ctx context.Context, rec *soak.Recorder) error {
	end, done := e.begin(ctx)
	defer done()
	create, del := rec.Op("create", e.spec.size), rec.Op("delete", 0)
	pool, begin := e.pool(), e.env.Clock.Now()
	var wg sync.WaitGroup
	for i, m := range e.members {
		w := &ephemeralWorker{
			id: i, crew: e.crew, conn: m.Conn, fill: e.filler(i, pool), slots: newSlots(e.spec, i, e.spec.workers, begin),
			create: create, del: del,
		}
		for _, p := range e.paths(i) {
			w.paths = append(w.paths, node{path: p})
		}
		wg.Go(func() { w.work(ctx, end) })
	}
	wg.Wait()
	return nil
}

// Check implements soak.Workload: what was found while running, and the nodes that outlived their session.
func (e *ephemeral) Check(ctx context.Context) ([]record.Finding, error) {
	return e.checkEphemerals(ctx)
}

type ephemeralWorker struct {
	id    int
	crew  *crew
	conn  *zkclient.Conn
	fill  *filler
	slots *slots
	paths []node
	cur   int

	create, del *soak.Op
}

func (w *ephemeralWorker) work(ctx context.Context, end *workTime) {
	octx := context.WithoutCancel(ctx) // an operation that was begun ends by its own deadline
	for {
		intended, ok := w.slots.wait(ctx, w.crew.env.Clock, end.ended, w.shed)
		if !ok {
			return
		}
		if !w.step(octx, intended) && w.slots.closed() && !sleep(ctx, pause) {
			return // without the pause a closed loop would spin on errors that come at once
		}
	}
}

// shed divides what was dropped between the two operations, which take turns.
func (w *ephemeralWorker) shed(n uint64) {
	a, b := w.create, w.del
	if w.paths[w.cur].state != absent {
		a, b = b, a
	}
	a.Shed((n + 1) / 2)
	b.Shed(n / 2)
}

// step does one operation and says whether it went well.
func (w *ephemeralWorker) step(ctx context.Context, intended time.Duration) bool {
	n := &w.paths[w.cur]
	if n.state == absent {
		return w.doCreate(ctx, n, intended)
	}
	return w.doDelete(ctx, n, intended)
}

func (w *ephemeralWorker) doCreate(ctx context.Context, n *node, intended time.Duration) bool {
	data := w.fill.next(w.crew.unit(w.id, w.cur), n.seq+1, intended)
	session, start := w.conn.SessionID(), w.crew.env.Clock.Now()
	_, err := w.conn.Create(ctx, n.path, data, zkclient.Ephemeral)
	w.record(w.create, n.seq+1, intended, start, outcome(err), err)
	n.created(err, session, w.conn.SessionID())
	if errors.Is(err, zkclient.ErrNodeExists) {
		w.crew.examine(ctx, w.conn, n, uint32(w.crew.unit(w.id, w.cur)), start)
	}
	if n.state == absent {
		w.advance()
	}
	return err == nil
}

func (w *ephemeralWorker) doDelete(ctx context.Context, n *node, intended time.Duration) bool {
	start := w.crew.env.Clock.Now()
	err := w.conn.Delete(ctx, n.path, -1)
	v := n.deleted(err, w.conn.SessionID())
	w.record(w.del, n.seq, intended, start, v.outcome, err)
	w.crew.enter(n, v, start)
	w.advance()
	return v.outcome == record.OK
}

func (w *ephemeralWorker) advance() { w.cur = (w.cur + 1) % len(w.paths) }

func (w *ephemeralWorker) record(op *soak.Op, seq uint64, intended, start time.Duration, out record.Outcome, err error) {
	s := soak.Sample{
		Worker: w.id, Path: w.paths[w.cur].path, Seq: seq, Intended: intended, Start: start, End: w.crew.env.Clock.Now(),
		Outcome: out, Node: w.conn.Server(),
	}
	if out != record.OK {
		s.Err = zkclient.Class(err)
	}
	op.Record(s)
}
