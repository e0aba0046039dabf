package record

import (
	"context"
	"time"
)

// Format is the version of the event types. A reader refuses a newer one.
const Format = 1

// Clock gives offsets from the base of a run. Only the monotonic clock moves it,
// so that a wall clock fault can't bend the record.
type Clock struct{ base time.Time }

// NewClock starts a time line now.
func NewClock() Clock { return Clock{base: time.Now()} }

// Now is the offset of this instant.
func (c Clock) Now() time.Duration { return time.Since(c.base) }

// At is the offset of t, which must carry a monotonic reading.
func (c Clock) At(t time.Time) time.Duration { return t.Sub(c.base) }

// Base is the instant of offset zero.
func (c Clock) Base() time.Time { return c.base }

// Stamp is this instant by nightshift's own clock.
func (c Clock) Stamp() Stamp { return Stamp{At: c.Now()} }

// Wait blocks for d by the monotonic clock, not at all when d is negative. It is false when ctx has ended by then.
func Wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(max(0, d))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
