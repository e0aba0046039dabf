package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/record"
)

func setDataDefaults() loadParams {
	return loadParams{params: defaults(KindSetData), Connections: 10}
}

// setData is the workload of sessions that set the data of their paths, one after the other.
type setData struct {
	*crew
	workers []*setWorker // made by Setup, kept for Check
}

func newSetData(n config.Node, env Env) (soak.Workload, config.Problems) {
	p := setDataDefaults()
	ps := n.Decode(&p)
	ps = append(ps, count(n, "connections", p.Connections)...)
	c, more := newCrew(env, p.params, n, p.Connections)
	return &setData{crew: c}, append(ps, more...)
}

// Requirements implements Sized.
func (s *setData) Requirements() Requirements {
	return s.spec.requirements(s.dir(), s.spec.workers, 1)
}

// Setup connects all sessions and makes their nodes, with a first value of sequence 0.
func (s *setData) Setup(ctx context.Context) error {
	if s.workers == nil {
		pool := s.pool()
		for i := range s.spec.workers {
			w := &setWorker{id: i, crew: s.crew, fill: s.filler(i, pool)}
			for _, p := range s.paths(i) {
				w.values = append(w.values, value{path: p})
			}
			s.workers = append(s.workers, w)
		}
	}
	return s.setup(ctx, s.spec.workers, s.buffer(),
		func(ctx context.Context, i int, conn *zkclient.Conn) error { return s.workers[i].prepare(ctx, conn) })
}

// Run implements soak.Workload.
func (s *setData) Run(ctx context.Context, rec *soak.Recorder) error {
	end, done := s.begin(ctx)
	defer done()
	op, begin := rec.Op("set", s.spec.size), s.env.Clock.Now()
	var wg sync.WaitGroup
	for i, w := range s.workers {
		w.conn, w.slots, w.op = s.members[i].Conn, newSlots(s.spec, i, s.spec.workers, begin), op
		wg.Go(func() { w.work(ctx, end) })
	}
	wg.Wait()
	return nil
}

// Check implements soak.Workload: every path must hold the last acknowledged value, or a later one that was sent.
// It can be called again after the servers were restarted.
func (s *setData) Check(ctx context.Context) ([]record.Finding, error) {
	conn, err := s.takeOver(ctx)
	if err != nil {
		return s.book.findings(), err
	}
	defer dismiss(conn)
	book := s.book.fork()
	// Later reads of this session can't fall behind the sync: a client is never connected to a server
	// that has seen less than the client has.
	if err := persist(ctx, func() error { return conn.Sync(ctx, s.dir()) }); err != nil {
		return book.findings(), fmt.Errorf("sync: %w", err)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, w := range s.workers {
		for i := range w.values {
			g.Go(func() error { return w.check(gctx, conn, i, book) })
		}
	}
	err = g.Wait()
	return book.findings(), err
}

// value is the book-keeping about one path.
type value struct {
	path    string
	sent    uint64 // sequence of the last set that was sent
	acked   uint64 // sequence of the last set that was acknowledged
	version int32  // of the node after that
	doubts  int    // sets in doubt since
	gone    bool   // the node was missing; said once
}

type setWorker struct {
	id     int
	crew   *crew
	conn   *zkclient.Conn
	fill   *filler
	slots  *slots
	op     *soak.Op
	values []value
	cur    int
}

// prepare creates the worker's nodes, or takes them as an earlier, interrupted Setup left them.
func (w *setWorker) prepare(ctx context.Context, conn *zkclient.Conn) error {
	if err := ensureNode(ctx, conn, w.crew.workerDir(w.id), nil); err != nil {
		return err
	}
	for i := range w.values {
		v := &w.values[i]
		if err := ensureNode(ctx, conn, v.path, w.fill.next(w.crew.unit(w.id, i), v.sent, 0)); err != nil {
			return err
		}
		_, stat, err := conn.Exists(ctx, v.path)
		if err != nil {
			return fmt.Errorf("look up %s: %w", v.path, err)
		}
		v.version = stat.Version
	}
	return nil
}

func (w *setWorker) work(ctx context.Context, end *workTime) {
	octx := context.WithoutCancel(ctx) // an operation that was begun ends by its own deadline
	for {
		intended, ok := w.slots.wait(ctx, w.crew.env.Clock, end.ended, w.op.Shed)
		if !ok {
			return
		}
		if !w.step(octx, intended) && w.slots.closed() && !sleep(ctx, pause) {
			return // without the pause a closed loop would spin on errors that come at once
		}
	}
}

func (w *setWorker) step(ctx context.Context, intended time.Duration) bool {
	v := &w.values[w.cur]
	v.sent++
	data := w.fill.next(w.crew.unit(w.id, w.cur), v.sent, intended)
	clock := w.crew.env.Clock
	start := clock.Now()
	stat, err := w.conn.Set(ctx, v.path, data, -1)
	w.op.Record(soak.Sample{
		Worker: w.id, Path: v.path, Seq: v.sent, Intended: intended, Start: start, End: clock.Now(),
		Outcome: outcome(err), Err: zkclient.Class(err), Node: w.conn.Server(),
	})
	lost, recovered := v.answered(err, stat.Version)
	for range recovered {
		w.crew.book.add(CodeRecovered, start, "%s: a set before %d", v.path, v.sent)
	}
	if lost != "" {
		w.crew.book.add(CodeWriteLost, start, "%s: %s", v.path, lost)
	}
	w.cur = (w.cur + 1) % len(w.values)
	return err == nil
}

// answered takes in what a set returned. Each set that takes effect raises the node's version by one, so the version
// of an acknowledged set tells how many of those in doubt before it had taken effect, and whether an
// acknowledged one had not.
func (v *value) answered(err error, version int32) (lost string, recovered int) {
	switch {
	case err == nil:
		extra := int(version) - int(v.version) - 1
		if extra < 0 {
			lost = fmt.Sprintf("set %d was acknowledged with version %d, expected at least %d: an acknowledged set before it had no effect",
				v.sent, version, v.version+1)
		}
		recovered = min(max(extra, 0), v.doubts)
		v.acked, v.version, v.doubts = v.sent, version, 0
	case errors.Is(err, zkclient.ErrNoNode) && !v.gone:
		v.gone = true
		lost = fmt.Sprintf("expected set %d or later, found no node", v.acked)
	case zkclient.InDoubt(err):
		v.doubts++
	}
	return lost, recovered
}

// check reads one path and judges it.
func (w *setWorker) check(ctx context.Context, conn *zkclient.Conn, i int, book *ledger) error {
	v := w.values[i]
	var data []byte
	err := persist(ctx, func() (err error) {
		data, _, err = conn.Get(ctx, v.path)
		return err
	})
	if err != nil && !errors.Is(err, zkclient.ErrNoNode) {
		return fmt.Errorf("read %s: %w", v.path, err)
	}
	code, text := v.judge(data, err == nil, runHash(w.crew.env.RunID, w.crew.spec.name), uint32(w.crew.unit(w.id, i)))
	if code != "" && !(code == CodeWriteLost && v.gone) {
		book.add(code, w.crew.env.Clock.Now(), "%s: %s", v.path, text)
	}
	return nil
}

// judge says what a path that holds data means: nothing, or a code and what was expected and found.
// A value that was sent and never acknowledged is fine: it was in doubt and has taken effect.
func (v value) judge(data []byte, exists bool, run, unit uint32) (code, text string) {
	if !exists {
		return CodeWriteLost, fmt.Sprintf("expected set %d or later, found no node", v.acked)
	}
	h, err := ParseHeader(data)
	switch {
	case err != nil:
		return CodeDataWrong, err.Error()
	case h.Run != run || h.Unit != unit:
		return CodeDataWrong, fmt.Sprintf("expected data of path %d of this run, found path %d of run hash %08x", unit, h.Unit, h.Run)
	case h.Seq < v.acked:
		return CodeWriteLost, fmt.Sprintf("expected set %d or later, found %d", v.acked, h.Seq)
	case h.Seq > v.sent:
		return CodeDataWrong, fmt.Sprintf("set %d was found, only %d were sent", h.Seq, v.sent)
	case h.Seq > v.acked:
		return CodeRecovered, fmt.Sprintf("set %d, in doubt, had taken effect", h.Seq)
	}
	return "", ""
}
