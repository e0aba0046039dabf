package record

import (
	"math/bits"
	"slices"
	"sort"
	"time"
)

// The geometry of a histogram is that of HdrHistogram for 1..3 600 000 000 us at 3 digits: the first 2048
// buckets are 1 us wide, then every 1024 buckets the width doubles. The library of that name gives no
// access to single buckets, so its cheapest merge, reset and encoding visit 188 KB each; here they
// visit the buckets in use. A test holds every answer against the library.
const (
	subBits    = 11
	subHalf    = 1 << (subBits - 1)
	histTop    = int64(time.Hour / time.Microsecond)
	histLen    = 23 * subHalf
	histWords  = histLen / 64
	histBitmap = (histWords + 63) / 64
)

// Hist is a bounded histogram of durations: 1 us to 1 h at 3 digits, the exact maximum and sum beside it,
// and a count of what lay beyond. What is shorter than 1 us counts as 1 us in the quantiles, and negative
// durations count as zero. It is not safe for concurrent use, except that any number may read.
type Hist struct {
	n, over      uint64
	max          time.Duration
	sumHi, sumLo uint64 // of nanoseconds, 128 bits: an hour times 2^23 operations is past 64

	// Either sparse, up to sparseMost buckets and as it is read and cloned, or dense.
	dense *denseCounts
	idx   []uint16
	count []uint64
}

// sparseMost is how many buckets a histogram that is added to holds before it takes memory for all of them.
const sparseMost = 128

// denseCounts says in used which counts are not zero, and in words which words of used are not.
type denseCounts struct {
	counts [histLen]uint64
	used   [histWords]uint64
	words  [histBitmap]uint64
}

// NewHist returns an empty histogram. It takes its 188 KB when it holds many different durations, or at Reserve.
func NewHist() *Hist { return &Hist{} }

// Reserve takes the memory for all buckets, so that Add does not allocate from now on.
func (h *Hist) Reserve() {
	if h.dense == nil {
		h.grow()
	}
}

// bucketOf is the bucket of us, which must be in 1..histTop.
func bucketOf(us int64) int {
	b := bits.Len64(uint64(us)|(1<<subBits-1)) - subBits
	return b<<(subBits-1) + int(us>>b)
}

// bucketHigh is the longest duration in whole microseconds that falls into bucket i.
func bucketHigh(i int) int64 {
	b := i>>(subBits-1) - 1
	if b <= 0 {
		return int64(i)
	}
	low := int64(i-b<<(subBits-1)) << b
	return low + 1<<b - 1
}

// Add counts one duration. It does not allocate after Reserve.
func (h *Hist) Add(d time.Duration) {
	d = max(d, 0)
	h.n++
	if d > h.max {
		h.max = d
	}
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, uint64(d), 0)
	h.sumHi += carry
	us := int64(d / time.Microsecond)
	if us > histTop {
		h.over++
		return
	}
	if i := bucketOf(max(us, 1)); h.dense != nil {
		h.dense.add(i, 1)
	} else {
		h.insert(i, 1)
	}
}

// insert adds to a sparse histogram.
func (h *Hist) insert(i int, n uint64) {
	k, found := slices.BinarySearch(h.idx, uint16(i))
	switch {
	case found:
		h.count[k] += n
	case len(h.idx) < sparseMost:
		h.idx, h.count = slices.Insert(h.idx, k, uint16(i)), slices.Insert(h.count, k, n)
	default:
		h.grow()
		h.dense.add(i, n)
	}
}

func (c *denseCounts) add(i int, n uint64) {
	if c.counts[i] == 0 {
		w := i >> 6
		c.used[w] |= 1 << (i & 63)
		c.words[w>>6] |= 1 << (w & 63)
	}
	c.counts[i] += n
}

func (h *Hist) grow() {
	h.dense = new(denseCounts)
	for k, i := range h.idx {
		h.dense.add(int(i), h.count[k])
	}
	h.idx, h.count = nil, nil
}

// each calls yield for every used bucket, in order, until it returns false.
func (h *Hist) each(yield func(i int, n uint64) bool) {
	if h.dense == nil {
		for k, i := range h.idx {
			if !yield(int(i), h.count[k]) {
				return
			}
		}
		return
	}
	for ww, word := range h.dense.words {
		for ; word != 0; word &= word - 1 {
			w := ww<<6 + bits.TrailingZeros64(word)
			for u := h.dense.used[w]; u != 0; u &= u - 1 {
				i := w<<6 + bits.TrailingZeros64(u)
				if !yield(i, h.dense.counts[i]) {
					return
				}
			}
		}
	}
}

// Merge adds all of o, which may be nil.
func (h *Hist) Merge(o *Hist) {
	if o.Count() == 0 {
		return
	}
	o.each(func(i int, n uint64) bool {
		if h.dense != nil {
			h.dense.add(i, n)
		} else {
			h.insert(i, n)
		}
		return true
	})
	h.n += o.n
	h.over += o.over
	h.max = max(h.max, o.max)
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, o.sumLo, 0)
	h.sumHi, _ = bits.Add64(h.sumHi, o.sumHi, carry)
}

// Reset empties h and keeps its memory.
func (h *Hist) Reset() {
	if h.n == 0 {
		return
	}
	dense := h.dense
	if dense != nil {
		for ww, word := range dense.words {
			for ; word != 0; word &= word - 1 {
				w := ww<<6 + bits.TrailingZeros64(word)
				for u := dense.used[w]; u != 0; u &= u - 1 {
					dense.counts[w<<6+bits.TrailingZeros64(u)] = 0
				}
				dense.used[w] = 0
			}
			dense.words[ww] = 0
		}
	}
	*h = Hist{dense: dense, idx: h.idx[:0], count: h.count[:0]}
}

// Clone is a copy that takes memory only for the buckets in use. The clone of nil is empty.
func (h *Hist) Clone() *Hist {
	if h.Count() == 0 {
		return &Hist{}
	}
	c := *h
	c.dense, c.idx, c.count = nil, nil, nil
	used := h.usedBuckets()
	c.idx, c.count = make([]uint16, 0, used), make([]uint64, 0, used)
	h.each(func(i int, n uint64) bool {
		c.idx, c.count = append(c.idx, uint16(i)), append(c.count, n)
		return true
	})
	return &c
}

func (h *Hist) usedBuckets() int {
	if h.dense == nil {
		return len(h.idx)
	}
	used := 0
	for ww, word := range h.dense.words {
		for ; word != 0; word &= word - 1 {
			used += bits.OnesCount64(h.dense.used[ww<<6+bits.TrailingZeros64(word)])
		}
	}
	return used
}

// Count is the number of durations, those beyond the range included. A nil Hist is empty.
func (h *Hist) Count() uint64 {
	if h == nil {
		return 0
	}
	return h.n
}

// Over is how many durations lay beyond the range.
func (h *Hist) Over() uint64 {
	if h == nil {
		return 0
	}
	return h.over
}

// Max is the exact longest duration.
func (h *Hist) Max() time.Duration {
	if h == nil {
		return 0
	}
	return h.max
}

// Mean is the mean duration, exact to the nanosecond below.
func (h *Hist) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	q, _ := bits.Div64(h.sumHi%h.n, h.sumLo, h.n)
	return time.Duration(q)
}

// Quantile is the duration at q in 0..1, by the upper end of its bucket and never past the maximum;
// at 1 it is the exact maximum. What lies beyond the range counts as the maximum.
func (h *Hist) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	rank := uint64(1)
	if f := q*float64(h.n) + 0.5; f >= float64(h.n) {
		return h.max
	} else if f >= 1 {
		rank = uint64(f)
	}
	at, seen := h.max, uint64(0)
	h.each(func(i int, n uint64) bool {
		if seen += n; seen < rank {
			return true
		}
		at = min(h.max, time.Duration(bucketHigh(i)+1)*time.Microsecond-1)
		return false
	})
	return at
}

// CountAbove is how many durations were longer than d, by the histogram's resolution: those in d's own
// bucket do not count.
func (h *Hist) CountAbove(d time.Duration) uint64 {
	if h.Count() == 0 || d >= h.max {
		return 0
	}
	us := int64(d / time.Microsecond)
	if us > histTop {
		return h.over
	}
	limit := bucketOf(max(us, 1))
	if h.dense == nil {
		above := h.over
		for k := sort.Search(len(h.idx), func(k int) bool { return int(h.idx[k]) > limit }); k < len(h.idx); k++ {
			above += h.count[k]
		}
		return above
	}
	below := uint64(0)
	h.each(func(i int, n uint64) bool {
		if i > limit {
			return false
		}
		below += n
		return true
	})
	return h.n - below
}
