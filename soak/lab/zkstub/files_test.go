package zkstub_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

// disk is what a reader of its own makes of a node's directory.
type disk struct {
	logs  []int64 // names, in order
	snaps []int64
	zxids []int64 // of all records, in order
	paths []string
}

type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) next(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad = true
		return make([]byte, max(n, 0))
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}
func (c *cursor) i32() int   { return int(int32(binary.BigEndian.Uint32(c.next(4)))) }
func (c *cursor) i64() int64 { return int64(binary.BigEndian.Uint64(c.next(8))) }
func (c *cursor) str() string {
	if n := c.i32(); n > 0 {
		return string(c.next(n))
	}
	return ""
}

func named(t *testing.T, dir, prefix string) []int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var out []int64
	for _, e := range entries {
		if hex, ok := strings.CutPrefix(e.Name(), prefix); ok {
			z, err := strconv.ParseInt(hex, 16, 64)
			must(t, err)
			out = append(out, z)
		}
	}
	slices.Sort(out)
	return out
}

// restore reads the newest snapshot and the transactions after it, as a server does at its start.
func restore(t *testing.T, dir string, prealloc int64) disk {
	t.Helper()
	d := disk{logs: named(t, dir, "log."), snaps: named(t, dir, "snapshot.")}
	for _, z := range d.snaps {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("snapshot.%x", z)))
		must(t, err)
		last := len(b) - 13
		if !bytes.HasSuffix(b, []byte{0, 0, 0, 1, '/'}) || int64(adler32.Checksum(b[:last])) != int64(binary.BigEndian.Uint64(b[last:])) {
			t.Errorf("snapshot.%x is not sealed", z)
		}
	}
	from := d.snaps[len(d.snaps)-1]
	paths := loadSnapshot(t, filepath.Join(dir, fmt.Sprintf("snapshot.%x", from)))
	for _, name := range d.logs {
		file := filepath.Join(dir, fmt.Sprintf("log.%x", name))
		b, err := os.ReadFile(file)
		must(t, err)
		if (int64(len(b))-16)%prealloc != 0 || string(b[:4]) != "ZKLG" {
			t.Errorf("%s: %d bytes, begins with %q", file, len(b), b[:4])
		}
		c := &cursor{b: b[16:]}
		for first := true; ; first = false {
			sum, n := c.i64(), c.i32()
			if n == 0 || c.bad {
				break
			}
			payload := c.next(n)
			if int64(adler32.Checksum(payload)) != sum || string(c.next(1)) != "B" {
				t.Fatalf("%s: damaged record", file)
			}
			p := &cursor{b: payload}
			p.i64()
			p.i32()
			zxid := p.i64()
			if first && zxid != name {
				t.Errorf("%s begins with 0x%x", file, zxid)
			}
			d.zxids = append(d.zxids, zxid)
			p.i64()
			if kind := p.i32(); zxid > from {
				replay(paths, kind, p)
			}
			if p.bad {
				t.Errorf("0x%x: body too short", zxid)
			}
		}
	}
	d.paths = slices.Sorted(maps.Keys(paths))
	return d
}

func replay(paths map[string]bool, kind int, p *cursor) {
	switch kind {
	case 1, 15:
		paths[p.str()] = true
	case 2:
		delete(paths, p.str())
	case -11:
		for range p.i32() {
			delete(paths, p.str())
		}
	}
}

func loadSnapshot(t *testing.T, file string) map[string]bool {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	c := &cursor{b: b[16:]}
	for range c.i32() {
		c.i64()
		c.i32()
	}
	if c.i32() != 0 {
		t.Error("ACLs in a snapshot")
	}
	paths := map[string]bool{}
	for {
		path := c.str()
		if path == "/" || c.bad {
			break
		}
		if path != "" {
			paths[path] = true
		}
		if n := c.i32(); n > 0 {
			c.next(n)
		}
		c.next(8 + 60)
	}
	if c.bad || len(c.b) != 13+(8+4+8)+13+8+13 {
		t.Errorf("%s: %d bytes after the tree", file, len(c.b))
	}
	return paths
}

// contiguous says whether no transaction is missing.
func contiguous(zxids []int64) error {
	for i := 1; i < len(zxids); i++ {
		a, b := zxids[i-1], zxids[i]
		if b != a+1 && (b>>32 <= a>>32 || b&0xffffffff != 1) {
			return fmt.Errorf("0x%x after 0x%x", b, a)
		}
	}
	return nil
}

// load makes n changes of every kind.
func load(t *testing.T, c *zookeeper.Conn, n int, rnd *rand.Rand) {
	t.Helper()
	for range n {
		p := fmt.Sprintf("/p%02d", rnd.IntN(40))
		var err error
		switch rnd.IntN(4) {
		case 0:
			err = c.Delete(ctx(), p, -1)
		case 1:
			_, err = c.Set(ctx(), p, make([]byte, rnd.IntN(3000)), -1)
		default:
			_, err = c.Create(ctx(), p, make([]byte, rnd.IntN(3000)), int32(rnd.IntN(2)))
		}
		if class := zookeeper.Class(err); class != "" && class != "no node" && class != "node exists" {
			t.Fatal(err)
		}
	}
}

func TestFilesRestore(t *testing.T) {
	const prealloc = 16 << 10
	inBubble(t, zkstub.Options{Dir: t.TempDir(), SnapCount: 40, PreAlloc: prealloc}, func(t *testing.T, e *zkstub.Ensemble) {
		rnd := rand.New(rand.NewPCG(1, 2))
		c := connect(t, e, zookeeper.Options{}, 2)
		gone := connect(t, e, zookeeper.Options{}, 2)
		load(t, gone, 100, rnd)
		closeAll(t, gone)
		must(t, e.Stop(1))
		load(t, c, 100, rnd)
		must(t, e.Start(1))
		load(t, c, 10, rnd)
		must(t, e.Pause(1))
		load(t, c, 30, rnd)
		must(t, e.Resume(1))
		must(t, e.Stop(3)) // the leader
		time.Sleep(3 * time.Second)
		load(t, c, 50, rnd)
		want := e.Paths("/")
		for id := 1; id <= 3; id++ {
			dir := e.Dir(id)
			if id == 3 { // what it has missed is written when it starts
				before := restore(t, dir, prealloc)
				must(t, e.Start(3))
				if after := restore(t, dir, prealloc); len(after.logs) != len(before.logs)+1 {
					t.Errorf("logs %x before, %x after a start", before.logs, after.logs)
				}
			}
			d := restore(t, dir, prealloc)
			if !slices.Equal(d.paths, want) {
				t.Errorf("node %d restores to %v, want %v", id, d.paths, want)
			}
			if err := contiguous(d.zxids); err != nil || d.zxids[len(d.zxids)-1] != e.Zxid() {
				t.Errorf("node %d: %v, last 0x%x of 0x%x", id, err, d.zxids[len(d.zxids)-1], e.Zxid())
			}
			if len(d.snaps) < 5 || d.snaps[0] != 0 || len(d.logs) < 5 {
				t.Errorf("node %d: snapshots %x, logs %x", id, d.snaps, d.logs)
			}
			for _, s := range d.snaps[1:3] { // the transaction after a snapshot's name is in the log before
				if slices.Contains(d.logs, s+1) || !slices.Contains(d.logs, s+2) {
					t.Errorf("node %d: snapshot %x beside logs %x", id, s, d.logs)
				}
			}
			b, err := os.ReadFile(filepath.Join(dir, "currentEpoch"))
			if err != nil || string(b) != "2" && id != 3 {
				t.Errorf("node %d: epoch %q, %v", id, b, err)
			}
		}
		closeAll(t, c)
	})
}

// A node that was away for more than is kept gets a snapshot; the transactions in between are in none of its logs.
func TestFilesAfterALongAbsence(t *testing.T) {
	inBubble(t, zkstub.Options{Dir: t.TempDir()}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{Buffer: 1 << 20}, 2)
		must(t, e.Stop(1))
		for range 8 {
			_, err := c.Set(ctx(), "/zookeeper", make([]byte, 700<<10), -1)
			must(t, err)
		}
		_, err := c.Create(ctx(), "/new", nil, 0)
		must(t, err)
		must(t, e.Start(1))
		_, err = c.Create(ctx(), "/newer", nil, 0)
		must(t, err)
		d := restore(t, e.Dir(1), 64<<10)
		if !slices.Equal(d.paths, e.Paths("/")) || len(d.snaps) != 2 || contiguous(d.zxids) == nil {
			t.Errorf("snapshots %x, transactions %x, nodes %v", d.snaps, d.zxids, d.paths)
		}
		closeAll(t, c)
	})
}

func TestDiskFailureStopsTheNode(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, zkstub.Options{}, func(t *testing.T, _ *zkstub.Ensemble) {
		e, err := zkstub.New(zkstub.Options{Dir: dir, Latency: time.Millisecond})
		must(t, err)
		must(t, os.RemoveAll(e.Dir(1)))
		c := connect(t, e, zookeeper.Options{}, 2)
		wantRoles(t, e, "stopped", "follower", "leader")
		if e.Err() == nil {
			t.Error("the failure was swallowed")
		}
		_, err = c.Create(ctx(), "/x", nil, 0)
		must(t, err)
		closeAll(t, c)
		if e.Close() == nil {
			t.Error("close does not tell the failure")
		}
	})
}
