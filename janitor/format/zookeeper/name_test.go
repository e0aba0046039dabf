package zookeeper_test

import (
	"math"
	"strings"
	"testing"

	. "nightshift/janitor/format/zookeeper"
)

// What a name is to us, and what ZooKeeper makes of it (seen on real servers).
var names = []struct {
	name   string
	kind   Kind
	zxid   Zxid
	packed Compression
	theirs Kind // Foreign: getZxidFromName gives -1
	theirZ Zxid
}{
	{name: "log.1", kind: Log, zxid: 1, theirs: Log, theirZ: 1},
	{name: "log.18db", kind: Log, zxid: 0x18db, theirs: Log, theirZ: 0x18db},
	{name: "log.100000001", kind: Log, zxid: 1<<32 + 1, theirs: Log, theirZ: 1<<32 + 1},
	{name: "log.7fffffffffffffff", kind: Log, zxid: math.MaxInt64, theirs: Log, theirZ: math.MaxInt64},
	{name: "snapshot.0", kind: Snapshot, theirs: Snapshot},
	{name: "snapshot.e", kind: Snapshot, zxid: 14, theirs: Snapshot, theirZ: 14},
	{name: "snapshot.e.gz", kind: Snapshot, zxid: 14, packed: Gzip, theirs: Snapshot, theirZ: 14},
	{name: "snapshot.e.snappy", kind: Snapshot, zxid: 14, packed: Snappy, theirs: Snapshot, theirZ: 14},
	{name: "snapshot.e.tmp", kind: Temp, zxid: 14, theirs: Snapshot, theirZ: 14},
	{name: "snapshot.e.gz.tmp", kind: Temp, zxid: 14, packed: Gzip, theirs: Snapshot, theirZ: 14},
	{name: "acceptedEpoch", kind: Epoch},
	{name: "currentEpoch", kind: Epoch},
	{name: "updatingEpoch", kind: Epoch},
	{name: "currentEpoch.tmp", kind: Temp},
	// Shadows: ours by no means, theirs all the same.
	{name: "log.7f0.bak", theirs: Log, theirZ: 0x7f0},
	{name: "log.5ac.gz", theirs: Log, theirZ: 0x5ac},
	{name: "log.1.2.3", theirs: Log, theirZ: 1},
	{name: "log.1.", theirs: Log, theirZ: 1},
	{name: "log.1.tmp", theirs: Log, theirZ: 1},
	{name: "log.+b", theirs: Log, theirZ: 11},
	{name: "log.-5", theirs: Log, theirZ: -5},
	{name: "log.0000000b", theirs: Log, theirZ: 11},
	{name: "log.B", theirs: Log, theirZ: 11},
	{name: "log.١", theirs: Log, theirZ: 1},
	{name: "log.ｆ", theirs: Log, theirZ: 15},
	{name: "snapshot.5ab.old", theirs: Snapshot, theirZ: 0x5ab},
	{name: "snapshot.18d9.copy", theirs: Snapshot, theirZ: 0x18d9},
	{name: "snapshot.e.gz.gz", theirs: Snapshot, theirZ: 14},
	{name: "snapshot.e.", theirs: Snapshot, theirZ: 14},
	{name: "snapshot.00", theirs: Snapshot, theirZ: 0},
	{name: "snapshot.-0", theirs: Snapshot, theirZ: 0},
	// Nobody's.
	{name: ""}, {name: "log"}, {name: "log."}, {name: "logs"}, {name: "log.bak"}, {name: "log.bak.1"}, {name: "log.0x10"},
	{name: "log.ffffffffffffffff"}, {name: "log.8000000000000000"}, {name: "log. 1"}, {name: "log.1_0"}, {name: "log..1"},
	{name: "Log.1"}, {name: ".log.1.swp"}, {name: "snapshot"}, {name: "snapshot."}, {name: "snapshot.old"}, {name: "snapshot.tmp"},
	{name: "snapshot.0xe"}, {name: "snapshots.1"}, {name: "snapshot..gz"}, {name: "myid"}, {name: "updatingEpoch.tmp2"},
}

func TestNames(t *testing.T) {
	for _, c := range names {
		got := Classify(c.name)
		if got != (Name{c.kind, c.zxid, c.packed}) {
			t.Errorf("Classify(%q) = %+v, want %v %v %v", c.name, got, c.kind, c.zxid, c.packed)
		}
		kind, z, ok := ParseAsZooKeeper(c.name)
		if kind != c.theirs || z != c.theirZ || ok != (c.theirs != Foreign) {
			t.Errorf("ParseAsZooKeeper(%q) = %v %v %v, want %v %v", c.name, kind, z, ok, c.theirs, c.theirZ)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, c := range names {
		f.Add(c.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n := Classify(name)
		if n.Kind != Log && n.Kind != Snapshot {
			return
		}
		kind, z, ok := ParseAsZooKeeper(name)
		if !ok || kind != n.Kind || z != n.Zxid {
			t.Errorf("%q is %+v to us and %v %v %v to ZooKeeper", name, n, kind, z, ok)
		}
		hex, _, _ := strings.Cut(strings.SplitN(name, ".", 2)[1], ".")
		if "0x"+hex != n.Zxid.String() {
			t.Errorf("%q parses as %v, a server would not write it so", name, n.Zxid)
		}
	})
}

func TestFollows(t *testing.T) {
	const e1, e2, e4 = Zxid(1 << 32), Zxid(2 << 32), Zxid(4 << 32)
	for _, c := range []struct {
		prev, z Zxid
		want    bool
	}{
		{0, 1, true}, {1, 2, true}, {1, 3, false}, {2, 2, false}, {2, 1, false},
		{0, e1 + 1, true}, {e1 + 77, e2 + 1, true}, {e1 + 77, e4 + 1, true}, {e1 + 77, e2 + 2, false}, {e1 + 77, e2, false},
		{e2 + 1, e1 + 2, false}, {e2 + 5, e1 + 1, false}, {e1 + 0xffffffff, e2, false},
	} {
		if got := c.z.Follows(c.prev); got != c.want {
			t.Errorf("%v follows %v: %v, want %v", c.z, c.prev, got, c.want)
		}
	}
}

func TestReadEpoch(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "12\n": 12, "7\r\n": 7, "3\nmore": 3, "0": 0} {
		if got, err := ReadEpoch(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("ReadEpoch(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "\n", "x", "1 ", " 1", "0x1", strings.Repeat("1", 100)} {
		if got, err := ReadEpoch(strings.NewReader(text)); err == nil {
			t.Errorf("ReadEpoch(%q) = %d, want an error", text, got)
		}
	}
}

func FuzzEpoch(f *testing.F) {
	f.Add("1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ReadEpoch(strings.NewReader(text)); err != nil && v != 0 {
			t.Errorf("%q gives %d and %v", text, v, err)
		}
	})
}
