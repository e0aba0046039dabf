package zookeeper

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

const (
	linkBuffer     = 4 << 10
	handshakeLeast = 20      // version, timeout, session and the length of the password
	handshakeLimit = 1 << 10 // the answer has 37 bytes; anything much longer is not ZooKeeper
	frameHead      = 16      // xid, zxid, error
	opCloseSession = 0xfffffff5
	opSetWatches   = 101
)

// link is the library's connection to one server. It owns what the library gets wrong about deadlines:
// connecting and the whole handshake share one budget (the library waits 6.7 session timeouts for the first
// four bytes and for ever for the rest); after it the library's read deadline, set before each frame, holds for the frame.
//
// It checks the length of each frame before the library allocates or slices by it: a server of another kind
// behind the port would cost gigabytes or the process. And it reads through a buffer, one system call a frame.
//
// The library reads from one goroutine at a time and writes from one at a time.
type link struct {
	net.Conn
	in      *bufio.Reader
	addr    string
	limit   int           // largest answer
	slack   time.Duration // a deadline is not moved for less
	onFault func(string)
	held    func(rearmed <-chan struct{}) // waits until watches are set again

	shaken  bool // the handshake is read whole; the reader's
	left    int  // bytes of the current frame not yet handed out; the reader's
	readBy  time.Time
	writeBy time.Time
	open    atomic.Bool   // shaken, for the writer
	closing atomic.Uint32 // xid of the request to close the session
	said    atomic.Bool   // the server has answered it
	rearmed chan struct{} // closed when the request that sets watches again is written
	armed   bool          // it is closed; the writer's
	passed  bool          // the reader has been held once
}

func (c *Conn) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	// The library forgets the connection on which it learnt that its session is gone.
	c.dropLink()
	if err := c.opts.Dials.wait(ctx); err != nil {
		return nil, err
	}
	c.counts.dials.Add(1)
	deadline := time.Now().Add(c.budget)
	dctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	raw, err := c.opts.Dial(dctx, network, addr)
	if err != nil {
		c.counts.dialsFailed.Add(1)
		return nil, err
	}
	if err := raw.SetDeadline(deadline); err != nil {
		_ = raw.Close() // it was never used
		return nil, fmt.Errorf("set deadline of handshake: %w", err)
	}
	l := &link{
		Conn:    raw,
		in:      bufio.NewReaderSize(raw, linkBuffer),
		addr:    addr,
		limit:   c.opts.Buffer,
		slack:   c.opts.SessionTimeout / 64,
		onFault: func(s string) { c.fault.Store(&fault{at: time.Now(), text: s}) },
		held:    c.holdAnswers,
		rearmed: make(chan struct{}),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		_ = raw.Close() // it was never used
		return nil, ctx.Err()
	}
	c.link = l
	return l, nil
}

// dropLink closes the current connection and returns it; nil when there is none.
func (c *Conn) dropLink() *link {
	c.mu.Lock()
	l := c.link
	c.link = nil
	c.mu.Unlock()
	if l != nil {
		_ = l.Conn.Close() // given up: what it says does not matter
	}
	return l
}

// Read hands out the current frame and never more. A failed read closes the connection: the library waits for its
// writer before it reconnects, and that may be stuck in a full socket.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.read(p)
	if err != nil {
		_ = l.Conn.Close() // it has failed already
	}
	return n, err
}

func (l *link) read(p []byte) (int, error) {
	if l.left == 0 {
		if err := l.begin(); err != nil {
			return 0, err
		}
	}
	n, err := l.in.Read(p[:min(len(p), l.left)])
	l.left -= n
	if l.left == 0 && !l.shaken && err == nil {
		l.shaken = true
		l.open.Store(true)
		err = l.Conn.SetDeadline(time.Time{})
	}
	return n, err
}

// begin waits for the next frame and checks its length.
func (l *link) begin() error {
	head, err := l.in.Peek(4)
	if err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(head))
	switch {
	case !l.shaken && (n < handshakeLeast || n > handshakeLimit):
		return l.fail(fmt.Sprintf("%s does not answer like a ZooKeeper server", l.addr))
	case l.shaken && n > l.limit:
		return l.fail(fmt.Sprintf("answer of %d bytes is larger than the buffer; set Options.Buffer above it", n))
	case l.shaken && n < frameHead:
		return l.fail(fmt.Sprintf("%s sent a frame of %d bytes, which is no answer of ZooKeeper", l.addr, n))
	}
	if xid := l.closing.Load(); xid != 0 && l.shaken {
		if head, err = l.in.Peek(4 + frameHead); err != nil {
			return err
		}
		if binary.BigEndian.Uint32(head[4:]) == xid {
			l.said.Store(true)
		}
	}
	if l.shaken && !l.passed {
		l.passed = true
		l.held(l.rearmed)
	}
	l.left = 4 + n
	return nil
}

func (l *link) fail(text string) error {
	l.onFault(text)
	return fmt.Errorf("read frame: %s", text)
}

// Write sends one frame; the library never splits or joins them.
func (l *link) Write(p []byte) (int, error) {
	if l.open.Load() && len(p) >= 12 {
		switch binary.BigEndian.Uint32(p[8:]) {
		case opCloseSession:
			l.closing.Store(binary.BigEndian.Uint32(p[4:]))
		case opSetWatches:
			if !l.armed {
				l.armed = true
				close(l.rearmed)
			}
		}
	}
	return l.Conn.Write(p)
}

// SetReadDeadline is ignored during the handshake, which has its own. Later the library clears the deadline
// after each frame and sets it before the next; only what matters reaches the poller.
func (l *link) SetReadDeadline(t time.Time) error {
	if !l.shaken || t.IsZero() || near(t, l.readBy, l.slack) {
		return nil
	}
	l.readBy = t
	return l.Conn.SetReadDeadline(t)
}

// SetWriteDeadline is like SetReadDeadline.
func (l *link) SetWriteDeadline(t time.Time) error {
	if !l.open.Load() || t.IsZero() || near(t, l.writeBy, l.slack) {
		return nil
	}
	l.writeBy = t
	return l.Conn.SetWriteDeadline(t)
}

func near(t, set time.Time, slack time.Duration) bool {
	d := t.Sub(set)
	return d >= 0 && d < slack
}
