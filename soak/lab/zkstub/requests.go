package zkstub

// request serves one frame; false ends the connection.
func (c *conn) request(body []byte) bool {
	r := &reader{b: body}
	xid, op := r.i32(), r.i32()
	if r.err != nil {
		return false
	}
	e := c.e
	ready := func() bool { return e.leader != nil }
	if isWrite(op) {
		ready = e.canWrite
	}
	return c.when(ready, func() {
		s := c.sess
		if s == nil || s.conn != c {
			c.send(nil) // the handshake was refused, or the session has moved on
			return
		}
		e.touch(s)
		c.node.packets++
		switch op {
		case opPing:
			c.send(reply(xid, e.zxid, ok).sealed())
		case opCloseSession:
			e.end(s, xid)
			c.send(reply(xid, e.zxid, ok).sealed())
			c.send(nil)
		case opMulti:
			c.multi(xid, r)
		case opCreate, opCreate2, opDelete, opSetData:
			c.single(xid, op, r)
		default:
			c.query(xid, op, r)
		}
	})
}

// isWrite says whether a request needs the leader; sync does, though it changes nothing.
func isWrite(op int32) bool {
	switch op {
	case opCreate, opCreate2, opDelete, opSetData, opMulti, opSync, opCloseSession:
		return true
	}
	return false
}

// query serves what changes nothing.
func (c *conn) query(xid, op int32, r *reader) {
	e := c.e
	var path string
	watch := false
	switch op {
	case opExists, opGetData, opGetChildren, opGetChildren2:
		path, watch = r.str(), r.boolean()
	case opGetACL, opSync:
		path = r.str()
	case opSetWatches:
		since, data, exist, child := r.i64(), r.strs(), r.strs(), r.strs()
		if r.err != nil {
			c.send(reply(xid, e.zxid, codeMarshalling).sealed())
			return
		}
		c.send(reply(xid, e.zxid, ok).sealed())
		e.rearm(c, since, data, exist, child)
		return
	case opAuth:
		c.send(reply(xid, e.zxid, ok).sealed())
		return
	default:
		c.send(reply(xid, e.zxid, codeUnimplemented).sealed())
		return
	}
	n := e.tree.nodes[path]
	switch {
	case r.err != nil:
		c.send(reply(xid, e.zxid, codeMarshalling).sealed())
		return
	case n == nil && op != opSync:
		if op == opExists && watch {
			addWatch(e.watches.data, path, c)
		}
		c.send(reply(xid, e.zxid, codeNoNode).sealed())
		return
	}
	w := reply(xid, e.zxid, ok)
	switch op {
	case opExists, opGetData:
		if op == opGetData {
			w.buf(n.data)
		}
		w.stat(n.stat())
		if watch {
			addWatch(e.watches.data, path, c)
		}
	case opGetChildren, opGetChildren2:
		w.i32(int32(len(n.children)))
		for name := range n.children {
			w.str(name)
		}
		if op == opGetChildren2 {
			w.stat(n.stat())
		}
		if watch {
			addWatch(e.watches.child, path, c)
		}
	case opGetACL:
		w.openACL()
		w.stat(n.stat())
	case opSync:
		w.str(path)
	}
	c.send(w.sealed())
}

// single serves one write.
func (c *conn) single(xid, op int32, r *reader) {
	e := c.e
	zxid := e.zxid + 1
	ch, bad := c.apply(op, r, zxid)
	if r.err != nil {
		c.send(reply(xid, e.zxid, codeMarshalling).sealed())
		return
	}
	if bad != ok {
		// A write that fails is a transaction too.
		var w wire
		w.code(bad)
		e.commit(c.sess.id, xid, opError, w)
		c.send(reply(xid, e.zxid, bad).sealed())
		return
	}
	if op != opDelete && e.loses(ch) {
		ch.undo()
	} else {
		e.commit(c.sess.id, xid, ch.kind, ch.body)
		e.settle(ch)
	}
	w := reply(xid, zxid, ok)
	switch op {
	case opCreate:
		w.str(ch.path)
	case opCreate2:
		w.str(ch.path)
		w.stat(ch.stat)
	case opSetData:
		w.stat(ch.stat)
	}
	c.send(w.sealed())
}

// apply reads one write and changes the tree.
func (c *conn) apply(op int32, r *reader, zxid int64) (*change, code) {
	e := c.e
	now := e.o.Now().UnixMilli()
	switch op {
	case opCreate, opCreate2:
		path, data := r.str(), r.buf()
		r.acl()
		flags := r.i32()
		if r.err != nil {
			return nil, codeMarshalling
		}
		return e.tree.create(op, path, data, flags, c.sess.id, zxid, now)
	case opSetData:
		path, data, version := r.str(), r.buf(), r.i32()
		if r.err != nil {
			return nil, codeMarshalling
		}
		return e.tree.set(path, data, version, zxid, now)
	case opDelete, opCheck:
		path, version := r.str(), r.i32()
		switch {
		case r.err != nil:
			return nil, codeMarshalling
		case op == opCheck:
			return e.tree.check(path, version)
		}
		return e.tree.del(path, version, zxid)
	}
	return nil, codeUnimplemented
}

// settle does what follows from a change that stands: who owns what, who is told.
func (e *Ensemble) settle(ch *change) {
	if owner := ch.stat.owner; owner != 0 {
		if s := e.sessions[owner]; s != nil {
			switch ch.kind {
			case opCreate, opCreate2:
				s.owned[ch.path] = struct{}{}
			case opDelete:
				delete(s.owned, ch.path)
			}
		}
	}
	for _, ev := range ch.events {
		e.fire(ev)
	}
}
