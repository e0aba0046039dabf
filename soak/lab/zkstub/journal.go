package zkstub

import (
	"fmt"
	"time"
)

// backlogLimit is how many bytes of transactions are kept for nodes that are away.
const backlogLimit = 4 << 20

// backlog is what nodes that are away have missed: every transaction after from.
type backlog struct {
	from  int64
	txns  []txn
	bytes int
}

type txn struct {
	zxid    int64
	payload []byte
}

func (e *Ensemble) nextZxid() int64 {
	e.zxid++
	return e.zxid
}

func (e *Ensemble) touch(s *session) { s.heard = time.Now() }

// commit makes one transaction.
func (e *Ensemble) commit(session int64, cxid, kind int32, body []byte) {
	e.nextZxid()
	e.log(session, cxid, kind, body)
}

// log writes the current transaction, which the tree has already seen, to the files of all nodes that are awake.
func (e *Ensemble) log(session int64, cxid, kind int32, body []byte) {
	last := e.last
	e.last = e.zxid
	if e.o.Dir == "" {
		return
	}
	w := make(wire, 0, 32+len(body))
	w.i64(session)
	w.i32(cxid)
	w.i64(e.zxid)
	w.i64(e.o.Now().UnixMilli())
	w.i32(kind)
	w.raw(body)
	away := false
	for _, n := range e.nodes {
		if !n.awake() {
			away = true
			continue
		}
		e.fail(n, e.append(n, txn{e.zxid, w}))
		if n.files.due() {
			e.fail(n, n.files.rollWith(e.zxid, e.tree, e.sessions))
		}
	}
	b := &e.backlog
	switch {
	case !away:
		*b = backlog{}
		return
	case len(b.txns) == 0:
		b.from = last
	}
	b.txns = append(b.txns, txn{e.zxid, w})
	b.bytes += len(w)
	for b.bytes > backlogLimit {
		b.from = b.txns[0].zxid
		b.bytes -= len(b.txns[0].payload)
		b.txns = b.txns[1:]
	}
}

func (e *Ensemble) append(n *node, t txn) error {
	if err := n.files.append(t.zxid, t.payload); err != nil {
		return err
	}
	n.at = t.zxid
	return nil
}

// catchUp writes what a node has missed: the transactions (DIFF), or a snapshot when they are no longer kept (SNAP).
func (e *Ensemble) catchUp(n *node) {
	if n.files == nil || n.at == e.last {
		return
	}
	if e.backlog.from > n.at || len(e.backlog.txns) == 0 {
		e.fail(n, n.files.close())
		e.fail(n, n.files.snapshot(e.last, e.tree, e.sessions))
		n.at = e.last
		return
	}
	for _, t := range e.backlog.txns {
		if t.zxid <= n.at {
			continue
		}
		if err := e.append(n, t); err != nil {
			e.fail(n, err)
			return
		}
	}
	if n.files.due() {
		e.fail(n, n.files.rollWith(e.last, e.tree, e.sessions))
	}
}

// fail keeps the first error and stops the node: a server that can't write its log ends.
func (e *Ensemble) fail(n *node, err error) {
	if err == nil {
		return
	}
	if e.err == nil {
		e.err = fmt.Errorf("node %d: %w", n.id, err)
	}
	if n.running && !e.closed {
		e.halt(n)
		e.stir()
	}
}
