package zkstub

import "fmt"

// event is what happened to a path.
type event struct {
	kind int32
	path string
}

// watches are those of all nodes. ZooKeeper keeps two tables, for data and for children; a watch set by exists on
// a missing node is in the first. A connection is in a table once however often it asked.
type watches struct {
	data, child map[string]map[*conn]struct{}
}

func newWatches() watches {
	return watches{data: map[string]map[*conn]struct{}{}, child: map[string]map[*conn]struct{}{}}
}

func addWatch(table map[string]map[*conn]struct{}, path string, c *conn) {
	if table[path] == nil {
		table[path] = map[*conn]struct{}{}
	}
	table[path][c] = struct{}{}
	c.watched[path] = struct{}{}
}

// forget removes all watches of a connection; a client sets them again after it reconnects.
func (w watches) forget(c *conn) {
	for path := range c.watched {
		for _, table := range []map[string]map[*conn]struct{}{w.data, w.child} {
			delete(table[path], c)
			if len(table[path]) == 0 {
				delete(table, path)
			}
		}
	}
	clear(c.watched)
}

// fire sends an event to everyone who watches for it, once, and ends these watches. It is called before the
// answer to the write is queued, so that nobody reads the change on a connection before its notification.
func (e *Ensemble) fire(ev event) {
	var tables []map[string]map[*conn]struct{}
	switch ev.kind {
	case eventChildren:
		tables = append(tables, e.watches.child)
	case eventDeleted:
		tables = append(tables, e.watches.data, e.watches.child)
	default:
		tables = append(tables, e.watches.data)
	}
	told := map[*conn]struct{}{}
	for _, table := range tables {
		for c := range table[ev.path] {
			if _, again := told[c]; !again {
				told[c] = struct{}{}
				e.notify(c, ev)
			}
		}
		delete(table, ev.path)
	}
}

// notify queues one notification, unless a planted defect swallows it.
func (e *Ensemble) notify(c *conn, ev event) {
	e.notified++
	if e.dropNotice[e.notified] {
		e.dropped = append(e.dropped, fmt.Sprintf("%s event %d to session 0x%x", ev.path, ev.kind, c.sessionID()))
		return
	}
	w := reply(xidNotification, -1, ok)
	w.i32(ev.kind)
	w.i32(stateSyncConnected)
	w.str(ev.path)
	c.send(w.sealed())
}

// rearm answers setWatches: what has changed since the client last heard is told at once, the rest is watched
// again (DataTree.setWatches).
func (e *Ensemble) rearm(c *conn, since int64, data, exist, child []string) {
	for _, p := range data {
		switch n := e.tree.nodes[p]; {
		case n == nil:
			e.notify(c, event{eventDeleted, p})
		case n.st.mzxid > since:
			e.notify(c, event{eventData, p})
		default:
			addWatch(e.watches.data, p, c)
		}
	}
	for _, p := range exist {
		if e.tree.nodes[p] != nil {
			e.notify(c, event{eventCreated, p})
		} else {
			addWatch(e.watches.data, p, c)
		}
	}
	for _, p := range child {
		switch n := e.tree.nodes[p]; {
		case n == nil:
			e.notify(c, event{eventDeleted, p})
		case n.st.pzxid > since:
			e.notify(c, event{eventChildren, p})
		default:
			addWatch(e.watches.child, p, c)
		}
	}
}
