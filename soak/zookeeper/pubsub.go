package zookeeper

import (
	"context"
	"sync"
	"time"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/record"
)

// subscribers of each path. The paths of one publisher share theirs.
const subscribers = 3

// sessions of one group: the publisher and its subscribers.
const sessions = 1 + subscribers

func pubSubDefaults() pubsubParams {
	return pubsubParams{params: defaults(KindPubSub), Publishers: 5}
}

// pubSub is the workload of sessions that watch and one that creates what they watch.
// Session 4*g is the publisher of group g, the three after it are its subscribers.
type pubSub struct {
	*crew
	get     bool          // read the data after each event
	overdue time.Duration // an event later than this after the create was acknowledged is looked into
	rounds  uint64        // 0: until the run ends
}

func newPubSub(n config.Node, env Env) (soak.Workload, config.Problems) {
	p := pubSubDefaults()
	ps := n.Decode(&p)
	ps = append(ps, count(n, "publishers", p.Publishers)...)
	if p.EventTimeout < 0 {
		ps = append(ps, place(n, "event_timeout").Problemf("must not be negative"))
	}
	if p.EventTimeout == 0 {
		p.EventTimeout = p.Session + p.Timeout
	}
	c, more := newCrew(env, p.params, n, p.Publishers)
	return &pubSub{crew: c, get: p.GetAfterNotify, overdue: p.EventTimeout, rounds: p.Rounds}, append(ps, more...)
}

// Requirements implements Sized.
func (p *pubSub) Requirements() Requirements {
	return p.spec.requirements(p.dir(), p.spec.workers*sessions, 0.5)
}

// Setup connects all sessions and makes a directory for each publisher.
func (p *pubSub) Setup(ctx context.Context) error {
	return p.setup(ctx, p.spec.workers*sessions, p.watchBuffer(),
		func(ctx context.Context, i int, conn *zkclient.Conn) error {
			if i%sessions == 0 {
				return ensureNode(ctx, conn, p.workerDir(i/sessions), nil)
			}
			_, _, err := conn.Exists(ctx, p.dir())
			return err
		})
}

// watchBuffer is large enough for the request that sets all watches of a session again after a reconnect;
// the library splits it at 128 KiB, and loses what does not fit into the buffer. Watches whose answer was
// given up count, too, hence twice the paths.
func (p *pubSub) watchBuffer() int {
	if 2*p.spec.paths*(len(p.workerDir(0))+len("/p00000")+4) > smallBuffer {
		return max(p.buffer(), 136<<10)
	}
	return p.buffer()
}

// Run implements soak.Workload. No group creates before all are subscribed; then each goes on by itself,
// so that one that is held up by a fault does not hold up the others.
func (p *pubSub) Run(ctx context.Context, rec *soak.Recorder) error {
	end, done := p.begin(ctx)
	defer done()
	ops := groupOps{
		subscribe: rec.Op("subscribe", 0), create: rec.Op("create", p.spec.size), event: rec.Op("event", p.spec.size),
		data: rec.Op("data", p.spec.size), del: rec.Op("delete", 0),
	}
	gate := &gate{all: make(chan struct{}), missing: p.spec.workers}
	pool := p.pool()
	var wg sync.WaitGroup
	for i := range p.spec.workers {
		g := newGroup(p, i, ops, p.filler(i, pool))
		for _, s := range g.subs {
			wg.Go(func() { s.work(ctx) })
		}
		wg.Go(func() { g.work(ctx, gate, end) })
	}
	wg.Wait()
	return nil
}

// Check implements soak.Workload: what was found while running, and the nodes that outlived their session.
func (p *pubSub) Check(ctx context.Context) ([]record.Finding, error) {
	return p.checkEphemerals(ctx)
}

type groupOps struct{ subscribe, create, event, data, del *soak.Op }

// gate opens when all groups have come to it.
type gate struct {
	mu      sync.Mutex
	missing int
	begin   time.Duration
	all     chan struct{}
}

// pass blocks until all have called it, and returns when that was. It is false when ctx ended first.
func (g *gate) pass(ctx context.Context, clock record.Clock) (time.Duration, bool) {
	g.mu.Lock()
	g.missing--
	if g.missing == 0 {
		g.begin = clock.Now()
		close(g.all)
	}
	g.mu.Unlock()
	select {
	case <-g.all:
		return g.begin, true
	case <-ctx.Done():
		return 0, false
	}
}

// tally is what the subscribers of a group have done, counted for each path. The publisher waits for it.
type tally struct {
	mu    sync.Mutex
	armed []int    // subscribers whose watch is set
	done  []int    // subscribers that are through with the last create
	gone  []uint64 // sequence whose delete was acknowledged last
	sig   chan struct{}
}

func newTally(paths int) *tally {
	return &tally{
		armed: make([]int, paths), done: make([]int, paths), gone: make([]uint64, paths), sig: make(chan struct{}, 1),
	}
}

func (t *tally) add(counts []int, path int) {
	t.mu.Lock()
	counts[path]++
	t.mu.Unlock()
	select {
	case t.sig <- struct{}{}:
	default:
	}
}

func (t *tally) clear(counts []int, path int) {
	t.mu.Lock()
	counts[path] = 0
	t.mu.Unlock()
}

// wait blocks until all subscribers have counted up to path; it is false when ctx ended first.
func (t *tally) wait(ctx context.Context, counts []int, path int) bool {
	for {
		t.mu.Lock()
		ready := counts[path] == subscribers
		t.mu.Unlock()
		if ready {
			return true
		}
		select {
		case <-t.sig:
		case <-ctx.Done():
			return false
		}
	}
}

// deleted notes that the delete of seq was acknowledged.
func (t *tally) deleted(path int, seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone[path] = seq
}

// undone says whether the delete of seq had been acknowledged. It says so once.
func (t *tally) undone(path int, seq uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq == 0 || t.gone[path] != seq {
		return false
	}
	t.gone[path] = 0
	return true
}
