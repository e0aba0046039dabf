package record

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawPoints(t *rapid.T) []Point {
	point := rapid.Custom(func(t *rapid.T) Point {
		return Point{time.Duration(rapid.Int64().Draw(t, "at")), rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Int32(), func(i int32) float64 { return float64(i) })).Draw(t, "value")}
	})
	return rapid.SliceOfN(point, 0, 80).Draw(t, "points")
}

func samePoints(a, b []Point) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].At != b[i].At || math.Float64bits(a[i].Value) != math.Float64bits(b[i].Value) {
			return false
		}
	}
	return true
}

func TestSamplesSurviveTheirEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := drawPoints(t)
		back, err := unpackPoints(packPoints(points))
		if err != nil || !samePoints(back, points) {
			t.Fatalf("%v, %v; want %v", back, err, points)
		}
		var tail []tailSample
		for _, p := range points {
			tail = append(tail, tailSample{rapid.Int64Range(1, 1<<40).Draw(t, "key"), p})
		}
		tailBack, err := unpackTail(packTail(tail))
		if err != nil || fmt.Sprint(tailBack) != fmt.Sprint(tail) {
			t.Fatalf("%v, %v; want %v", tailBack, err, tail)
		}
	})
}

func TestSlowOpsSurviveTheirEncoding(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "/a", "/b/c", "timeout", WhySlow})
	rapid.Check(t, func(t *rapid.T) {
		names := map[uint64]opKey{1: {"w", "create", 10}, 2: {"w", "delete", 0}}
		var s slowBatch
		for range 2 { // the second time with the memory of the first
			var want []SlowOp
			for range rapid.IntRange(0, 20).Draw(t, "n") {
				id := rapid.Uint64Range(1, 2).Draw(t, "op")
				ns := func(name string) time.Duration { return time.Duration(rapid.Int64().Draw(t, name)) }
				e := SlowOp{Stamp{text.Draw(t, "source"), ns("at"), ns("uncertainty")}, names[id].workload, names[id].op, names[id].size,
					rapid.Int().Draw(t, "worker"), text.Draw(t, "path"), rapid.Uint64().Draw(t, "seq"), ns("start"), ns("end"),
					Outcome(rapid.IntRange(0, 2).Draw(t, "outcome")), text.Draw(t, "err"), text.Draw(t, "node"), text.Draw(t, "why")}
				want = append(want, e)
				s.add(int64(id), e)
			}
			packed, first, last := s.pack()
			slices.SortStableFunc(want, func(a, b SlowOp) int { return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.At, b.At)) })
			for _, e := range want {
				if e.At < first || e.End > last {
					t.Fatalf("%s to %s is outside %s to %s", e.At, e.End, first, last)
				}
			}
			got, err := unpackSlow(packed, func(id uint64) (opKey, bool) { k, ok := names[id]; return k, ok })
			if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v, %v; want %+v", got, err, want)
			}
		}
	})
}

func FuzzUnpackPoints(f *testing.F) {
	f.Add(packPoints(nil))
	f.Add(packPoints([]Point{{1, 1}, {2e9, 2.5}, {3e9, math.Inf(1)}}))
	f.Add([]byte{pointsCode, 0xff, 0xff, 0xff, 0x7f, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		points, err := unpackPoints(b)
		if err != nil {
			return
		}
		if cap(points) > len(b) {
			t.Errorf("%d points taken for %d bytes", cap(points), len(b))
		}
		if back, err := unpackPoints(packPoints(points)); err != nil || !samePoints(back, points) {
			t.Errorf("%v, %v; want %v", back, err, points)
		}
	})
}

func FuzzUnpackTail(f *testing.F) {
	f.Add(packTail([]tailSample{{1, Point{1, 1}}, {300, Point{2e9, 2.5}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if samples, err := unpackTail(b); err == nil && cap(samples) > len(b) {
			t.Errorf("%d samples taken for %d bytes", cap(samples), len(b))
		}
	})
}

func FuzzUnpackSlow(f *testing.F) {
	var s slowBatch
	s.add(1, SlowOp{Stamp: at(5), Path: "/a", Why: WhySlow})
	packed, _, _ := s.pack()
	f.Add(packed)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = unpackSlow(b, func(id uint64) (opKey, bool) { return opKey{}, id < 9 })
	})
}
