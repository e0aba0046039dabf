package zookeeper_test

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"testing"
	"testing/iotest"

	"github.com/golang/snappy"

	. "nightshift/janitor/format/zookeeper"
	"nightshift/janitor/format/zookeeper/zookeepertest"
)

func readSnapshot(t *testing.T, name string, b []byte) SnapshotFile {
	t.Helper()
	s, err := ReadSnapshot(name, iotest.HalfReader(bytes.NewReader(b)))
	if err != nil {
		t.Fatal(err)
	}
	if s.Whole != (s.Reason == "") {
		t.Errorf("whole %v, because %q", s.Whole, s.Reason)
	}
	return s
}

func TestSnapshotWhole(t *testing.T) {
	for seals := 1; seals <= 3; seals++ {
		plain := zookeepertest.Snapshot(0x20, 3000, seals)
		for name, b := range map[string][]byte{"snapshot.1f": plain, "snapshot.1f.gz": zookeepertest.Gzip(plain), "snapshot.1f.snappy": zookeepertest.Snappy(plain)} {
			s := readSnapshot(t, name, b)
			if !s.Whole || s.Zxid != 0x1f || s.Nodes != 3002 || s.Sessions != 1 || s.Seals != seals || s.Bytes != int64(len(plain)) {
				t.Errorf("%s with %d seals: %+v", name, seals, s)
			}
			if len(s.Marks) != 1 || s.Marks[0] != 0x20 {
				t.Errorf("%s with %d seals: marks %v", name, seals, s.Marks)
			}
			if z, ok := s.Stamp(); ok != (seals > 1) || ok && z != 0x20 {
				t.Errorf("%s with %d seals: stamp %v %v", name, seals, z, ok)
			}
			if s.HasLast != (seals > 2) || s.HasDigest != (seals > 1) || s.HasDigest && s.Digest != 0x359ef59fd0 {
				t.Errorf("%s with %d seals: %+v", name, seals, s)
			}
		}
	}
}

// A server without digests (digest.enabled=false) writes the last zxid behind the first seal.
func TestSnapshotLastWithoutDigest(t *testing.T) {
	b := zookeepertest.Snapshot(0x20, 3, 1)
	b = binary.BigEndian.AppendUint64(b, 0x20)
	b = binary.BigEndian.AppendUint64(b, uint64(adler32.Checksum(b)))
	b = append(b, 0, 0, 0, 1, '/')
	if s := readSnapshot(t, "snapshot.1f", b); !s.Whole || s.HasDigest || !s.HasLast || s.Last != 0x20 || s.Seals != 2 {
		t.Errorf("%+v", s)
	}
}

// No cut is whole, but for the two behind a seal: those are what an older server would have written.
func TestSnapshotCutAnywhere(t *testing.T) {
	plain := zookeepertest.Snapshot(0x20, 4, 3)
	for n := range plain {
		s := readSnapshot(t, "snapshot.1f", plain[:n])
		if want := n == len(plain)-21 || n == len(plain)-54; s.Whole != want {
			t.Errorf("cut to %d of %d bytes: whole %v, want %v (%s)", n, len(plain), s.Whole, want, s.Reason)
		}
	}
	for name, packed := range map[string][]byte{"snapshot.1f.gz": zookeepertest.Gzip(plain), "snapshot.1f.snappy": zookeepertest.Snappy(plain)} {
		for n := range packed {
			if s := readSnapshot(t, name, packed[:n]); s.Whole {
				t.Errorf("%s cut to %d of %d bytes counts as whole", name, n, len(packed))
			}
		}
	}
}

func TestSnapshotFlippedAnywhere(t *testing.T) {
	plain := zookeepertest.Snapshot(0x20, 4, 3)
	for at := range plain {
		if s := readSnapshot(t, "snapshot.1f", flip(plain, at)); s.Whole {
			t.Errorf("byte %d flipped counts as whole", at)
		}
	}
	const head = 20 // of the stream and of its only block
	packed := zookeepertest.Snappy(plain)
	for at := range packed {
		bad := flip(packed, at)
		if out, err := snappy.Decode(nil, bad[head:]); at >= head && err == nil && bytes.Equal(out, plain) {
			continue // a copy from elsewhere of the same bytes
		}
		if s := readSnapshot(t, "snapshot.1f.snappy", bad); s.Whole {
			t.Errorf("snappy with byte %d flipped counts as whole", at)
		}
	}
	gz := zookeepertest.Gzip(plain)
	for at := 10; at < len(gz); at++ { // the header before has a time and other bytes without meaning
		if s := readSnapshot(t, "snapshot.1f.gz", flip(gz, at)); s.Whole {
			t.Errorf("gz with byte %d flipped counts as whole", at)
		}
	}
}

func TestSnapshotGrownOrForeign(t *testing.T) {
	plain := zookeepertest.Snapshot(0x20, 4, 3)
	for name, b := range map[string][]byte{
		"a byte more":   append(bytes.Clone(plain), 0),
		"many more":     append(bytes.Clone(plain), make([]byte, 1000)...),
		"one seal more": append(bytes.Clone(plain), plain[len(plain)-21:]...),
		"a log":         zookeepertest.Log(100, 1, 2),
		"zeros":         make([]byte, 500),
		"text":          []byte("operator notes, kept for later"),
	} {
		if s := readSnapshot(t, "snapshot.1f", b); s.Whole {
			t.Errorf("%s: counts as whole", name)
		}
	}
	if s := readSnapshot(t, "snapshot.1f.gz", plain); s.Whole {
		t.Error("plain bytes under a gz name count as whole")
	}
}

func FuzzSnapshot(f *testing.F) {
	plain := zookeepertest.Snapshot(0x20, 3, 3)
	f.Add(uint8(0), plain)
	f.Add(uint8(0), zookeepertest.Snapshot(0x20, 0, 1))
	f.Add(uint8(1), zookeepertest.Gzip(plain))
	f.Add(uint8(2), zookeepertest.Snappy(plain))
	f.Fuzz(func(t *testing.T, packed uint8, b []byte) {
		name := "snapshot.1f" + []string{"", ".gz", ".snappy"}[packed%3]
		s, err := ReadSnapshot(name, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if !s.Whole {
			return
		}
		if packed%3 == 0 { // the cheap test of the last seal must agree
			end := len(b) - 13
			if end < 29 || int64(adler32.Checksum(b[:end])) != int64(binary.BigEndian.Uint64(b[end:])) {
				t.Fatalf("counts as whole, but its last seal does not hold")
			}
		}
	})
}

func BenchmarkReadSnapshot(b *testing.B) {
	const nodes = 1_000_000
	snapshot := zookeepertest.Snapshot(1, nodes, 3)
	b.SetBytes(int64(len(snapshot)))
	for b.Loop() {
		if s, err := ReadSnapshot("snapshot.1", bytes.NewReader(snapshot)); err != nil || !s.Whole || s.Nodes != nodes+2 {
			b.Fatal(s.Reason, err)
		}
	}
}
