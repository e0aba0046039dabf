package zkstub

import "time"

// defects are what was planted, and what came of it.
type defects struct {
	written    int // creates and setDatas of clients that succeeded
	notified   int
	loseWrite  map[int]bool
	dropNotice map[int]bool
	keep       []string
	lost       []string
	dropped    []string
}

func newDefects() defects {
	return defects{loseWrite: map[int]bool{}, dropNotice: map[int]bool{}}
}

// LoseAcknowledged plants a loss: the n-th create or setData from now is acknowledged and dropped.
func (e *Ensemble) LoseAcknowledged(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loseWrite[e.written+n] = true
}

// DropNotification plants a missed watch: the n-th notification from now is never sent.
func (e *Ensemble) DropNotification(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dropNotice[e.notified+n] = true
}

// KeepEphemeral plants left-overs: ephemeral nodes with part in their path stay when their session ends.
func (e *Ensemble) KeepEphemeral(part string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keep = append(e.keep, part)
}

// SlowNode delays every request on a node by d; 0 ends it.
func (e *Ensemble) SlowNode(id int, d time.Duration) error {
	return e.turn(id, func(n *node) error {
		n.slow = d
		return nil
	})
}

// Lost are the paths of the writes that were acknowledged and dropped so far.
func (e *Ensemble) Lost() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.lost...)
}

// Dropped describes the notifications that were swallowed so far.
func (e *Ensemble) Dropped() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.dropped...)
}

// loses counts an acknowledged write and says whether it is one to drop.
func (e *Ensemble) loses(ch *change) bool {
	e.written++
	if !e.loseWrite[e.written] {
		return false
	}
	e.lost = append(e.lost, ch.path)
	return true
}
