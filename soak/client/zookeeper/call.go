package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

type opcode int

const (
	opCreate opcode = iota
	opDelete
	opSet
	opGet
	opExists
	opExistsW
	opChildren
	opSync
)

func (o opcode) String() string {
	return [...]string{"create", "delete", "set", "get", "look up", "watch", "list", "sync"}[o]
}

type request struct {
	op   opcode
	path string
	data []byte
	arg  int32 // version or flags
}

type answer struct {
	path   string
	data   []byte
	stat   Stat
	exists bool
	names  []string
	watch  <-chan zk.Event
	err    error // the library's
}

// executor is a goroutine that makes one blocking call of the library at a time. It exists so that the caller can
// leave at its deadline; it is kept for the next call, so that a call costs two hand-overs and no allocation of its own.
//
// It belongs to its caller from take to put; a caller that leaves CASes state to given up, and from then on
// the executor belongs to itself, until the library lets go.
type executor struct {
	state atomic.Int32
	req   request
	buf   []byte // own copy of the data: the library may read it after the caller has left
	ans   answer
	in    chan struct{}
	done  chan struct{}
	timer *time.Timer
}

const (
	pending int32 = iota
	finished
	givenUp
)

// maxKeptData bounds what an idle executor holds on to.
const maxKeptData = 64 << 10

// run makes one call and returns at its answer, at OpTimeout, or when ctx ends, whichever is first.
func (c *Conn) run(ctx context.Context, q request) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, &opError{q.op.String(), q.path, ErrTimeout, err, cantHold}
	}
	// Rest of a request: length, header, two lengths, ACL, flags. Checked here because the library may panic on
	// a request that ends exactly at the end of its buffer.
	if n := len(q.path) + len(q.data) + 128; n > c.opts.Buffer {
		return answer{}, &opError{q.op.String(), q.path, nil,
			fmt.Errorf("request of about %d bytes is larger than the buffer of %d; set Options.Buffer above it", n, c.opts.Buffer), cantHold}
	}
	e, err := c.take(q)
	if err != nil {
		return answer{}, err
	}
	start := e.begin(q, c.opts.OpTimeout)
	var cause error
	select {
	case <-e.done:
	case <-e.timer.C:
		cause = c.leave(e, fmt.Errorf("gave up after %v", c.opts.OpTimeout))
	case <-ctx.Done():
		cause = c.leave(e, ctx.Err())
	}
	if cause != nil {
		return answer{}, &opError{q.op.String(), q.path, ErrTimeout, cause, mayHold}
	}
	e.timer.Stop()
	a := e.ans
	c.put(e)
	if a.err != nil {
		return answer{}, c.failure(q, a.err, start)
	}
	return a, nil
}

// failure maps the library's error and adds what it only logged.
func (c *Conn) failure(q request, err error, start time.Time) error {
	kind, cause, d := mapError(err)
	if errors.Is(kind, ErrConnection) {
		select {
		case <-c.quit:
			kind = ErrClosed
		default:
			if f := c.fault.Load(); f != nil && !f.at.Before(start) {
				cause = fmt.Errorf("%s", f.text)
			}
		}
	}
	return &opError{q.op.String(), q.path, kind, cause, d}
}

// take hands out an idle executor or starts one.
func (c *Conn) take(q request) (*executor, error) {
	if n := c.counts.stuck.Load(); n >= abandonedCap {
		c.counts.refused.Add(1)
		return nil, &opError{q.op.String(), q.path, ErrTimeout,
			fmt.Errorf("%d earlier calls are still stuck; not sent", n), cantHold}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, &opError{q.op.String(), q.path, ErrClosed, nil, cantHold}
	}
	if n := len(c.idle); n > 0 {
		e := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return e, nil
	}
	e := &executor{in: make(chan struct{}, 1), done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	c.work.Go(func() { c.execute(e) })
	return e, nil
}

// put gives an executor back, or ends it when the connection is closed.
func (c *Conn) put(e *executor) {
	e.req, e.ans = request{}, answer{}
	if cap(e.buf) > maxKeptData {
		e.buf = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= abandonedCap {
		close(e.in)
		return
	}
	c.idle = append(c.idle, e)
}

// begin hands the request over and starts the clock.
func (e *executor) begin(q request, timeout time.Duration) time.Time {
	e.req = q
	if q.data != nil { // nil stays nil: ZooKeeper tells no data from empty data
		if e.buf == nil {
			e.buf = make([]byte, 0, len(q.data))
		}
		e.buf = append(e.buf[:0], q.data...)
		e.req.data = e.buf
	}
	e.state.Store(pending)
	e.timer.Reset(timeout)
	e.in <- struct{}{}
	return time.Now()
}

// leave gives the call up and returns why, or nil when the answer came first.
func (c *Conn) leave(e *executor, why error) error {
	if e.state.CompareAndSwap(pending, givenUp) {
		c.counts.stuck.Add(1)
		c.counts.abandoned.Add(1)
		return why
	}
	<-e.done
	return nil
}

// execute is the executor's goroutine.
func (c *Conn) execute(e *executor) {
	defer e.timer.Stop()
	for range e.in {
		e.ans = c.invoke(e.req)
		if e.state.CompareAndSwap(pending, finished) {
			e.done <- struct{}{}
			continue
		}
		if e.ans.watch != nil {
			c.adopt(e.req.path, e.ans.watch)
		}
		c.counts.stuck.Add(-1)
		c.put(e)
	}
}

// invoke makes the blocking call.
func (c *Conn) invoke(q request) (a answer) {
	var st *zk.Stat
	switch q.op {
	case opCreate:
		a.path, a.err = c.zk.Create(q.path, q.data, q.arg, zk.WorldACL(zk.PermAll))
	case opDelete:
		a.err = c.zk.Delete(q.path, q.arg)
	case opSet:
		st, a.err = c.zk.Set(q.path, q.data, q.arg)
	case opGet:
		a.data, st, a.err = c.zk.Get(q.path)
	case opExists:
		a.exists, st, a.err = c.zk.Exists(q.path)
	case opExistsW:
		a.exists, st, a.watch, a.err = c.zk.ExistsW(q.path)
	case opChildren:
		a.names, _, a.err = c.zk.Children(q.path)
	case opSync:
		_, a.err = c.zk.Sync(q.path)
	}
	if st != nil && a.err == nil {
		a.stat = Stat{
			Czxid: st.Czxid, Mzxid: st.Mzxid, Pzxid: st.Pzxid,
			Ctime: st.Ctime, Mtime: st.Mtime,
			Version: st.Version, Cversion: st.Cversion, Aversion: st.Aversion,
			EphemeralOwner: st.EphemeralOwner,
			DataLength:     st.DataLength, NumChildren: st.NumChildren,
		}
	}
	return a
}
