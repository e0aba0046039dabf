package zookeeper

import (
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// counts are a connection's counters.
type counts struct {
	dials, dialsFailed            atomic.Int64
	connects, disconnects, expiry atomic.Int64
	notices                       atomic.Int64
	stuck, abandoned, refused     atomic.Int64
}

// Counts is what happened on a Conn since Connect.
type Counts struct {
	Dials, DialsFailed               int64 // attempts, and those that found no connection
	Connects, Disconnects, Expired   int64 // sessions established or re-established, connections lost, sessions lost
	Notices                          int64 // watch events the server sent
	Abandoned, Refused               int64 // calls given up on; calls refused because too many were stuck
	Watches                          int   // armed now
	LogLines, LogSuppressed, LogKept int64 // lines the library wrote, of these not handed on, handed on
}

// Counts is a snapshot of the counters.
func (c *Conn) Counts() Counts {
	c.mu.Lock()
	armed := c.armed
	c.mu.Unlock()
	total, kept := c.log.counts()
	n := &c.counts
	return Counts{
		Dials: n.dials.Load(), DialsFailed: n.dialsFailed.Load(),
		Connects: n.connects.Load(), Disconnects: n.disconnects.Load(), Expired: n.expiry.Load(),
		Notices:   n.notices.Load(),
		Abandoned: n.abandoned.Load(), Refused: n.refused.Load(),
		Watches:  armed,
		LogLines: total, LogSuppressed: total - kept, LogKept: kept,
	}
}

// onEvent runs on the library's goroutines, sometimes under its locks: it must neither block nor call the library.
func (c *Conn) onEvent(ev zk.Event) {
	if ev.Type != zk.EventSession {
		if ev.Type != zk.EventNotWatching {
			c.counts.notices.Add(1)
		}
		return
	}
	switch ev.State {
	case zk.StateHasSession:
		addr := ev.Server
		c.server.Store(&addr)
		c.counts.connects.Add(1)
		c.enter(Connected, addr)
	case zk.StateDisconnected:
		// The library says so after each failed attempt; only the first is a change.
		if c.State() != Disconnected {
			if c.State() == Connected {
				c.counts.disconnects.Add(1)
			}
			c.enter(Disconnected, ev.Server)
		}
	case zk.StateExpired:
		c.counts.expiry.Add(1)
		c.enter(Expired, ev.Server)
	}
}

func (c *Conn) enter(s State, addr string) {
	for {
		was := c.state.Load()
		if State(was) == Closed {
			return
		}
		if c.state.CompareAndSwap(was, int32(s)) {
			break
		}
	}
	if c.opts.OnState != nil {
		c.opts.OnState(s, addr)
	}
}
