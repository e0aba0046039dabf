package record

import "time"

// Hist is a bounded histogram of durations: 1 us to 1 h at 3 digits, the exact maximum beside it,
// and a count of what lay beyond. It is not safe for concurrent use.
type Hist struct{}

// NewHist returns an empty histogram.
func NewHist() *Hist { panic("contract") }

// Add counts one duration. It does not allocate.
func (h *Hist) Add(d time.Duration) { panic("contract") }

// Merge adds all of o, which may be nil.
func (h *Hist) Merge(o *Hist) { panic("contract") }

// Reset empties h and keeps its memory.
func (h *Hist) Reset() { panic("contract") }

// Count is the number of durations, those beyond the range included. A nil Hist is empty.
func (h *Hist) Count() uint64 { panic("contract") }

// Over is how many durations lay beyond the range.
func (h *Hist) Over() uint64 { panic("contract") }

// Max is the exact longest duration.
func (h *Hist) Max() time.Duration { panic("contract") }

// Mean is the mean duration.
func (h *Hist) Mean() time.Duration { panic("contract") }

// Quantile is the duration at q in 0..1; at 1 it is the exact maximum.
func (h *Hist) Quantile(q float64) time.Duration { panic("contract") }

// CountAbove is how many durations were longer than d, by the histogram's resolution.
func (h *Hist) CountAbove(d time.Duration) uint64 { panic("contract") }

// MarshalBinary is a compact form: only the buckets in use.
func (h *Hist) MarshalBinary() ([]byte, error) { panic("contract") }

// UnmarshalBinary reads it back; bad input is an error, never a panic.
func (h *Hist) UnmarshalBinary(b []byte) error { panic("contract") }
