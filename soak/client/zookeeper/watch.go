package zookeeper

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// Event of a watch.
type Event struct {
	Type EventType
	Path string
	At   time.Time // when it arrived, with monotonic reading
	Err  error     // the watch was lost (session expired, connection closed)
}

// EventType of a watch.
type EventType int

// Types of watch events.
const (
	NodeCreated EventType = iota + 1
	NodeDeleted
	DataChanged
	ChildrenChanged
	WatchLost
)

// String is the type in lower case.
func (t EventType) String() string {
	switch t {
	case NodeCreated:
		return "created"
	case NodeDeleted:
		return "deleted"
	case DataChanged:
		return "data changed"
	case ChildrenChanged:
		return "children changed"
	case WatchLost:
		return "watch lost"
	}
	return "unknown"
}

// rearmCost is what a watch takes in the request that re-arms all watches after a reconnect.
func rearmCost(path string) int { return 4 + len(path) }

// reserveWatch counts a watch that is about to be set. The library re-arms after a reconnect in requests of up to
// 128 KiB; one that does not fit into the send buffer is dropped with a log line, and all its watches with it.
func (c *Conn) reserveWatch(path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if need := c.bytes + rearmCost(path) + 64; need > c.opts.Buffer && c.opts.Buffer < 132<<10 {
		return &opError{opExistsW.String(), path, nil,
			fmt.Errorf("%d watches can't be re-armed within a buffer of %d bytes; set Options.Buffer to 132 KiB or use more connections", c.armed+1, c.opts.Buffer), cantHold}
	}
	c.armed++
	c.bytes += rearmCost(path)
	return nil
}

func (c *Conn) releaseWatch(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed--
	c.bytes -= rearmCost(path)
}

// forward hands the library's event on as ours. Its goroutine ends when the event comes, when the library
// says that the watch is lost (expiry, end of the loop), or with Close.
func (c *Conn) forward(path string, from <-chan zk.Event) <-chan Event {
	to := make(chan Event, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		to <- Event{Type: WatchLost, Path: path, At: time.Now(), Err: ErrClosed}
		return to
	}
	if c.live++; c.live == 1 {
		c.unarmed = make(chan struct{})
	}
	c.work.Go(func() {
		select {
		case ev := <-from:
			to <- c.translate(path, ev)
		case <-c.quit:
			to <- Event{Type: WatchLost, Path: path, At: time.Now(), Err: ErrClosed}
		}
		c.releaseWatch(path)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.live--; c.live == 0 {
			close(c.unarmed)
		}
	})
	return to
}

// holdLimit bounds holdAnswers, should the library one day set no watches again.
const holdLimit = time.Second

// holdAnswers keeps the first answer after a reconnect from the library until it has written the request that
// sets its watches again. That request says up to which transaction the client has seen everything, and the
// library takes this from the last answer: one that was queued while the connection was down and is answered
// first would hide the changes that the watches have missed.
func (c *Conn) holdAnswers(rearmed <-chan struct{}) {
	c.mu.Lock()
	unarmed, none := c.unarmed, c.live == 0
	c.mu.Unlock()
	if none {
		return
	}
	t := time.NewTimer(holdLimit)
	defer t.Stop()
	select {
	case <-rearmed:
	case <-unarmed: // the last one has fired: there is nothing to set
	case <-c.quit:
	case <-t.C:
	}
}

// adopt keeps count of a watch whose caller has left before the answer came.
func (c *Conn) adopt(path string, from <-chan zk.Event) {
	c.mu.Lock()
	c.armed++
	c.bytes += rearmCost(path)
	c.mu.Unlock()
	c.forward(path, from)
}

func (c *Conn) translate(path string, ev zk.Event) Event {
	out := Event{Path: path, At: time.Now()}
	switch ev.Type {
	case zk.EventNodeCreated:
		out.Type = NodeCreated
	case zk.EventNodeDeleted:
		out.Type = NodeDeleted
	case zk.EventNodeDataChanged:
		out.Type = DataChanged
	case zk.EventNodeChildrenChanged:
		out.Type = ChildrenChanged
	default:
		out.Type, out.Err = WatchLost, ErrClosed
		if ev.Err != nil {
			out.Err, _, _ = mapError(ev.Err)
		}
		if out.Err == nil {
			out.Err = ErrConnection
		}
	}
	return out
}
