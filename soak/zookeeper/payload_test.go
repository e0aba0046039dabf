package zookeeper

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nightshift/soak"
)

func TestHeaderComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.SliceOfN(rapid.Byte(), HeaderSize, 300).Draw(t, "payload")
		h := Header{
			Run: rapid.Uint32().Draw(t, "run"), Unit: rapid.Uint32().Draw(t, "unit"),
			Seq: rapid.Uint64().Draw(t, "seq"), Intended: time.Duration(rapid.Int64().Draw(t, "intended")),
		}
		h.Seal(payload)
		got, err := ParseHeader(payload)
		if err != nil || got != h {
			t.Fatalf("got %+v, %v; want %+v", got, err, h)
		}
		bit := rapid.IntRange(0, 8*len(payload)-1).Draw(t, "bit")
		payload[bit/8] ^= 1 << (bit % 8)
		if _, err := ParseHeader(payload); err == nil {
			t.Fatalf("bit %d of %d bytes was flipped, and nothing said", bit, len(payload))
		}
	})
}

func TestHeaderRefusesOthers(t *testing.T) {
	for name, in := range map[string]struct {
		data []byte
		want error
	}{
		"empty":       {nil, ErrForeign},
		"short":       {[]byte("nsh1"), ErrForeign},
		"foreign":     {bytes.Repeat([]byte{7}, 100), ErrForeign},
		"no checksum": {append([]byte("nsh1"), make([]byte, 100)...), ErrCorrupt},
	} {
		if _, err := ParseHeader(in.data); !errors.Is(err, in.want) {
			t.Errorf("%s: got %v, want %v", name, err, in.want)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add([]byte("nsh1"))
	f.Add(make([]byte, HeaderSize))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ParseHeader(data)
		if err != nil {
			return
		}
		again := bytes.Clone(data)
		h.Seal(again)
		if !bytes.Equal(again, data) {
			t.Fatalf("header %+v was accepted, and is written as %x, not %x", h, again[:HeaderSize], data[:HeaderSize])
		}
	})
}

// Same seed, same payloads; another seed or worker, others.
func TestPayloadsComeFromTheSeed(t *testing.T) {
	make3 := func(seed soak.Seed, worker int) []byte {
		c := &crew{env: Env{Seed: seed, RunID: "r"}, spec: spec{name: "w", size: 100}}
		f := c.filler(worker, c.pool())
		var all []byte
		for i := range 3 {
			all = append(all, f.next(1, uint64(i), time.Second)...)
		}
		return all
	}
	if !bytes.Equal(make3(1, 0), make3(1, 0)) {
		t.Error("the same seed gave different payloads")
	}
	if bytes.Equal(make3(1, 0), make3(2, 0)) || bytes.Equal(make3(1, 0), make3(1, 1)) {
		t.Error("another seed or worker gave the same payloads")
	}
}

func TestPayloadOfTheSmallestAndLargestSize(t *testing.T) {
	for _, size := range []int{HeaderSize, HeaderSize + 1, maxSize} {
		c := &crew{env: Env{Seed: 1, RunID: "r"}, spec: spec{name: "w", size: size}}
		f := c.filler(0, c.pool())
		for i := range 5 {
			p := f.next(3, uint64(i), 0)
			if h, err := ParseHeader(p); err != nil || len(p) != size || h.Seq != uint64(i) || h.Unit != 3 {
				t.Fatalf("size %d: %d bytes, %+v, %v", size, len(p), h, err)
			}
		}
	}
}

func TestPayloadDoesNotAllocate(t *testing.T) {
	c := &crew{env: Env{Seed: 1, RunID: "r"}, spec: spec{name: "w", size: 1024}}
	f := c.filler(0, c.pool())
	if n := testing.AllocsPerRun(100, func() { f.next(1, 2, 3) }); n != 0 {
		t.Errorf("%v allocations for a payload, want none", n)
	}
}

func BenchmarkPayload(b *testing.B) {
	c := &crew{env: Env{Seed: 1, RunID: "r"}, spec: spec{name: "w", size: 1024}}
	f := c.filler(0, c.pool())
	b.SetBytes(1024)
	for b.Loop() {
		f.next(1, 2, 3)
	}
}
