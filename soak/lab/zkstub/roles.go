package zkstub

import "time"

// present says whether the others still count on a node: it runs, and its pause has not been noticed.
func (e *Ensemble) present(n *node, now time.Time) bool {
	return n.running && !n.deposed && (!n.asleep.Load() || now.Sub(n.since) < e.o.Detect)
}

// awake says whether a node can take part in an election.
func (n *node) awake() bool { return n.running && !n.asleep.Load() }

func (e *Ensemble) count(is func(*node) bool) (k int) {
	for _, n := range e.nodes {
		if is(n) {
			k++
		}
	}
	return k
}

func (e *Ensemble) quorum() int { return len(e.nodes)/2 + 1 }

// canWrite says whether a write would be acknowledged now: an awake leader and a quorum of awake nodes.
func (e *Ensemble) canWrite() bool {
	return e.leader != nil && e.leader.awake() && e.count((*node).awake) >= e.quorum()
}

// review deposes a leader that is gone or has no quorum, and elects one when it is time.
func (e *Ensemble) review(now time.Time) {
	for _, n := range e.nodes {
		// A follower that was paused for too long finds its place taken.
		if n.running && n.asleep.Load() && now.Sub(n.since) >= e.o.Detect && len(e.nodes) > 1 {
			n.deposed = true
		}
	}
	if e.leader != nil && len(e.nodes) > 1 {
		present := func(n *node) bool { return e.present(n, now) }
		if !present(e.leader) || e.count(present) < e.quorum() {
			e.depose()
		}
	}
	if e.leader == nil {
		e.prepareElection(now)
	}
}

// depose ends the leader's term: servers without a leader close their clients' connections.
func (e *Ensemble) depose() {
	e.leader = nil
	e.electAt = time.Time{}
	for _, n := range e.nodes {
		if n.asleep.Load() {
			n.deposed = true
			continue
		}
		for c := range n.conns {
			c.cut()
		}
	}
	e.announce()
}

func (e *Ensemble) prepareElection(now time.Time) {
	switch {
	case e.count((*node).awake) < e.quorum() || e.closed:
		e.electAt = time.Time{}
	case len(e.nodes) == 1:
		e.elect()
	case e.electAt.IsZero():
		e.electAt = now.Add(e.o.Election)
		e.stir()
	case !now.Before(e.electAt):
		e.elect()
	}
}

// elect makes the awake node with the highest number the leader, of a new epoch. Sessions start afresh.
func (e *Ensemble) elect() {
	e.electAt = time.Time{}
	for _, n := range e.nodes {
		if n.awake() {
			e.leader = n
			n.deposed = false
		}
	}
	if e.leader == nil {
		return
	}
	if len(e.nodes) > 1 {
		e.epoch++
		e.zxid = e.epoch << 32
	}
	now := time.Now()
	for _, s := range e.sessions {
		s.heard = now
	}
	for _, n := range e.nodes {
		if n.files != nil && n.awake() {
			e.fail(n, n.files.epochs(e.epoch))
		}
	}
	// A new leader loads its data and writes a snapshot of it (Leader.lead).
	if f := e.leader.files; f != nil && e.last > 0 {
		e.fail(e.leader, f.snapshot(e.last, e.tree, e.sessions))
	}
	e.announce()
	e.stir()
}

// Role of a node: "leader", "follower", "standalone", "looking" (runs, serves nobody), "paused", "stopped".
func (e *Ensemble) Role(id int) string {
	n, err := e.node(id)
	if err != nil {
		return "stopped"
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.role(n)
}

func (e *Ensemble) role(n *node) string {
	switch {
	case !n.running:
		return "stopped"
	case n.asleep.Load():
		return "paused"
	case e.leader == nil:
		return "looking"
	case len(e.nodes) == 1:
		return "standalone"
	case e.leader == n:
		return "leader"
	}
	return "follower"
}

// Leader is the number of the leader, paused or not; 0 while there is none.
func (e *Ensemble) Leader() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leader == nil {
		return 0
	}
	return e.leader.id
}

// Zxid is the last transaction's.
func (e *Ensemble) Zxid() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.zxid
}

// Paths are all nodes below prefix, in order.
func (e *Ensemble) Paths(prefix string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	e.tree.walk(func(path string, _ *znode) {
		if len(path) > len(prefix) && path[:len(prefix)] == prefix {
			out = append(out, path)
		}
	})
	return out
}
