package zkstub

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// outLimit bounds what may wait for a client that does not read.
const outLimit = 1 << 16

// conn is one client's connection: a goroutine reads and serves requests in order, another writes answers and
// notifications in order.
type conn struct {
	e    *Ensemble
	node *node
	raw  net.Conn
	gone chan struct{}

	dead    atomic.Bool // written under e.mu
	sess    *session    // under e.mu
	watched map[string]struct{}

	qmu    sync.Mutex // never held while waiting
	queue  [][]byte   // a nil entry closes the connection
	signal chan struct{}
}

// accept starts serving a connection; e.mu is held.
func (e *Ensemble) accept(n *node, raw net.Conn) {
	c := &conn{e: e, node: n, raw: raw, gone: make(chan struct{}), signal: make(chan struct{}, 1), watched: map[string]struct{}{}}
	n.conns[c] = struct{}{}
	e.work.Go(c.write)
	e.work.Go(func() {
		c.read()
		e.mu.Lock()
		defer e.mu.Unlock()
		c.cut()
	})
}

// cut ends the connection at once; e.mu is held. Its session goes on.
func (c *conn) cut() {
	if c.dead.Swap(true) {
		return
	}
	close(c.gone)
	_ = c.raw.Close() // a connection that is cut has nothing to say
	delete(c.node.conns, c)
	c.e.watches.forget(c)
	if c.sess != nil && c.sess.conn == c {
		c.sess.conn = nil
	}
}

// send queues a frame; nil closes the connection after what is queued.
func (c *conn) send(b []byte) {
	c.qmu.Lock()
	defer c.qmu.Unlock()
	if len(c.queue) < outLimit {
		c.queue = append(c.queue, b)
	}
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

func (c *conn) write() {
	var batch []byte
	for {
		select {
		case <-c.signal:
		case <-c.gone:
			return
		}
		if !c.wakeful() {
			return
		}
		c.qmu.Lock()
		queue := c.queue
		c.queue = nil
		c.qmu.Unlock()
		batch = batch[:0]
		last := false
		for _, b := range queue {
			last = last || b == nil
			batch = append(batch, b...)
		}
		_, err := c.raw.Write(batch)
		if last || err != nil {
			c.e.mu.Lock()
			c.cut()
			c.e.mu.Unlock()
			return
		}
	}
}

// wakeful waits while the node is paused; false says that the connection is over.
func (c *conn) wakeful() bool {
	for c.node.asleep.Load() {
		c.e.mu.Lock()
		changed := c.e.changed
		asleep := c.node.asleep.Load()
		c.e.mu.Unlock()
		if !asleep {
			break
		}
		select {
		case <-changed:
		case <-c.gone:
			return false
		}
	}
	return !c.dead.Load()
}

// read serves the connection to its end.
func (c *conn) read() {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c.raw, head); err != nil {
		return
	}
	if slices.Contains(words, string(head)) {
		if c.wakeful() {
			c.answerWord(string(head))
			c.send(nil)
			<-c.gone
		}
		return
	}
	for first := true; ; first = false {
		n := binary.BigEndian.Uint32(head)
		if n > maxFrame {
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(c.raw, body); err != nil {
			return
		}
		serve := c.handshake
		if !first {
			serve = c.request
		}
		if !c.wakeful() || !c.rest() || !serve(body) {
			return
		}
		if _, err := io.ReadFull(c.raw, head); err != nil {
			return
		}
	}
}

// rest is the time a request takes.
func (c *conn) rest() bool {
	c.e.mu.Lock()
	d := c.e.o.Latency + c.node.slow
	c.e.mu.Unlock()
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.gone:
		return false
	}
}

// when runs do under e.mu as soon as ready says so; false says that the connection is over.
func (c *conn) when(ready func() bool, do func()) bool {
	for {
		c.e.mu.Lock()
		if c.dead.Load() {
			c.e.mu.Unlock()
			return false
		}
		if !c.node.asleep.Load() && ready() {
			do()
			dead := c.dead.Load()
			c.e.mu.Unlock()
			return !dead
		}
		changed := c.e.changed
		c.e.mu.Unlock()
		select {
		case <-changed:
		case <-c.gone:
			return false
		}
	}
}

func (c *conn) sessionID() int64 {
	if c.sess == nil {
		return 0
	}
	return c.sess.id
}
