package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/golang/snappy"
)

const (
	slowCode = 1
	slowMost = 64 << 20 // bytes of one batch unpacked; a batch is a second's, so far below
)

var errSlow = errors.New("decode slow operations: damaged bytes")

// slowBatch collects the slow operations of one commit: numbers as differences, each text once.
type slowBatch struct {
	rows      []byte
	texts     []byte
	index     map[string]uint64
	n         int
	at, until time.Duration
	prev      time.Duration
}

func appendInt(b []byte, x int64) []byte { return binary.AppendVarint(b, x) }

func (s *slowBatch) text(t string) uint64 {
	i, ok := s.index[t]
	if !ok {
		if s.index == nil {
			s.index = map[string]uint64{}
		}
		i = uint64(len(s.index))
		s.index[t] = i
		s.texts = binary.AppendUvarint(s.texts, uint64(len(t)))
		s.texts = append(s.texts, t...)
	}
	return i
}

func (s *slowBatch) add(op int64, e SlowOp) {
	if s.n == 0 {
		s.at, s.until, s.prev = e.At, e.End, 0
	}
	s.at, s.until = min(s.at, e.At), max(s.until, e.End)
	s.n++
	b := binary.AppendUvarint(s.rows, uint64(op))
	b = appendInt(b, int64(e.At-s.prev))
	b = appendInt(b, int64(e.Start-e.At))
	b = appendInt(b, int64(e.End-e.Start))
	b = appendInt(b, int64(e.Uncertainty))
	b = appendInt(b, int64(e.Worker))
	b = binary.AppendUvarint(b, e.Seq)
	b = append(b, byte(e.Outcome))
	for _, t := range [...]string{e.Source, e.Path, e.Err, e.Node, e.Why} {
		b = binary.AppendUvarint(b, s.text(t))
	}
	s.rows, s.prev = b, e.At
}

// pack is the batch as it is stored; the batch is empty afterwards.
func (s *slowBatch) pack() []byte {
	b := binary.AppendUvarint(nil, uint64(len(s.index)))
	b = append(b, s.texts...)
	b = binary.AppendUvarint(b, uint64(s.n))
	b = append(b, s.rows...)
	clear(s.index)
	*s = slowBatch{rows: s.rows[:0], texts: s.texts[:0], index: s.index}
	return append([]byte{slowCode}, snappy.Encode(nil, b)...)
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
	for range v.uint() {
		if texts = append(texts, string(v.bytes(v.uint()))); v.bad {
			return nil, errSlow
		}
	}
	n := v.uint()
	if n > uint64(len(v.b)) {
		return nil, errSlow
	}
	ops, prev := make([]SlowOp, 0, n/8), time.Duration(0)
	for range n {
		e := SlowOp{}
		op, known := names(v.uint())
		e.Workload, e.Op, e.Size = op.workload, op.op, op.size
		e.At = prev + time.Duration(v.int())
		e.Start = e.At + time.Duration(v.int())
		e.End = e.Start + time.Duration(v.int())
		e.Uncertainty = time.Duration(v.int())
		e.Worker = int(v.int())
		e.Seq = v.uint()
		outcome := v.bytes(1)
		for _, t := range [...]*string{&e.Source, &e.Path, &e.Err, &e.Node, &e.Why} {
			i := v.uint()
			if i >= uint64(len(texts)) {
				return nil, errSlow
			}
			*t = texts[i]
		}
		if v.bad || !known {
			return nil, errSlow
		}
		e.Outcome, prev = Outcome(outcome[0]), e.At
		ops = append(ops, e)
	}
	return ops, nil
}

// putSlow writes the slow operations of this batch.
func (w *writer) putSlow() error {
	if w.slow.n == 0 {
		return nil
	}
	at, until := w.slow.at, w.slow.until
	return w.exec("INSERT INTO slow_ops (at, until, ops) VALUES (?, ?, ?)", int64(at), int64(until), w.slow.pack())
}
