package zkstub

import "time"

// handshake opens or resumes a session. A server without a leader closes the connection without an answer.
func (c *conn) handshake(body []byte) bool {
	r := reader{b: body}
	r.i32() // protocol version
	seen := r.i64()
	timeout := time.Duration(r.i32()) * time.Millisecond
	id := r.i64()
	passwd := r.buf()
	if r.err != nil {
		return false
	}
	e, served := c.e, false
	readOnly := len(r.b) > 0 // newer clients say whether they would take a read-only server
	alive := c.when(func() bool { return e.leader == nil || e.canWrite() }, func() {
		if e.leader == nil || seen > e.zxid {
			return // not serving; or the client has seen more than this server
		}
		served = true
		timeout = min(max(timeout, 2*e.o.Tick), 20*e.o.Tick)
		var s *session
		if id == 0 {
			s = e.open(c, timeout)
		} else if s = e.resume(c, id, passwd); s != nil {
			s.timeout = timeout
		}
		c.send(frame(handshakeReply(s, readOnly)))
		if s == nil {
			c.send(nil)
		}
	})
	return alive && served
}

func handshakeReply(s *session, readOnly bool) []byte {
	var w wire
	w.i32(0)
	if s == nil { // expired, or never was
		w.i32(0)
		w.i64(0)
		w.buf(make([]byte, passwordLength))
	} else {
		w.i32(int32(s.timeout / time.Millisecond))
		w.i64(s.id)
		w.buf(s.passwd)
	}
	if readOnly {
		w.boolean(false)
	}
	return w
}
