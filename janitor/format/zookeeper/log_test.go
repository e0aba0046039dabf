package zookeeper_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	. "nightshift/janitor/format/zookeeper"
	"nightshift/janitor/format/zookeeper/zookeepertest"
)

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func flip(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 0x10
	return b
}

func TestReadLog(t *testing.T) {
	ids := zookeepertest.Ids
	one := zookeepertest.Log(0, 7)
	rec := zookeepertest.Record(8, 10)
	garbage := binary.BigEndian.AppendUint32(make([]byte, 8), MaxRecord+1)
	negative := binary.BigEndian.AppendUint32(make([]byte, 8), 0xffffffff)
	for name, c := range map[string]struct {
		bytes  []byte
		end    End
		count  int
		offset int
		runs   []Run
	}{
		"empty":          {nil, EndEmpty, 0, 0, nil},
		"half header":    {one[:8], EndTorn, 0, 0, nil},
		"all zeros":      {make([]byte, 100), EndGarbage, 0, 0, nil},
		"other version":  {flip(one, 7), EndGarbage, 0, 0, nil},
		"header only":    {one[:16], EndEOF, 0, 16, nil},
		"header, zeros":  {cat(one[:16], make([]byte, 65536)), EndPadding, 0, 16, nil},
		"one":            {one, EndEOF, 1, len(one), []Run{{7, 7}}},
		"few zeros":      {cat(one, make([]byte, 5)), EndPadding, 1, len(one), []Run{{7, 7}}},
		"padding":        {zookeepertest.Log(70000, ids(7, 3)...), EndPadding, 3, len(zookeepertest.Log(0, ids(7, 3)...)), []Run{{7, 9}}},
		"cut in length":  {cat(one, rec[:10]), EndTorn, 1, len(one), []Run{{7, 7}}},
		"cut in payload": {cat(one, rec[:40]), EndTorn, 1, len(one), []Run{{7, 7}}},
		"cut end mark":   {cat(one, rec[:len(rec)-1]), EndTorn, 1, len(one), []Run{{7, 7}}},
		"half, zeros":    {cat(one, rec[:40], make([]byte, 500)), EndTorn, 1, len(one), []Run{{7, 7}}},
		"flipped":        {cat(one, flip(rec, 30), rec), EndChecksum, 1, len(one), []Run{{7, 7}}},
		"flipped sum":    {cat(one, flip(rec, 7)), EndChecksum, 1, len(one), []Run{{7, 7}}},
		"too long":       {cat(one, garbage, make([]byte, 99)), EndGarbage, 1, len(one), []Run{{7, 7}}},
		"negative":       {cat(one, negative, make([]byte, 99)), EndGarbage, 1, len(one), []Run{{7, 7}}},
		"short payload":  {cat(one, zookeepertest.Frame([]byte("x"))), EndGarbage, 1, len(one), []Run{{7, 7}}},
		"goes back":      {cat(one, zookeepertest.Record(6, 1)), EndOrder, 1, len(one), []Run{{7, 7}}},
		"twice":          {cat(one, zookeepertest.Record(7, 1)), EndOrder, 1, len(one), []Run{{7, 7}}},
		"gap":            {zookeepertest.Log(0, 7, 8, 11, 12), EndEOF, 4, len(zookeepertest.Log(0, ids(7, 4)...)), []Run{{7, 8}, {11, 12}}},
		"new epoch":      {zookeepertest.Log(0, 7, 1<<32+1), EndEOF, 2, 0, []Run{{7, 1<<32 + 1}}},
		"big record":     {cat(one, zookeepertest.Record(8, 3<<20), zookeepertest.Record(9, 1)), EndEOF, 3, 0, []Run{{7, 9}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{bytes.NewReader(c.bytes), iotest.HalfReader(bytes.NewReader(c.bytes))} {
				l, err := ReadLog(r)
				if err != nil {
					t.Fatal(err)
				}
				if l.End != c.end || l.Count != c.count || !slices.Equal(l.Runs, c.runs) {
					t.Errorf("%d records %v, ends with %v at %d, want %d %v %v", l.Count, l.Runs, l.End, l.Offset, c.count, c.runs, c.end)
				}
				if c.offset != 0 && l.Offset != int64(c.offset) {
					t.Errorf("ends at %d, want %d", l.Offset, c.offset)
				}
				if n := len(c.runs); n > 0 && (l.First != c.runs[0].First || l.Last != c.runs[n-1].Last) {
					t.Errorf("from %v to %v, want the ends of %v", l.First, l.Last, c.runs)
				}
			}
		})
	}
}

func TestReadLogManyGaps(t *testing.T) {
	var ids []Zxid
	for i := range MaxRuns + 10 {
		ids = append(ids, Zxid(1+3*i))
	}
	l, err := ReadLog(bytes.NewReader(zookeepertest.Log(0, ids...)))
	if err != nil || l.End != EndGarbage || len(l.Runs) != MaxRuns || l.Count != MaxRuns {
		t.Errorf("%d runs, %d records, end %v, %v", len(l.Runs), l.Count, l.End, err)
	}
}

func TestRecords(t *testing.T) {
	b := zookeepertest.Log(100, zookeepertest.Ids(5, 4)...)
	var ids []Zxid
	tail, err := Records(bytes.NewReader(b), func(r Record) bool {
		ids = append(ids, r.Zxid)
		if r.Session != 0x1000 || r.Type != 1 || r.Time.UnixMilli() != int64(r.Zxid) || len(r.Body) == 0 {
			t.Errorf("record %+v", r)
		}
		return r.Zxid < 7
	})
	if err != nil || !slices.Equal(ids, []Zxid{5, 6, 7}) {
		t.Errorf("got %v, %v, want to stop after 7", ids, err)
	}
	if want := int64(len(zookeepertest.Log(0, 5, 6, 7))); tail.Offset != want {
		t.Errorf("stopped at %d, want %d", tail.Offset, want)
	}
}

// A failed read is an error, never a judgement of the content.
func TestReadErrors(t *testing.T) {
	bad := errors.New("disk on fire")
	for _, data := range [][]byte{nil, zookeepertest.Log(0, 1, 2)[:90], zookeepertest.Log(0, 1)} {
		if _, err := ReadLog(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(bad))); !errors.Is(err, bad) {
			t.Errorf("log of %d bytes: %v", len(data), err)
		}
	}
	plain := zookeepertest.Snapshot(9, 50, 3)
	for name, data := range map[string][]byte{"snapshot.9": plain, "snapshot.9.gz": zookeepertest.Gzip(plain), "snapshot.9.snappy": zookeepertest.Snappy(plain)} {
		for _, n := range []int{0, 5, len(data) / 2, len(data)} {
			if _, err := ReadSnapshot(name, io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(bad))); !errors.Is(err, bad) {
				t.Errorf("%s, %d bytes: %v", name, n, err)
			}
		}
	}
}

// A length out of garbage must not be believed before its bytes are there.
func TestGarbageAllocatesLittle(t *testing.T) {
	b := binary.BigEndian.AppendUint32(cat(zookeepertest.LogHeader(), make([]byte, 8)), MaxRecord)
	b = append(b, make([]byte, 1000)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if l, err := ReadLog(bytes.NewReader(b)); err != nil || l.End != EndTorn {
		t.Fatal(l, err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 2<<20 {
		t.Errorf("%d bytes allocated for a file of %d", grown, len(b))
	}
}

func FuzzLog(f *testing.F) {
	f.Add(zookeepertest.Log(20, 1, 2, 3))
	f.Add(zookeepertest.Log(0, 1, 2, 3)[:100])
	f.Add(flip(zookeepertest.Log(0, 1, 2, 3), 60))
	f.Add(zookeepertest.Log(0, 1, 5, 1<<32+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ReadLog(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if l.Offset < 0 || l.Offset > int64(len(b)) || (l.Count == 0) != (len(l.Runs) == 0) {
			t.Fatalf("%+v of %d bytes", l, len(b))
		}
		prev := Zxid(-1 << 63)
		for i, r := range l.Runs {
			if r.Last < r.First || i > 0 && (r.First <= prev || r.First.Follows(prev)) {
				t.Fatalf("runs %v", l.Runs)
			}
			prev = r.Last
		}
		// What was accepted reads the same when cut there.
		again, err := ReadLog(bytes.NewReader(b[:l.Offset]))
		if err != nil || again.Count != l.Count || again.Last != l.Last {
			t.Fatalf("cut at its end: %+v, was %+v, %v", again, l, err)
		}
	})
}

func BenchmarkReadLog(b *testing.B) {
	log := zookeepertest.LogHeader()
	for z := Zxid(1); len(log) < 64<<20; z++ {
		log = append(log, zookeepertest.Record(z, 1024)...)
	}
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if l, err := ReadLog(bytes.NewReader(log)); err != nil || l.End != EndEOF {
			b.Fatal(l.End, err)
		}
	}
}
