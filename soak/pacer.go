package soak

import (
	"fmt"
	"math"
	"time"
)

// Constant is a pacer of an open loop: Freq operations per Per, the first one after Offset.
// Operation k is due at Offset + k*Per/Freq whatever became of those before it.
type Constant struct {
	Freq   float64
	Per    time.Duration
	Offset time.Duration
}

// Due is when operation k is due, counted from the begin.
func (c Constant) Due(k uint64) time.Duration {
	return c.Offset + time.Duration(float64(k)*float64(c.Per)/c.Freq)
}

// Next implements Pacer. A negative wait says how far the schedule is behind.
func (c Constant) Next(elapsed time.Duration, done uint64) (time.Duration, bool) {
	if c.Freq <= 0 || c.Per <= 0 || done == math.MaxUint64 {
		return 0, true
	}
	return c.Due(done) - elapsed, false
}

func (c Constant) String() string { return fmt.Sprintf("%g/%s", c.Freq, c.Per) }

// Closed is the pacer of a closed loop: the next operation is due at once, and Limit (0: none) ends it.
type Closed struct{ Limit uint64 }

// Next implements Pacer.
func (c Closed) Next(_ time.Duration, done uint64) (time.Duration, bool) {
	return 0, c.Limit > 0 && done >= c.Limit
}
