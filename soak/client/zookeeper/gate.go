package zookeeper

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// DialGate bounds how many dials a second all connections together make. Without it a thousand clients that lose
// their server at the same instant dial in step, and again each second, which can keep a server from coming up
// (ZOOKEEPER-3242).
type DialGate struct {
	interval time.Duration

	mu   sync.Mutex // never held while waiting
	next time.Time
	rnd  *rand.Rand
	held int64
}

// NewDialGate allows perSecond dials a second on average, each delayed by up to 50 % jitter. Less than 1 is 1.
func NewDialGate(perSecond int) *DialGate {
	perSecond = max(perSecond, 1)
	return &DialGate{
		interval: time.Second / time.Duration(perSecond),
		rnd:      rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(perSecond))),
	}
}

// Held is how many dials had to wait.
func (g *DialGate) Held() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// wait returns when the next dial is due, or with ctx's error. A nil gate never waits.
func (g *DialGate) wait(ctx context.Context) error {
	if g == nil {
		return ctx.Err()
	}
	d := g.reserve(time.Now())
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reserve takes the next free slot and says how far it is away.
func (g *DialGate) reserve(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	slot := g.next
	if slot.Before(now) {
		slot = now
	}
	g.next = slot.Add(g.interval)
	d := slot.Sub(now)
	if d > 0 {
		g.held++
	}
	return d + time.Duration(g.rnd.Int64N(int64(g.interval)/2+1))
}
