package zkstub

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"
)

// session outlives its connections and the server it was opened on.
type session struct {
	id      int64
	passwd  []byte
	timeout time.Duration
	heard   time.Time // of the monotonic clock of timers, not of Options.Now
	conn    *conn
	owned   map[string]struct{} // ephemeral nodes
}

// open starts a session as a transaction of the ensemble.
func (e *Ensemble) open(c *conn, timeout time.Duration) *session {
	e.opened++
	s := &session{
		id:      int64(c.node.id)<<56 | e.opened,
		timeout: timeout,
		heard:   time.Now(),
		owned:   map[string]struct{}{},
	}
	s.passwd = binary.BigEndian.AppendUint64(make([]byte, 0, passwordLength), uint64(s.id)^0x5a6f6f4b65657065)
	s.passwd = binary.BigEndian.AppendUint64(s.passwd, uint64(s.id)*0x9e3779b97f4a7c15)
	e.sessions[s.id] = s
	e.attach(s, c)
	var w wire
	w.i32(int32(timeout / time.Millisecond))
	e.commit(s.id, 0, opCreateSession, w)
	e.stir()
	return s
}

// resume moves a session to a connection, or returns nil when it is gone or the password is wrong.
func (e *Ensemble) resume(c *conn, id int64, passwd []byte) *session {
	s := e.sessions[id]
	if s == nil || !bytes.Equal(s.passwd, passwd) {
		return nil
	}
	if s.conn != nil && s.conn != c {
		s.conn.cut()
	}
	e.attach(s, c)
	s.heard = time.Now()
	return s
}

func (e *Ensemble) attach(s *session, c *conn) {
	s.conn, c.sess = c, s
}

// end closes a session: its ephemeral nodes go, their watchers are told.
func (e *Ensemble) end(s *session, cxid int32) {
	delete(e.sessions, s.id)
	var gone []string
	for _, p := range slices.Sorted(maps.Keys(s.owned)) {
		if !e.kept(p) {
			gone = append(gone, p)
		}
	}
	zxid := e.nextZxid()
	var events []event
	for _, p := range gone {
		if ch, c := e.tree.del(p, -1, zxid); c == ok {
			events = append(events, ch.events...)
		}
	}
	var w wire
	w.i32(int32(len(gone)))
	for _, p := range gone {
		w.str(p)
	}
	e.log(s.id, cxid, opCloseSession, w)
	for _, ev := range events {
		e.fire(ev)
	}
}

// expire ends the sessions that were not heard of within their timeout. Without a leader nobody expires.
func (e *Ensemble) expire(now time.Time) {
	if !e.canWrite() {
		return
	}
	var late []*session
	for _, s := range e.sessions {
		if now.Sub(s.heard) >= s.timeout {
			late = append(late, s)
		}
	}
	slices.SortFunc(late, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	for _, s := range late {
		c := s.conn
		e.end(s, 0)
		if c != nil {
			c.cut()
		}
	}
}

// Expire ends a session as if it had timed out. It says whether there was one.
func (e *Ensemble) Expire(id int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[id]
	if s == nil {
		return false
	}
	s.heard = time.Time{}
	e.stir()
	return true
}

// Sessions is how many are open.
func (e *Ensemble) Sessions() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sessions)
}

func (e *Ensemble) kept(path string) bool {
	return slices.ContainsFunc(e.keep, func(part string) bool { return strings.Contains(path, part) })
}
