package zkstub

import (
	"encoding/binary"
	"errors"
	"math"
)

// Codes of requests and transactions (ZooDefs.OpCode).
const (
	opCreate        = 1
	opDelete        = 2
	opExists        = 3
	opGetData       = 4
	opSetData       = 5
	opGetACL        = 6
	opGetChildren   = 8
	opSync          = 9
	opPing          = 11
	opGetChildren2  = 12
	opCheck         = 13
	opMulti         = 14
	opCreate2       = 15
	opAuth          = 100
	opSetWatches    = 101
	opCreateSession = -10
	opCloseSession  = -11
	opError         = -1
)

// code is an error as the protocol has it (KeeperException.Code).
type code int32

const (
	ok                    code = 0
	codeRuntime           code = -2 // of the operations of a multi after the one that failed
	codeMarshalling       code = -5
	codeUnimplemented     code = -6
	codeBadArguments      code = -8
	codeNoNode            code = -101
	codeBadVersion        code = -103
	codeEphemeralNoKids   code = -108
	codeNodeExists        code = -110
	codeNotEmpty          code = -111
	codeSessionExpired    code = -112
	xidNotification            = -1
	maxFrame                   = 1 << 20 // jute.maxbuffer of the server
	flagEphemeral              = 1
	flagSequence               = 2
	permAll                    = 31
	eventCreated               = 1
	eventDeleted               = 2
	eventData                  = 3
	eventChildren              = 4
	stateSyncConnected         = 3
	passwordLength             = 16
	handshakeLength            = 44
	handshakeWithReadOnly      = 45
)

// wire builds what jute would: big-endian integers, strings and buffers with an int32 length.
type wire []byte

func (w *wire) i32(v int32)  { *w = binary.BigEndian.AppendUint32(*w, uint32(v)) }
func (w *wire) i64(v int64)  { *w = binary.BigEndian.AppendUint64(*w, uint64(v)) }
func (w *wire) str(s string) { w.i32(int32(len(s))); *w = append(*w, s...) }
func (w *wire) raw(b []byte) { *w = append(*w, b...) }
func (w *wire) code(c code)  { w.i32(int32(c)) }
func (w *wire) boolean(b bool) {
	if b {
		*w = append(*w, 1)
	} else {
		*w = append(*w, 0)
	}
}

// buf writes a buffer; nil is -1.
func (w *wire) buf(b []byte) {
	if b == nil {
		w.i32(-1)
		return
	}
	w.i32(int32(len(b)))
	w.raw(b)
}

func (w *wire) stat(s stat) {
	w.i64(s.czxid)
	w.i64(s.mzxid)
	w.i64(s.ctime)
	w.i64(s.mtime)
	w.i32(s.version)
	w.i32(s.cversion)
	w.i32(s.aversion)
	w.i64(s.owner)
	w.i32(s.length)
	w.i32(s.children)
	w.i64(s.pzxid)
}

// openACL is world:anyone with all permissions, the only ACL there is.
func (w *wire) openACL() {
	w.i32(1)
	w.i32(permAll)
	w.str("world")
	w.str("anyone")
}

var errShort = errors.New("request ends too early")

// reader takes a request apart; after an error everything it returns is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.err = errShort
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) i32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) i64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) boolean() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

func (r *reader) str() string {
	n := r.i32()
	if n == -1 {
		return ""
	}
	return string(r.take(int(n)))
}

// buf returns a copy; nil for -1.
func (r *reader) buf() []byte {
	n := r.i32()
	if n == -1 || r.err != nil {
		return nil
	}
	return append([]byte{}, r.take(int(n))...)
}

func (r *reader) strs() []string {
	n := r.i32()
	if n < 0 || int(n) > len(r.b)/4 {
		if n != -1 {
			r.err = errShort
		}
		return nil
	}
	out := make([]string, 0, n)
	for range n {
		out = append(out, r.str())
	}
	return out
}

// acl passes over a vector of ACLs.
func (r *reader) acl() {
	n := r.i32()
	if n < 0 || int(n) > math.MaxInt16 {
		if n != -1 {
			r.err = errShort
		}
		return
	}
	for range n {
		r.i32()
		r.str()
		r.str()
	}
}

// frame puts the length before b.
func frame(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(b)), uint32(len(b))), b...)
}

// reply starts an answer with room for the length.
func reply(xid int32, zxid int64, c code) wire {
	w := make(wire, 4, 128)
	w.i32(xid)
	w.i64(zxid)
	w.code(c)
	return w
}

// sealed fills in the length of what reply started.
func (w wire) sealed() []byte {
	binary.BigEndian.PutUint32(w, uint32(len(w)-4))
	return w
}
