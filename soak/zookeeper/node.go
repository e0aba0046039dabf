package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak/record"
)

// state is what its modifier knows of an ephemeral node.
type state uint8

const (
	absent  state = iota // deleted for sure, or never created
	present              // created for sure
	unknown              // an operation is in doubt; the next delete settles it
)

// node is the book-keeping about one ephemeral path. It rests on two promises of ZooKeeper: requests of one session
// take effect in the order they were sent, whatever server they went through (a request that arrives by an old
// server is refused as "session moved"); and an ephemeral node lives exactly as long as its session.
// Hence the delete that follows an operation in doubt settles it.
type node struct {
	path    string
	state   state
	seq     uint64 // of the last create
	session int64  // that created it for sure; 0: not known
	deleter int64  // session that got the last delete acknowledged; 0: not known
	doubt   doubt
}

// doubt is which operation since the last definite answer is in doubt.
type doubt uint8

const (
	noDoubt doubt = iota
	createInDoubt
	deleteInDoubt
	bothInDoubt
)

// created takes in what a create returned; session is the id before and after the call.
func (n *node) created(err error, before, after int64) {
	n.seq++
	switch {
	case err == nil:
		n.state, n.doubt, n.session = present, noDoubt, 0
		if before == after {
			n.session = after
		}
	case errors.Is(err, zkclient.ErrNodeExists):
		n.state, n.session = unknown, 0
	case zkclient.InDoubt(err):
		n.state, n.doubt, n.session = unknown, createInDoubt, 0
	}
}

// verdict on a delete.
type verdict struct {
	outcome   record.Outcome
	lost      bool // an acknowledged create was lost
	recovered bool // what was in doubt had taken effect
}

// deleted takes in what a delete returned; after is the session id after the call.
// That there is no node is a loss only if this very session created it and nothing since was in doubt;
// else it is the answer that was wanted.
func (n *node) deleted(err error, after int64) verdict {
	v := verdict{outcome: outcome(err)}
	switch {
	case err == nil:
		v.recovered = n.doubt == createInDoubt
	case errors.Is(err, zkclient.ErrNoNode):
		v.lost = n.state == present && n.session != 0 && n.session == after
		v.recovered = n.doubt == deleteInDoubt && n.session != 0 && n.session == after
		if !v.lost {
			v.outcome = record.OK
		}
	case zkclient.InDoubt(err):
		switch {
		case n.state == present:
			n.doubt = deleteInDoubt
		case n.doubt == createInDoubt:
			n.doubt = bothInDoubt
		}
		n.state = unknown
		return v
	default:
		return v // refused: nothing has changed
	}
	n.state, n.doubt, n.session, n.deleter = absent, noDoubt, 0, after
	return v
}

// enter writes a verdict into the book.
func (c *crew) enter(n *node, v verdict, at time.Duration) {
	if v.recovered {
		c.book.add(CodeRecovered, at, "%s: write %d", n.path, n.seq)
	}
	if v.lost {
		c.book.add(CodeWriteLost, at, "%s: create %d was acknowledged and not undone, found no node", n.path, n.seq)
	}
}

// examine finds out why a create was told that the node exists although its delete was acknowledged.
// n.seq is already that of the refused create.
func (c *crew) examine(ctx context.Context, conn *zkclient.Conn, n *node, unit uint32, at time.Duration) {
	if err := conn.Sync(ctx, n.path); err != nil {
		return // the next delete tells
	}
	data, stat, err := conn.Get(ctx, n.path)
	if err != nil {
		return
	}
	if wrong := c.alien(data, unit); wrong != "" {
		c.book.add(CodeDataWrong, at, "%s: %s", n.path, wrong)
		return
	}
	// A node of an expired session that is just being removed is not ours to judge.
	if h, err := ParseHeader(data); err == nil && h.Seq < n.seq && n.deleter != 0 && n.deleter == conn.SessionID() && stat.EphemeralOwner == n.deleter {
		c.book.add(CodeWriteLost, at, "%s: delete of %d was acknowledged, found the node again with %d", n.path, n.seq-1, h.Seq)
	}
}

// alien says what is wrong with data that this workload should have written to path number unit; "" when nothing is.
func (c *crew) alien(data []byte, unit uint32) string {
	h, err := ParseHeader(data)
	switch {
	case err != nil:
		return err.Error()
	case h.Run != runHash(c.env.RunID, c.spec.name):
		return "found data of another run or workload"
	case h.Unit != unit:
		return fmt.Sprintf("expected data of path %d, found that of path %d", unit, h.Unit)
	}
	return ""
}
