package zkstub

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Options of an ensemble. The zero value is three nodes in memory that write no files.
type Options struct {
	Nodes     int              // default 3; a single one is standalone and needs no election
	Dir       string           // where each node writes n<ID>/version-2; "" writes nothing
	SnapCount int              // like snapCount of the server, default 100000: a snapshot every SnapCount/2 to SnapCount transactions
	PreAlloc  int64            // bytes by which a log file grows, default 64 KiB (the server's is 64 MiB)
	Seed      uint64           // of the moments of snapshots
	Election  time.Duration    // how long nobody serves after the leader has gone, default 200ms; standalone: none
	Detect    time.Duration    // how long a paused node is still counted as there, default 2s
	Latency   time.Duration    // of each request, default 0. A closed loop in virtual time needs it
	Tick      time.Duration    // default 2s: a session's timeout is kept within 2 to 20 of it
	Words     []string         // four-letter words that are allowed; nil allows all
	Now       func() time.Time // stamps nodes and transactions, default time.Now; timers always run on the package time
	Listen    bool             // also listen on 127.0.0.1; see TCP
}

// Ensemble is the stand-in. Its methods are safe for concurrent use.
type Ensemble struct {
	o    Options
	quit chan struct{}
	wake chan struct{} // stirs tend
	work sync.WaitGroup

	mu       sync.Mutex // guards all below, and the nodes; never held while waiting
	nodes    []*node
	leader   *node
	electAt  time.Time // zero: no election is under way
	epoch    int64
	zxid     int64
	last     int64 // the last transaction's; zxid is ahead of it after an election
	opened   int64
	tree     *tree
	sessions map[int64]*session
	watches  watches
	changed  chan struct{} // closed and replaced when somebody's condition has changed
	closed   bool
	err      error // the first failure to write files
	backlog  backlog
	defects
}

// node is one server.
type node struct {
	id      int
	addr    string // in-memory
	conns   map[*conn]struct{}
	running bool
	asleep  atomic.Bool // paused; written under mu
	since   time.Time   // of the pause
	deposed bool        // lost its place in the ensemble while paused
	slow    time.Duration
	files   *files // nil: none
	at      int64  // last transaction in its files
	tcp     string
	ln      net.Listener
	packets int64
}

// New makes an ensemble that serves. Close ends it.
func New(o Options) (*Ensemble, error) {
	o = o.withDefaults()
	e := &Ensemble{
		o:        o,
		quit:     make(chan struct{}),
		wake:     make(chan struct{}, 1),
		tree:     newTree(),
		sessions: map[int64]*session{},
		watches:  newWatches(),
		changed:  make(chan struct{}),
		defects:  newDefects(),
	}
	for id := 1; id <= o.Nodes; id++ {
		n := &node{id: id, addr: fmt.Sprintf("n%d:2181", id), conns: map[*conn]struct{}{}, running: true}
		e.nodes = append(e.nodes, n)
		if o.Dir != "" {
			f, err := newFiles(filepath.Join(o.Dir, fmt.Sprintf("n%d", id)), id, o)
			if err != nil {
				return nil, fmt.Errorf("make data directory of node %d: %w", id, err)
			}
			n.files = f
			// A server that finds no data writes its empty tree (FileTxnSnapLog.restore).
			if err := f.snapshot(0, e.tree, e.sessions); err != nil {
				return nil, err
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if o.Listen {
		for _, n := range e.nodes {
			if err := e.listen(n); err != nil {
				e.cutAll()
				return nil, err
			}
		}
	}
	e.elect()
	if e.err != nil {
		e.cutAll()
		return nil, e.err
	}
	e.work.Go(e.tend)
	return e, nil
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if o.Nodes <= 0 {
		o.Nodes = 3
	}
	if o.SnapCount < 2 {
		o.SnapCount = 100000
	}
	if o.PreAlloc <= 0 {
		o.PreAlloc = 64 << 10
	}
	set(&o.Election, 200*time.Millisecond)
	set(&o.Detect, 2*time.Second)
	set(&o.Tick, 2*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Dir is the version-2 directory of a node, for logs and snapshots both; its parent is the dataDir. "" without files.
func (e *Ensemble) Dir(id int) string {
	if n, err := e.node(id); err == nil && n.files != nil {
		return n.files.dir
	}
	return ""
}

// tend does what is due by time: elections, expiries.
func (e *Ensemble) tend() {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-e.wake:
		case <-e.quit:
			return
		}
		e.mu.Lock()
		now := time.Now()
		e.review(now)
		e.expire(now)
		next := e.nextDue(now)
		e.mu.Unlock()
		t.Reset(max(next.Sub(now), time.Millisecond))
	}
}

// nextDue is when tend has to look again at the latest.
func (e *Ensemble) nextDue(now time.Time) time.Time {
	next := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	sooner(e.electAt)
	for _, n := range e.nodes {
		if n.asleep.Load() {
			sooner(n.since.Add(e.o.Detect))
		}
	}
	if e.canWrite() {
		for _, s := range e.sessions {
			sooner(s.heard.Add(s.timeout))
		}
	}
	return next
}

// stir makes tend look now.
func (e *Ensemble) stir() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Err is the first failure to write files; the node it happened on has stopped, like a server whose disk is full.
func (e *Ensemble) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Close cuts all connections, ends everything that was started, and returns Err.
func (e *Ensemble) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.quit)
		e.cutAll()
	}
	e.mu.Unlock()
	e.work.Wait()
	return e.Err()
}

func (e *Ensemble) cutAll() {
	for _, n := range e.nodes {
		n.running = false
		for c := range n.conns {
			c.cut()
		}
		if n.ln != nil {
			_ = n.ln.Close() // nobody dials it any more
		}
		if n.files != nil {
			e.fail(n, n.files.close())
		}
	}
	e.announce()
}

// announce wakes everybody who waits for a change.
func (e *Ensemble) announce() {
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *Ensemble) node(id int) (*node, error) {
	if id < 1 || id > len(e.nodes) {
		return nil, fmt.Errorf("no node %d; there are 1 to %d", id, len(e.nodes))
	}
	return e.nodes[id-1], nil
}

var errClosed = errors.New("ensemble is closed")
