package record

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"time"
)

// histCode is the first byte of the encoding below; another one is another encoding.
const histCode = 1

var errHist = errors.New("decode histogram: damaged bytes")

// MarshalBinary is a compact form: only the buckets in use, about one byte each. An empty histogram is no bytes.
// After the code stand the number of buckets, how many lay over, maximum and sum, then for each bucket
// the gap to the one before it, doubled, plus one if a count less two follows.
func (h *Hist) MarshalBinary() ([]byte, error) { return h.appendTo(nil), nil }

func (h *Hist) appendTo(b []byte) []byte {
	if h.Count() == 0 {
		return b
	}
	b = append(b, histCode)
	b = binary.AppendUvarint(b, uint64(h.usedBuckets()))
	b = binary.AppendUvarint(b, h.over)
	b = binary.AppendUvarint(b, uint64(h.max))
	b = binary.AppendUvarint(b, h.sumHi)
	b = binary.AppendUvarint(b, h.sumLo)
	next := 0
	h.each(func(i int, n uint64) bool {
		gap := uint64(i-next) << 1
		if n == 1 {
			b = binary.AppendUvarint(b, gap)
		} else {
			b = binary.AppendUvarint(b, gap|1)
			b = binary.AppendUvarint(b, n-2)
		}
		next = i + 1
		return true
	})
	return b
}

// varints reads numbers until one is damaged; then bad stays true and every number is 0.
type varints struct {
	b   []byte
	bad bool
}

func (v *varints) uint() uint64 {
	x, n := binary.Uvarint(v.b)
	if n <= 0 || v.bad {
		v.bad, v.b = true, nil
		return 0
	}
	v.b = v.b[n:]
	return x
}

func (v *varints) int() int64 {
	x := v.uint()
	return int64(x>>1) ^ -int64(x&1)
}

func (v *varints) bytes(n uint64) []byte {
	if n > uint64(len(v.b)) {
		v.bad, v.b = true, nil
		return nil
	}
	out := v.b[:n]
	v.b = v.b[n:]
	return out
}

// UnmarshalBinary reads it back; bad input is an error, never a panic, and leaves h empty.
// It takes no more memory than ten times the input.
func (h *Hist) UnmarshalBinary(b []byte) error {
	*h = Hist{}
	if len(b) == 0 {
		return nil
	}
	if b[0] != histCode {
		return errHist
	}
	v := varints{b: b[1:]}
	used := v.uint()
	d := Hist{over: v.uint()}
	longest := v.uint()
	d.sumHi, d.sumLo = v.uint(), v.uint()
	if v.bad || used > uint64(min(len(v.b), histLen)) || longest > math.MaxInt64 {
		return errHist
	}
	d.n, d.max = d.over, time.Duration(longest)
	d.idx, d.count = make([]uint16, 0, used), make([]uint64, 0, used)
	next := uint64(0)
	for range used {
		gap, n := v.uint(), uint64(1)
		if gap&1 == 1 {
			n = v.uint() + 2
		}
		i := next + gap>>1
		var carry uint64
		d.n, carry = bits.Add64(d.n, n, 0)
		if v.bad || gap>>1 >= histLen || i >= histLen || n == 0 || carry != 0 {
			return errHist
		}
		d.idx, d.count = append(d.idx, uint16(i)), append(d.count, n)
		next = i + 1
	}
	// The sum of n durations is below n times the longest; this also keeps Mean inside its type.
	hi, lo := bits.Mul64(d.n, longest)
	if len(v.b) != 0 || d.n == 0 || d.sumHi > hi || d.sumHi == hi && d.sumLo > lo {
		return errHist
	}
	*h = d
	return nil
}
