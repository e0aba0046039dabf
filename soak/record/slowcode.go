package record

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang/snappy"
)

const (
	slowCode     = 1
	slowMost     = 64 << 20 // bytes of one batch unpacked; a batch is a second's, so far below
	slowMostRows = 1 << 16  // operations in it, above batchLen + queueLen
)

var errSlow = errors.New("decode slow operations: damaged bytes")

// slowBatch collects the slow operations of one commit.
type slowBatch struct{ ops []slowOp }

type slowOp struct {
	id int64 // of the operation
	SlowOp
}

func (s *slowBatch) add(id int64, e SlowOp) { s.ops = append(s.ops, slowOp{id, e}) }

// A packed batch is its texts, each once, the number of operations, and for each column its length and its numbers.
const (
	slowInts  = 8 // operation, begin, and what it takes from there
	slowTexts = 5 // indices
)

// slowColumns are the numbers of e as they are stored, small where e is like prev.
func slowColumns(e, prev *slowOp) [slowInts]int64 {
	return [...]int64{e.id, int64(e.At - prev.At), int64(e.Start - e.At), int64(e.End - e.Start),
		int64(e.Uncertainty), int64(e.Worker), int64(e.Seq - prev.Seq), int64(e.Outcome)}
}

func (e *SlowOp) texts() [slowTexts]*string {
	return [...]*string{&e.Source, &e.Path, &e.Err, &e.Node, &e.Why}
}

// pack is the batch as it is stored, the operations sorted so that neighbours are alike. The batch is empty afterwards.
func (s *slowBatch) pack() (packed []byte, at, until time.Duration) {
	slices.SortStableFunc(s.ops, func(a, b slowOp) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.At, b.At))
	})
	var texts []byte
	var columns [slowInts + slowTexts][]byte
	index, prev := map[string]uint64{}, slowOp{}
	text := func(t string) uint64 {
		i, ok := index[t]
		if !ok {
			i = uint64(len(index))
			index[t] = i
			texts = binary.AppendUvarint(texts, uint64(len(t)))
			texts = append(texts, t...)
		}
		return i
	}
	for i := range s.ops {
		e := &s.ops[i]
		if i == 0 {
			at, until = e.At, e.End
		}
		at, until = min(at, e.At), max(until, e.End)
		for c, x := range slowColumns(e, &prev) {
			columns[c] = binary.AppendVarint(columns[c], x)
		}
		for c, t := range e.texts() {
			columns[slowInts+c] = binary.AppendUvarint(columns[slowInts+c], text(*t))
		}
		prev = *e
	}
	plain := binary.AppendUvarint(nil, uint64(len(index)))
	plain = append(plain, texts...)
	plain = binary.AppendUvarint(plain, uint64(len(s.ops)))
	for _, c := range columns {
		plain = binary.AppendUvarint(plain, uint64(len(c)))
		plain = append(plain, c...)
	}
	clear(s.ops)
	s.ops = s.ops[:0]
	return append([]byte{slowCode}, snappy.Encode(nil, plain)...), at, until
}

// unpackSlow reads a batch; names says which operation an id is. Its memory is bounded by slowMost.
func unpackSlow(b []byte, names func(id uint64) (opKey, bool)) ([]SlowOp, error) {
	if len(b) == 0 || b[0] != slowCode {
		return nil, errSlow
	}
	if n, err := snappy.DecodedLen(b[1:]); err != nil || n > slowMost {
		return nil, errSlow
	}
	plain, err := snappy.Decode(nil, b[1:])
	if err != nil {
		return nil, fmt.Errorf("decode slow operations: %w", err)
	}
	v := varints{b: plain}
	var texts []string
	used := v.uint()
	if used > slowTexts*slowMostRows {
		return nil, errSlow
	}
	for range used {
		if texts = append(texts, string(v.bytes(v.uint()))); v.bad {
			return nil, errSlow
		}
	}
	n := v.uint()
	if n > min(slowMostRows, uint64(len(v.b))) {
		return nil, errSlow
	}
	var columns [slowInts + slowTexts]varints
	for c := range columns {
		columns[c].b = v.bytes(v.uint())
	}
	ops, prev := make([]SlowOp, 0, n/8), SlowOp{}
	for range n {
		var x [slowInts]int64
		for c := range x {
			x[c] = columns[c].int()
		}
		op, known := names(uint64(x[0]))
		e := SlowOp{Workload: op.workload, Op: op.op, Size: op.size, Worker: int(x[5]), Seq: prev.Seq + uint64(x[6]), Outcome: Outcome(x[7])}
		e.At, e.Uncertainty = prev.At+time.Duration(x[1]), time.Duration(x[4])
		e.Start = e.At + time.Duration(x[2])
		e.End = e.Start + time.Duration(x[3])
		for c, t := range e.texts() {
			i := columns[slowInts+c].uint()
			if i >= uint64(len(texts)) {
				return nil, errSlow
			}
			*t = texts[i]
		}
		if !known {
			return nil, errSlow
		}
		ops, prev = append(ops, e), e
	}
	for _, c := range columns {
		if c.bad || len(c.b) != 0 {
			return nil, errSlow
		}
	}
	return ops, nil
}

// putSlow writes the slow operations of this batch.
func (w *writer) putSlow() error {
	if len(w.slow.ops) == 0 {
		return nil
	}
	packed, at, until := w.slow.pack()
	return w.exec("INSERT INTO slow_ops (at, until, ops) VALUES (?, ?, ?)", int64(at), int64(until), packed)
}
