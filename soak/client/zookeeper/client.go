package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// Options of a connection.
type Options struct {
	Servers        []string                                                          // host:port; names are resolved at each dial
	SessionTimeout time.Duration                                                     // asked for, default 10s; the server may grant less or more
	OpTimeout      time.Duration                                                     // default 5s: an operation without an answer is abandoned and in doubt
	Buffer         int                                                               // bytes each way, default 64 KiB: the largest request and answer; lists of many children need more
	Dial           func(ctx context.Context, network, addr string) (net.Conn, error) // default: TCP
	Dials          *DialGate                                                         // shared by all connections of a process: bounds the rate of dials, with jitter; nil is unbounded
	OnState        func(State, string)                                               // must not block; every change of session state with the server's address
	Log            func(string)                                                      // rate-limited client log lines; nil drops them (they are counted)
	Order          uint64                                                            // fixes the order in which servers are tried: rotated by Order-1 places; 0 shuffles
}

const (
	defaultSession = 10 * time.Second
	defaultOp      = 5 * time.Second
	defaultBuffer  = 64 << 10
	minBuffer      = 4 << 10
	// abandonedCap is how many calls may be stuck in the library at once before a Conn refuses new ones.
	abandonedCap = 64
)

// State of a session.
type State int

// States. After Expired the same Conn goes on with a new session (SessionID differs).
const (
	Disconnected State = iota
	Connected
	Expired
	Closed
)

// String is the state in lower case.
func (s State) String() string {
	switch s {
	case Disconnected:
		return "disconnected"
	case Connected:
		return "connected"
	case Expired:
		return "expired"
	case Closed:
		return "closed"
	}
	return "unknown"
}

// Stat of a node, as ZooKeeper returns it. Times are milliseconds of the server's wall clock.
type Stat struct {
	Czxid, Mzxid, Pzxid         int64
	Ctime, Mtime                int64
	Version, Cversion, Aversion int32
	EphemeralOwner              int64
	DataLength, NumChildren     int32
}

// Flags of Create.
const (
	Ephemeral = 1
	Sequence  = 2
)

// Conn is one session. All methods are safe for concurrent use, return within OpTimeout (or when ctx ends) whatever
// the server does, and count what they abandon.
type Conn struct {
	opts   Options
	zk     *zk.Conn
	ended  <-chan zk.Event // the library's own event channel: nobody needs its events, its close says that the library's loop is over
	quit   chan struct{}   // closed by Close
	cancel context.CancelFunc
	budget time.Duration // for one dial and handshake

	state  atomic.Int32
	server atomic.Pointer[string]
	fault  atomic.Pointer[fault]
	counts counts
	log    *lines

	mu     sync.Mutex // guards what follows; never held while waiting
	closed bool
	link   *link
	idle   []*executor
	armed  int // watches that are set or about to be
	bytes  int // what re-arming them all takes on the wire

	live    int           // watches that are set
	unarmed chan struct{} // closed when live falls to 0

	work sync.WaitGroup // executors and watch forwarders
}

// fault is a reason for the end of a connection that the library only logs.
type fault struct {
	at   time.Time
	text string
}

// Connect starts a session and returns at once; the first operation waits for it.
// Close ends it. An error means that the options make no sense; no server has been asked yet.
func Connect(o Options) (*Conn, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("connect to zookeeper: no servers; give at least one host:port")
	}
	if o.SessionTimeout <= 0 {
		o.SessionTimeout = defaultSession
	}
	if o.OpTimeout <= 0 {
		o.OpTimeout = defaultOp
	}
	if o.Buffer == 0 {
		o.Buffer = defaultBuffer
	}
	if o.Buffer < minBuffer {
		return nil, fmt.Errorf("connect to zookeeper: buffer of %d bytes; use at least %d", o.Buffer, minBuffer)
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithCancel(context.Background()) // ends dials when Close is called
	c := &Conn{
		opts:   o,
		quit:   make(chan struct{}),
		cancel: cancel,
		budget: dialBudget(o.SessionTimeout, len(o.Servers)),
		log:    newLines(o.Log),
	}
	var err error
	c.zk, c.ended, err = zk.Connect(o.Servers, o.SessionTimeout,
		zk.WithDialer(func(network, addr string, _ time.Duration) (net.Conn, error) { return c.dial(ctx, network, addr) }),
		zk.WithHostProvider(&hosts{fixed: rotated(o.Servers, o.Order)}),
		zk.WithLogger(c.log),
		zk.WithLogInfo(false),
		zk.WithEventCallback(c.onEvent),
		zk.WithMaxBufferSize(o.Buffer),
		zk.WithMaxConnBufferSize(o.Buffer),
	)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("connect to zookeeper: %w", err)
	}
	return c, nil
}

// dialBudget is how long one server may take to accept a connection and answer the handshake: short enough
// that every server gets its turn within the session timeout, so that a stopped one does not cost the session.
func dialBudget(session time.Duration, servers int) time.Duration {
	return min(max(session/time.Duration(servers), 100*time.Millisecond), 2*time.Second)
}

// Create makes a node with an open ACL and returns its path, which differs from path only with the flag Sequence.
func (c *Conn) Create(ctx context.Context, path string, data []byte, flags int32) (string, error) {
	a, err := c.run(ctx, request{op: opCreate, path: path, data: data, arg: flags})
	return a.path, err
}

// Delete removes a node that has no children; version -1 matches any.
func (c *Conn) Delete(ctx context.Context, path string, version int32) error {
	_, err := c.run(ctx, request{op: opDelete, path: path, arg: version})
	return err
}

// Set replaces a node's data; version -1 matches any.
func (c *Conn) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	a, err := c.run(ctx, request{op: opSet, path: path, data: data, arg: version})
	return a.stat, err
}

// Get reads a node's data from the server the session is on, which may be behind the leader (see Sync).
func (c *Conn) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	a, err := c.run(ctx, request{op: opGet, path: path})
	return a.data, a.stat, err
}

// Exists says whether a node is there; a missing node is no error.
func (c *Conn) Exists(ctx context.Context, path string) (bool, Stat, error) {
	a, err := c.run(ctx, request{op: opExists, path: path})
	return a.exists, a.stat, err
}

// ExistsW also sets a one-shot watch; exactly one Event is sent on the channel, which has room for it:
// nobody has to read it. The watch fires when the node is created, changed or deleted.
// Calling it again before the event has come costs another watch; re-arm after the event.
func (c *Conn) ExistsW(ctx context.Context, path string) (bool, Stat, <-chan Event, error) {
	if err := c.reserveWatch(path); err != nil {
		return false, Stat{}, nil, err
	}
	a, err := c.run(ctx, request{op: opExistsW, path: path})
	if err != nil || a.watch == nil {
		c.releaseWatch(path)
		return false, Stat{}, nil, err
	}
	return a.exists, a.stat, c.forward(path, a.watch), nil
}

// Children lists the names below a node, without order.
func (c *Conn) Children(ctx context.Context, path string) ([]string, error) {
	a, err := c.run(ctx, request{op: opChildren, path: path})
	return a.names, err
}

// Sync brings the server this session is on up to the leader; a Get after it sees all acknowledged writes.
func (c *Conn) Sync(ctx context.Context, path string) error {
	_, err := c.run(ctx, request{op: opSync, path: path})
	return err
}

// SessionID is 0 before the first connect and between an expiry and the next session.
func (c *Conn) SessionID() int64 { return c.zk.SessionID() }

// Server is the address of the server the session is or was last on; "" before the first connect.
func (c *Conn) Server() string {
	if s := c.server.Load(); s != nil {
		return *s
	}
	return ""
}

// State of the session now.
func (c *Conn) State() State { return State(c.state.Load()) }

// Abandoned is how many calls are still stuck in the library after their deadline.
func (c *Conn) Abandoned() int { return int(max(c.counts.stuck.Load(), 0)) }
