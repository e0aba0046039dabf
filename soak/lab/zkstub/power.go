package zkstub

import (
	"fmt"
	"time"
)

// Stop ends a node like kill -9: connections are cut, dials refused, its files stay as they are.
func (e *Ensemble) Stop(id int) error {
	return e.turn(id, func(n *node) error {
		if !n.running {
			return fmt.Errorf("stop node %d: it does not run", id)
		}
		e.halt(n)
		return nil
	})
}

func (e *Ensemble) halt(n *node) {
	n.running = false
	n.deposed = false
	n.asleep.Store(false)
	for c := range n.conns {
		c.cut()
	}
	if n.ln != nil {
		_ = n.ln.Close() // nobody is to dial it
	}
	if n.files != nil {
		e.fail(n, n.files.close())
	}
	if len(e.nodes) == 1 {
		e.leader = nil
	}
}

// Start runs a stopped node again. It writes the transactions it has missed into a new log, or a snapshot when
// there were too many, and serves as soon as there is a leader.
func (e *Ensemble) Start(id int) error {
	return e.turn(id, func(n *node) error {
		if n.running {
			return fmt.Errorf("start node %d: it runs already", id)
		}
		if e.o.Listen {
			if err := e.listen(n); err != nil {
				return err
			}
		}
		n.running = true
		e.catchUp(n)
		if len(e.nodes) == 1 && n.files != nil {
			e.fail(n, n.files.snapshot(e.last, e.tree, e.sessions))
		}
		return nil
	})
}

// Pause stops a node like SIGSTOP: connections stay, dials are accepted, nothing is answered.
// After Options.Detect the others go on without it.
func (e *Ensemble) Pause(id int) error {
	return e.turn(id, func(n *node) error {
		if !n.awake() {
			return fmt.Errorf("pause node %d: it does not run or is paused already", id)
		}
		n.asleep.Store(true)
		n.since = time.Now()
		return nil
	})
}

// Resume continues a paused node. Within Options.Detect its connections go on as if nothing had happened; later
// it finds that the others went on without it, cuts them and joins again.
func (e *Ensemble) Resume(id int) error {
	return e.turn(id, func(n *node) error {
		if !n.running || !n.asleep.Load() {
			return fmt.Errorf("resume node %d: it is not paused", id)
		}
		e.review(time.Now())
		n.asleep.Store(false)
		if n.deposed {
			n.deposed = false
			for c := range n.conns {
				c.cut()
			}
		}
		e.catchUp(n)
		return nil
	})
}

// turn changes a node's condition and lets everybody notice.
func (e *Ensemble) turn(id int, do func(*node) error) error {
	n, err := e.node(id)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	if err := do(n); err != nil {
		return err
	}
	e.review(time.Now())
	e.announce()
	e.stir()
	return nil
}
