package record

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"time"
)

const (
	pointsCode = 1
	tailCode   = 1
)

var errPoints = errors.New("decode samples: damaged bytes")

// Point is one sample of a series.
type Point struct {
	At    time.Duration
	Value float64
}

// packPoints is the stored form of one minute of one series: times as second differences, values as the
// difference of their bits to the value before, turned around, so that small whole numbers stay small.
func packPoints(points []Point) []byte {
	b := append(make([]byte, 0, 16+5*len(points)), pointsCode)
	b = binary.AppendUvarint(b, uint64(len(points)))
	at, step, value := int64(0), int64(0), uint64(0)
	for _, p := range points {
		d := int64(p.At) - at
		b = binary.AppendVarint(b, d-step)
		v := math.Float64bits(p.Value)
		b = binary.AppendUvarint(b, bits.Reverse64(v^value))
		at, step, value = int64(p.At), d, v
	}
	return b
}

// unpackPoints reads them back, in at most eight times the memory of b.
func unpackPoints(b []byte) ([]Point, error) {
	if len(b) == 0 || b[0] != pointsCode {
		return nil, errPoints
	}
	v := varints{b: b[1:]}
	n := v.uint()
	if v.bad || n > uint64(len(v.b)/2) {
		return nil, errPoints
	}
	points := make([]Point, 0, n)
	at, step, value := int64(0), int64(0), uint64(0)
	for range n {
		step += v.int()
		at += step
		value ^= bits.Reverse64(v.uint())
		points = append(points, Point{time.Duration(at), math.Float64frombits(value)})
	}
	if v.bad || len(v.b) != 0 {
		return nil, errPoints
	}
	return points, nil
}

// tailSample is a sample that waits for its fold.
type tailSample struct {
	key int64
	Point
}

// packTail is the stored form of a second's samples of all series.
func packTail(samples []tailSample) []byte {
	b := append(make([]byte, 0, 16+12*len(samples)), tailCode)
	b = binary.AppendUvarint(b, uint64(len(samples)))
	at := time.Duration(0)
	for _, s := range samples {
		b = binary.AppendUvarint(b, uint64(s.key))
		b = binary.AppendVarint(b, int64(s.At-at))
		b = binary.AppendUvarint(b, bits.Reverse64(math.Float64bits(s.Value)))
		at = s.At
	}
	return b
}

func unpackTail(b []byte) ([]tailSample, error) {
	if len(b) == 0 || b[0] != tailCode {
		return nil, errPoints
	}
	v := varints{b: b[1:]}
	n := v.uint()
	if v.bad || n > uint64(len(v.b)/3) {
		return nil, errPoints
	}
	samples := make([]tailSample, 0, n)
	at := time.Duration(0)
	for range n {
		key := v.uint()
		at += time.Duration(v.int())
		samples = append(samples, tailSample{int64(key), Point{at, math.Float64frombits(bits.Reverse64(v.uint()))}})
	}
	if v.bad || len(v.b) != 0 {
		return nil, errPoints
	}
	return samples, nil
}

// SeriesKey names one series.
type SeriesKey struct{ Name, Node, Unit string }

// samples holds what stands in tail: the open minute, and this batch.
type samples struct {
	keys   map[SeriesKey]int64
	tail   []tailSample
	batch  []tailSample
	closed time.Duration // begin of the open minute
}

func newSamples() samples { return samples{keys: map[SeriesKey]int64{}} }

func (w *writer) putSample(e Series) error {
	k := SeriesKey{e.Name, e.Node, e.Unit}
	id, ok := w.samples.keys[k]
	if !ok {
		var err error
		if id, err = w.execID("INSERT INTO keys (name, node, unit) VALUES (?, ?, ?)", k.Name, k.Node, k.Unit); err != nil {
			return err
		}
		w.samples.keys[k] = id
	}
	w.end = max(w.end, e.At)
	w.samples.batch = append(w.samples.batch, tailSample{id, Point{e.At, e.Value}})
	return nil
}

// putSamples adds the batch to tail, and folds tail when a minute is over; at the end all of it.
func (w *writer) putSamples(last bool) error {
	s := &w.samples
	if over := floor(w.end, Minute); over > s.closed || last {
		s.closed = over
		return w.fold(last)
	}
	if len(s.batch) == 0 {
		return nil
	}
	s.tail = append(s.tail, s.batch...)
	err := w.exec("INSERT INTO tail (samples) VALUES (?)", packTail(s.batch))
	s.batch = s.batch[:0]
	return err
}

// fold makes one blob of each series and minute of what has been waiting, and leaves the open minute in tail.
func (w *writer) fold(last bool) error {
	s := &w.samples
	s.tail = append(s.tail, s.batch...)
	s.batch = s.batch[:0]
	slices.SortStableFunc(s.tail, func(a, b tailSample) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.At, b.At))
	})
	var open []tailSample
	var points []Point
	for i, t := range s.tail {
		if t.At >= s.closed && !last {
			open = append(open, t)
			continue
		}
		points = append(points, t.Point)
		if i+1 < len(s.tail) && s.tail[i+1].key == t.key && floor(s.tail[i+1].At, Minute) == floor(t.At, Minute) {
			continue
		}
		err := w.exec("INSERT INTO series (key, at, until, points) VALUES (?, ?, ?, ?)",
			t.key, int64(points[0].At), int64(t.At), packPoints(points))
		if err != nil {
			return err
		}
		points = points[:0]
	}
	s.tail = append(s.tail[:0], open...)
	if err := w.exec("DELETE FROM tail"); err != nil || len(open) == 0 {
		return err
	}
	return w.exec("INSERT INTO tail (samples) VALUES (?)", packTail(open))
}
