package zkstub

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// stat is a node's stat as clients see it.
type stat struct {
	czxid, mzxid, ctime, mtime  int64
	version, cversion, aversion int32
	owner                       int64
	length, children            int32
	pzxid                       int64
}

// znode is one node. Its cversion counts creations only; clients get creations and deletions (DataNode.copyStat).
type znode struct {
	data     []byte
	st       stat
	children map[string]struct{}
}

func (n *znode) stat() stat {
	s := n.st
	s.length, s.children = int32(len(n.data)), int32(len(n.children))
	s.cversion = n.st.cversion*2 - s.children
	return s
}

// tree is the data of the ensemble. Paths are as clients write them; the root is "/".
type tree struct{ nodes map[string]*znode }

func newTree() *tree {
	t := &tree{nodes: map[string]*znode{"/": {data: []byte{}, children: map[string]struct{}{}}}}
	for _, p := range []string{"/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
		t.put(p, &znode{data: []byte{}})
	}
	return t
}

func (t *tree) put(path string, n *znode) {
	t.nodes[path] = n
	up, name := split(path)
	p := t.nodes[up]
	if p.children == nil {
		p.children = map[string]struct{}{}
	}
	p.children[name] = struct{}{}
}

// split cuts a path into its parent and its last part.
func split(path string) (up, name string) {
	i := strings.LastIndexByte(path, '/')
	if i == 0 {
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}

func validPath(p string) bool {
	return p == "/" || strings.HasPrefix(p, "/") && !strings.HasSuffix(p, "/") && !strings.Contains(p, "//")
}

// change is one write that is known to succeed: its transaction body, its effect, and the effect's reverse.
type change struct {
	kind   int32 // code of the transaction
	path   string
	body   []byte
	stat   stat // the node's, afterwards
	undo   func()
	events []event
}

// create checks and applies. session is the owner of an ephemeral node.
func (t *tree) create(kind int32, path string, data []byte, flags int32, session, zxid, now int64) (*change, code) {
	if flags&^(flagEphemeral|flagSequence) != 0 {
		return nil, codeUnimplemented
	}
	if flags&flagSequence != 0 {
		if !strings.HasPrefix(path, "/") {
			return nil, codeBadArguments
		}
	} else if !validPath(path) || path == "/" {
		return nil, codeBadArguments
	}
	up, _ := split(path)
	p := t.nodes[up]
	if p == nil {
		return nil, codeNoNode
	}
	if p.st.owner != 0 {
		return nil, codeEphemeralNoKids
	}
	if flags&flagSequence != 0 {
		path += fmt.Sprintf("%010d", p.st.cversion)
	}
	if t.nodes[path] != nil {
		return nil, codeNodeExists
	}
	n := &znode{data: data, st: stat{czxid: zxid, mzxid: zxid, pzxid: zxid, ctime: now, mtime: now}}
	if flags&flagEphemeral != 0 {
		n.st.owner = session
	}
	before := p.st
	t.put(path, n)
	p.st.cversion++
	p.st.pzxid = zxid

	var w wire
	w.str(path)
	w.buf(data)
	w.openACL()
	w.boolean(flags&flagEphemeral != 0)
	w.i32(p.st.cversion)
	return &change{
		kind: kind, path: path, body: w, stat: n.stat(),
		undo:   func() { t.remove(path); p.st = before },
		events: []event{{eventCreated, path}, {eventChildren, up}},
	}, ok
}

func (t *tree) remove(path string) {
	up, name := split(path)
	delete(t.nodes, path)
	delete(t.nodes[up].children, name)
}

func (t *tree) del(path string, version int32, zxid int64) (*change, code) {
	n := t.nodes[path]
	switch {
	case path == "/":
		return nil, codeBadArguments
	case n == nil:
		return nil, codeNoNode
	case version != -1 && version != n.st.version:
		return nil, codeBadVersion
	case len(n.children) > 0:
		return nil, codeNotEmpty
	}
	up, _ := split(path)
	p := t.nodes[up]
	before := p.st
	t.remove(path)
	p.st.pzxid = zxid
	var w wire
	w.str(path)
	return &change{
		kind: opDelete, path: path, body: w, stat: n.st,
		undo:   func() { t.put(path, n); p.st = before },
		events: []event{{eventDeleted, path}, {eventChildren, up}},
	}, ok
}

func (t *tree) set(path string, data []byte, version int32, zxid, now int64) (*change, code) {
	n := t.nodes[path]
	switch {
	case n == nil:
		return nil, codeNoNode
	case version != -1 && version != n.st.version:
		return nil, codeBadVersion
	}
	oldData, oldStat := n.data, n.st
	n.data = data
	n.st.version++
	n.st.mzxid, n.st.mtime = zxid, now
	var w wire
	w.str(path)
	w.buf(data)
	w.i32(n.st.version)
	return &change{
		kind: opSetData, path: path, body: w, stat: n.stat(),
		undo:   func() { n.data, n.st = oldData, oldStat },
		events: []event{{eventData, path}},
	}, ok
}

func (t *tree) check(path string, version int32) (*change, code) {
	n := t.nodes[path]
	switch {
	case n == nil:
		return nil, codeNoNode
	case version != -1 && version != n.st.version:
		return nil, codeBadVersion
	}
	var w wire
	w.str(path)
	w.i32(version)
	return &change{kind: opCheck, path: path, body: w, stat: n.stat(), undo: func() {}}, ok
}

// walk visits every node, parents first and in the order of names.
func (t *tree) walk(visit func(path string, n *znode)) {
	var down func(path string)
	down = func(path string) {
		n := t.nodes[path]
		visit(path, n)
		for _, name := range slices.Sorted(maps.Keys(n.children)) {
			if path == "/" {
				down("/" + name)
			} else {
				down(path + "/" + name)
			}
		}
	}
	down("/")
}
