package zkstub

// multi serves all of its operations or none.
func (c *conn) multi(xid int32, r *reader) {
	e := c.e
	zxid := e.zxid + 1
	var done []*change
	var ops []int32
	bad := ok
	for bad == ok {
		op, end, _ := r.i32(), r.boolean(), r.i32()
		if r.err != nil || end {
			break
		}
		ops = append(ops, op)
		ch, result := c.apply(op, r, zxid)
		if bad = result; bad == ok {
			done = append(done, ch)
		}
	}
	if bad != ok || r.err != nil {
		for i := len(done) - 1; i >= 0; i-- {
			done[i].undo()
		}
	}
	if r.err != nil {
		c.send(reply(xid, e.zxid, codeMarshalling).sealed())
		return
	}
	w := reply(xid, zxid, ok)
	if bad != ok {
		var body wire
		body.code(bad)
		e.commit(c.sess.id, xid, opError, body)
		for i := range ops {
			each := ok
			if i == len(ops)-1 {
				each = bad
			}
			multiHead(&w, opError, false, each)
			w.code(each)
		}
	} else {
		var body wire
		body.i32(int32(len(done)))
		for i, ch := range done {
			body.i32(ch.kind)
			body.buf(ch.body)
			multiHead(&w, ops[i], false, ok)
			switch ops[i] {
			case opCreate:
				w.str(ch.path)
			case opCreate2:
				w.str(ch.path)
				w.stat(ch.stat)
			case opSetData:
				w.stat(ch.stat)
			}
		}
		e.commit(c.sess.id, xid, opMulti, body)
		for _, ch := range done {
			e.settle(ch)
		}
	}
	multiHead(&w, -1, true, -1)
	c.send(w.sealed())
}

func multiHead(w *wire, op int32, end bool, c code) {
	w.i32(op)
	w.boolean(end)
	w.code(c)
}
