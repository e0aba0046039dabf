package zookeeper

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	zkclient "nightshift/soak/client/zookeeper"
	"nightshift/soak/config"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// closeLimit is how long the end of one session may take before it is left to expire.
const closeLimit = 4 * time.Second

// Buffers of a connection, each way.
const (
	smallBuffer = 64 << 10
	adminBuffer = 4 << 20 // lists of many children
)

// crew is what all workloads of this package are built on: sessions, directories, findings.
type crew struct {
	env  Env
	spec spec
	root root
	book *ledger

	busy    chan struct{} // holds one token while Run works
	mu      sync.Mutex
	members []*member
}

// member is one session of the crew.
type member struct {
	*zkclient.Conn
	links atomic.Uint64 // how often the session was connected to a server or cut off from one
}

// linked is a count that stays the same as long as the session stays on one connection.
func (m *member) linked() uint64 { return m.links.Load() }

func newCrew(env Env, p params, n config.Node, workers int) (*crew, config.Problems) {
	s := p.spec(workers)
	r, err := newRoot(prefixOf(env.Cluster), env.RunID)
	ps := p.check(n)
	if err != nil {
		ps = append(ps, place(n, "target").Problemf("%v", err))
	}
	if len(addresses(env.Cluster)) == 0 {
		ps = append(ps, place(n, "target").Problemf("target %q has no server addresses", env.Cluster.Name))
	}
	return &crew{env: env, spec: s, root: r, book: newLedger(s.name, env.Clock, env.Emit), busy: make(chan struct{}, 1)}, ps
}

func prefixOf(c target.Cluster) string {
	if c.Prefix == "" {
		return "/nightshift"
	}
	return c.Prefix
}

func addresses(c target.Cluster) []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Addrs...)
	}
	return all
}

// Name is the workload's name in reports.
func (c *crew) Name() string { return c.spec.name }

func (c *crew) dir() string { return c.root.dir() + "/" + c.spec.name }

// workerDir is the directory of one modifying session.
func (c *crew) workerDir(i int) string { return fmt.Sprintf("%s/w%05d", c.dir(), i) }

// paths of one modifying session.
func (c *crew) paths(worker int) []string {
	all := make([]string, c.spec.paths)
	for i := range all {
		all[i] = fmt.Sprintf("%s/p%05d", c.workerDir(worker), i)
	}
	return all
}

func (c *crew) unit(worker, path int) int { return worker*c.spec.paths + path }

func (c *crew) pool() []byte {
	return newPool(c.env.Seed.Stream(c.spec.name+"/pool"), c.spec.size)
}

func (c *crew) filler(worker int, pool []byte) *filler {
	return newFiller(runHash(c.env.RunID, c.spec.name), pool,
		c.env.Seed.Stream(c.spec.name+"/worker/"+strconv.Itoa(worker)), c.spec.size)
}

// buffer that a session of the crew needs for its payload.
func (c *crew) buffer() int { return max(smallBuffer, c.spec.size+smallBuffer/2) }

func (e Env) options(session, timeout time.Duration, buffer int) zkclient.Options {
	return zkclient.Options{
		Servers: addresses(e.Cluster), SessionTimeout: session, OpTimeout: timeout,
		Buffer: buffer, Dial: e.Dial, Dials: e.Dials, Log: e.Log,
	}
}

// connectAdmin opens a session for the tree's upkeep and waits until a server answers.
func connectAdmin(ctx context.Context, e Env, session, timeout, patience time.Duration) (*zkclient.Conn, error) {
	conn, err := zkclient.Connect(e.options(session, timeout, adminBuffer))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", e.where(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = persist(ctx, func() error {
		_, _, err := conn.Exists(ctx, "/")
		return err
	})
	if err != nil {
		dismiss(conn)
		return nil, fmt.Errorf("no server of %s serves within %s; start the ensemble, or correct the addresses of the target: %w",
			e.where(), patience, err)
	}
	return conn, nil
}

func (e Env) where() string {
	return fmt.Sprintf("target %q (%s)", e.Cluster.Name, strings.Join(addresses(e.Cluster), ", "))
}

// dismiss ends a session that owns nothing: it does no harm if it has to expire.
func dismiss(conn *zkclient.Conn) { _ = conn.Close(closeLimit) }

// patience is how long no session may come up before setting up fails.
func (c *crew) patience() time.Duration { return c.spec.session + 2*c.spec.timeout }

func (c *crew) admin(ctx context.Context) (*zkclient.Conn, error) {
	return connectAdmin(ctx, c.env, c.spec.session, c.spec.timeout, c.patience())
}

// setup makes the workload's directory and n sessions with buffers of so many bytes; first(i) is the first work of session i
// and must be idempotent.
func (c *crew) setup(ctx context.Context, n, buffer int, first func(ctx context.Context, i int, conn *zkclient.Conn) error) error {
	conn, err := c.admin(ctx)
	if err != nil {
		return err
	}
	defer dismiss(conn)
	if err := c.root.ensure(ctx, conn, c.dir()); err != nil {
		return err
	}
	if err := c.open(n, buffer); err != nil {
		return err
	}
	return c.join(ctx, first)
}

// open starts the sessions that do not exist yet.
func (c *crew) open(n, buffer int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.members); i < n; i++ {
		m := &member{}
		o := c.env.options(c.spec.session, c.spec.timeout, buffer)
		o.Order = uint64(i) + 1 // spreads the sessions evenly over the servers
		o.OnState = func(zkclient.State, string) { m.links.Add(1) }
		conn, err := zkclient.Connect(o)
		if err != nil {
			return fmt.Errorf("connect to %s: %w", c.env.where(), err)
		}
		m.Conn = conn
		c.members = append(c.members, m)
	}
	return nil
}

// join waits until every session has done its first work. It gives up when for patience none got on.
func (c *crew) join(ctx context.Context, first func(context.Context, int, *zkclient.Conn) error) error {
	var last atomic.Int64 // when a session got on
	var up atomic.Int64
	last.Store(int64(c.env.Clock.Now()))
	errs := make([]error, len(c.members))
	var wg sync.WaitGroup
	for i, m := range c.members {
		wg.Go(func() {
			for {
				err := first(ctx, i, m.Conn)
				if err == nil {
					last.Store(int64(c.env.Clock.Now()))
					up.Add(1)
					return
				}
				late := c.env.Clock.Now()-time.Duration(last.Load()) > c.patience()
				if !transient(err) || late || !sleep(ctx, pause) {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("only %d of %d sessions came up on %s; the servers may limit them (maxClientCnxns in zoo.cfg, 60 per client by default), or this host its open files (ulimit -n): %w",
				up.Load(), len(c.members), c.env.where(), err)
		}
	}
	return nil
}

// Close ends all sessions. A session that no server takes leave of expires by itself.
func (c *crew) Close() error {
	c.mu.Lock()
	members := c.members
	c.members = nil
	c.mu.Unlock()
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() { errs[i] = m.Conn.Close(closeLimit) })
	}
	wg.Wait()
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("close %d of %d sessions of %s, they expire within %s: %w",
			len(failed), len(members), c.spec.name, c.spec.session, failed[0])
	}
	return nil
}

// begin says that Run has begun; done must be called when it returns.
func (c *crew) begin(ctx context.Context) (end *workTime, done func()) {
	c.busy <- struct{}{}
	end = newWorkTime(ctx, c.env.Clock)
	return end, func() { end.stop(); <-c.busy }
}

// takeOver ends the workload's sessions, waits for a Run that did not end in time, and opens a session for checks.
func (c *crew) takeOver(ctx context.Context) (*zkclient.Conn, error) {
	c.leave()
	select {
	case c.busy <- struct{}{}:
		<-c.busy
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the workload to end: %w", ctx.Err())
	}
	return c.admin(ctx)
}

// leave ends the sessions before a check. Whether that went well shows in what they leave behind.
func (c *crew) leave() {
	if err := c.Close(); err != nil && c.env.Emit != nil {
		c.env.Emit(record.Note{Stamp: c.env.Clock.Stamp(), Lane: c.spec.name, Level: "info", Text: err.Error()})
	}
}

// readOutcome is that of a read, which is never in doubt.
func readOutcome(err error) record.Outcome {
	if err != nil {
		return record.Failed
	}
	return record.OK
}

// outcome of a write that returned err.
func outcome(err error) record.Outcome {
	switch {
	case err == nil:
		return record.OK
	case zkclient.InDoubt(err):
		return record.InDoubt
	}
	return record.Failed
}

// workTime remembers when the run ended, so that what was due later is not counted as shed.
type workTime struct {
	clock record.Clock
	end   atomic.Int64
	stop  func() bool
}

func newWorkTime(ctx context.Context, clock record.Clock) *workTime {
	w := &workTime{clock: clock}
	w.stop = context.AfterFunc(ctx, func() { w.end.Store(int64(clock.Now())) })
	return w
}

// ended is when ctx ended; now when that has not come through yet.
func (w *workTime) ended() time.Duration {
	if t := w.end.Load(); t != 0 {
		return time.Duration(t)
	}
	return w.clock.Now()
}
