package zookeeper

import (
	"context"
	"errors"
	"net"
	"time"
)

// Options of a connection.
type Options struct {
	Servers        []string
	SessionTimeout time.Duration                                                     // default 10s
	OpTimeout      time.Duration                                                     // default 5s: an operation without an answer is abandoned and in doubt
	Buffer         int                                                               // bytes each way, default 64 KiB
	Dial           func(ctx context.Context, network, addr string) (net.Conn, error) // default: TCP
	Dials          *DialGate                                                         // shared by all connections of a process: bounds the rate of dials, with jitter; nil is unbounded
	OnState        func(State, string)                                               // must not block; every change of session state with the server's address
	Log            func(string)                                                      // rate-limited client log lines; nil drops them (they are counted)
}

// State of a session.
type State int

// States. After Expired the same Conn goes on with a new session (SessionID differs).
const (
	Disconnected State = iota
	Connected
	Expired
	Closed
)

// Stat of a node, as ZooKeeper returns it.
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

// Errors. Everything an operation returns matches one of these with errors.Is, or is a plain error that names what to do.
var (
	ErrNoNode     = errors.New("node does not exist")
	ErrNodeExists = errors.New("node exists")
	ErrNotEmpty   = errors.New("node has children")
	ErrBadVersion = errors.New("version differs")
	ErrExpired    = errors.New("session expired")
	ErrConnection = errors.New("connection lost")                           // in doubt for writes
	ErrTimeout    = errors.New("no answer within the operation's deadline") // in doubt for writes
	ErrClosed     = errors.New("connection closed")
	ErrAuth       = errors.New("not allowed")
)

// InDoubt says whether a write that returned err may have taken effect all the same.
func InDoubt(err error) bool { panic("contract") }

// Class is a short fixed word for err: "timeout", "connection lost", "expired", "no node", ...
func Class(err error) string { panic("contract") }

// DialGate bounds how many dials a second all connections together make.
type DialGate struct{}

// NewDialGate allows perSecond dials a second on average, each delayed by up to 50 % jitter.
func NewDialGate(perSecond int) *DialGate { panic("contract") }

// Conn is one session. All methods are safe for concurrent use, return within OpTimeout (or when ctx ends) whatever
// the server does, and count what they abandon.
type Conn struct{}

// Connect starts a session and returns at once; the first operation waits for it.
func Connect(o Options) (*Conn, error) { panic("contract") }

func (c *Conn) Create(ctx context.Context, path string, data []byte, flags int32) (string, error) {
	panic("contract")
}
func (c *Conn) Delete(ctx context.Context, path string, version int32) error { panic("contract") }
func (c *Conn) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	panic("contract")
}
func (c *Conn) Get(ctx context.Context, path string) ([]byte, Stat, error)  { panic("contract") }
func (c *Conn) Exists(ctx context.Context, path string) (bool, Stat, error) { panic("contract") }

// ExistsW also sets a one-shot watch; exactly one Event is sent on the channel.
func (c *Conn) ExistsW(ctx context.Context, path string) (bool, Stat, <-chan Event, error) {
	panic("contract")
}
func (c *Conn) Children(ctx context.Context, path string) ([]string, error) { panic("contract") }

// Sync brings the server this session is on up to the leader; a Get after it sees all acknowledged writes.
func (c *Conn) Sync(ctx context.Context, path string) error { panic("contract") }

// SessionID is 0 before the first connect.
func (c *Conn) SessionID() int64 { panic("contract") }

// Server is the address of the server the session is or was last on.
func (c *Conn) Server() string { panic("contract") }

// Abandoned is how many calls are still stuck in the library after their deadline.
func (c *Conn) Abandoned() int { panic("contract") }

// Close ends the session within d; when the server does not answer it lets the session expire and says so.
func (c *Conn) Close(d time.Duration) error { panic("contract") }

// Word sends a four-letter word ("srvr", "mntr", "ruok", "conf") to one server and returns its answer.
// ErrNotWhitelisted says that the server does not allow it.
func Word(ctx context.Context, addr, word string) (string, error) { panic("contract") }

// ErrNotWhitelisted is returned by Word when 4lw.commands.whitelist lacks the word.
var ErrNotWhitelisted = errors.New("four-letter word is not in the server's 4lw.commands.whitelist")

// ServerStatus is what srvr says.
type ServerStatus struct {
	Version     string
	Mode        string // "leader", "follower", "observer", "standalone"
	Zxid        int64
	Nodes       int
	Connections int
}

// Status asks one server by srvr. A server that answers and does not serve returns ErrNotServing.
func Status(ctx context.Context, addr string) (ServerStatus, error) { panic("contract") }

// ErrNotServing is returned by Status while a server has no quorum.
var ErrNotServing = errors.New("server is not serving requests")
