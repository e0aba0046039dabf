package janitor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func half(b []byte) []byte { return b[:len(b)/2] }

func none([]byte) []byte { return nil }

func cut(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

func flipAt(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 0x10; return b }
}

func flipMiddle(b []byte) []byte { return flipAt(len(b) / 2)(b) }

// used is a log without its padding.
func used(b []byte) []byte { return bytes.TrimRight(b, "\x00") }

func flipUsed(b []byte) []byte { return flipAt(len(used(b)) / 2)(b) }

func torn(b []byte) []byte { u := used(b); return u[:len(u)-20] }

// each changes several files of a fixture in the same way.
func each(how func([]byte) []byte, files ...string) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) {
		for _, name := range files {
			change(t, f.in(name), how)
		}
	}
}

func put(name string, b []byte) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) { write(t, f.in(name), b) }
}

func copies(from string, to ...string) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) {
		b, err := os.ReadFile(f.in(from))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range to {
			write(t, f.in(name), b)
		}
	}
}

func without(files ...string) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) {
		for _, name := range files {
			if err := os.Remove(f.in(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func both(a, b func(*testing.T, fixture)) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) { a(t, f); b(t, f) }
}

// Whole directories with one kind of damage each. zxid and points are what ZooKeeper's own code makes of them: the
// newest id that can be restored without a gap, and from how many snapshots. A server reads the log before the first
// record it needs from its beginning, so damage there keeps it from using the snapshot.
var damages = []struct {
	name, base string
	how        func(*testing.T, fixture)
	zxid       string
	points     int
	refused    bool   // nothing may be deleted
	needs      string // the log that the oldest of the 3 newest sound snapshots starts with
	code       string // a finding that must be there
	lost       bool   // something newer than zxid is lost, so it is not restorable
}{
	{"newest snapshot half", "base", each(half, "snapshot.18d9"), "0x1b5b", 8, false, "log.bdf", CodeSnapshotDamaged, false},
	{"newest snapshot without two seals", "base", each(cut(54), "snapshot.18d9"), "0x1b5b", 9, false, "log.e51", "", false},
	{"newest snapshot ends with the tree", "base", each(cut(67), "snapshot.18d9"), "0x1b5b", 8, false, "log.bdf", CodeSnapshotDamaged, false},
	{"newest snapshot longer", "base", each(func(b []byte) []byte { return append(b, 0) }, "snapshot.18d9"), "0x1b5b", 8, false, "log.bdf", CodeSnapshotDamaged, false},
	{"newest snapshot flipped", "base", each(flipMiddle, "snapshot.18d9"), "0x1b5b", 8, false, "log.bdf", CodeSnapshotDamaged, false},
	{"three newest snapshots flipped", "base", each(flipMiddle, "snapshot.18d9", "snapshot.1529", "snapshot.1145"), "0x1b5b", 6, false, "log.5ac", CodeSnapshotDamaged, false},
	{"three newest snapshots empty", "base", each(none, "snapshot.18d9", "snapshot.1529", "snapshot.1145"), "0x1b5b", 6, false, "log.5ac", CodeSnapshotDamaged, false},
	{"three newest gz snapshots half", "gzip", each(half, "snapshot.572.gz", "snapshot.49a.gz", "snapshot.396.gz"), "0x5df", 4, false, "log.1", CodeSnapshotDamaged, false},
	{"gz without its trailer", "gzip", each(cut(8), "snapshot.572.gz"), "0x5df", 6, false, "log.1bc", CodeSnapshotDamaged, false},
	{"new empty snapshot", "base", put("snapshot.1b5b", nil), "0x1b5b", 9, false, "log.e51", CodeSnapshotDamaged, false},
	{"an old snapshot flipped", "base", each(flipMiddle, "snapshot.5ab"), "0x1b5b", 8, false, "log.e51", CodeSnapshotDamaged, false},
	{"only the newest snapshot whole", "base", each(half, "snapshot.0", "snapshot.324", "snapshot.5ab", "snapshot.7fb", "snapshot.bde", "snapshot.e50", "snapshot.1145", "snapshot.1529"),
		"0x1b5b", 1, true, "log.152a", CodeFew, false},
	{"no snapshot whole", "golden13", func(t *testing.T, f fixture) {
		for _, s := range []string{"0", "e", "1b", "28", "3b", "4e", "5e", "70", "81", "94", "a3", "b6", "c1"} {
			change(t, f.in("snapshot."+s), flipMiddle)
		}
	}, "0xca", 0, true, "log.1", CodeNoSnapshot, false},
	{"new empty log", "base", put("log.1b5c", nil), "0x1b5b", 9, false, "log.e51", "", false},
	{"new log with a header", "base", put("log.1b5c", append([]byte("ZKLG\x00\x00\x00\x02"), make([]byte, 65544)...)), "0x1b5b", 9, false, "log.e51", "", false},
	{"new log with half a header", "base", put("log.1b5c", []byte("ZKLG\x00\x00\x00\x02")), "0x1b5b", 9, false, "log.e51", "", false},
	{"new log of zeros", "base", put("log.1b5c", make([]byte, 65552)), "0x1b5b", 9, true, "log.e51", CodeLogDamaged, true},
	{"newest log flipped", "base", each(flipUsed, "log.18db"), "0x1a02", 9, true, "log.e51", CodeLogDamaged, true},
	{"newest log torn", "base", each(torn, "log.18db"), "0x1b5a", 9, false, "log.e51", "", false},
	{"a needed log torn", "base", each(torn, "log.1146"), "0x1b5b", 2, false, "log.e51", CodeLogGap, false},
	{"a needed log flipped", "base", each(flipUsed, "log.1146"), "0x1b5b", 1, true, "log.e51", CodeLogDamaged, false},
	{"a needed log missing", "base", without("log.1146"), "0x1b5b", 2, false, "log.e51", CodeLogGap, false},
	{"a needed log empty", "base", each(none, "log.1146"), "0x1b5b", 2, false, "log.e51", CodeLogGap, false},
	{"a needed log of zeros", "base", each(func(b []byte) []byte { return make([]byte, len(b)) }, "log.1146"), "0x1b5b", 2, true, "log.e51", CodeLogDamaged, false},
	{"the newest log missing", "base", without("log.18db"), "0x18da", 9, false, "log.e51", "", false},
	{"the transaction behind the newest snapshot missing", "base", without("log.152a"), "0x18d9", 1, true, "log.e51", CodeLogGap, true},
	{"an old log missing", "base", without("log.325"), "0x1b5b", 7, false, "log.e51", "", false},
	{"an old log flipped", "base", each(flipUsed, "log.325"), "0x1b5b", 6, false, "log.e51", CodeLogDamaged, false},
	{"a log under another name", "base", copies("log.e51", "log.1140"), "0x1b5b", 9, true, "log.e51", CodeLogName, false},
	{"an old log under another name", "base", copies("log.325", "log.400"), "0x1b5b", 9, false, "log.e51", CodeLogName, false},
	{"a foreign file shadows a log", "base", both(without("log.18db", "log.152a", "log.1146", "snapshot.1145", "snapshot.1529", "snapshot.18d9"), put("log.7f0.bak", []byte("bak"))),
		"0x1145", 6, false, "log.5ac", CodeShadow, false},
	{"an empty file shadows a log", "base", both(without("log.18db", "log.152a", "log.1146", "snapshot.1145", "snapshot.1529", "snapshot.18d9"), put("log.7f0", nil)),
		"0x1145", 6, false, "log.5ac", CodeLogEmpty, false},
	{"copies of the newest snapshot", "base", copies("snapshot.18d9", "snapshot.18d9.bak", "snapshot.18d9.copy"), "0x1b5b", 9, false, "log.e51", CodeShadow, false},
	{"a dated copy of an old snapshot", "base", copies("snapshot.1145", "snapshot.20260101"), "0x1b5b", 9, false, "log.e51", CodeSnapshotMisled, false},
	{"a copy of an old snapshot among the new", "base", copies("snapshot.0", "snapshot.1600"), "0x1b5b", 9, false, "log.e51", CodeSnapshotMisled, false},
	{"split, newest snapshot flipped", "split", each(flipMiddle, "snapshot.654"), "0x70b", 7, false, "log.2ef", CodeSnapshotDamaged, false},
}

// The promise on every damage: afterwards the same state can be restored, by as many snapshots as asked for or as there
// were; and where the files can't prove it, nothing is deleted.
func TestDamage(t *testing.T) {
	const keep = 3
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) {
			f := unpacked(t, c.base)
			c.how(t, f)
			h := f.open(t)
			before := scan(t, h).Restorable()
			if before.Zxid != c.zxid || before.RestartPoints != c.points || before.Restorable == c.lost {
				t.Errorf("before: %+v\nwant %s by %d snapshots, lost %v", before, c.zxid, c.points, c.lost)
			}
			plan := decide(t, h, keep)
			complete(t, h, plan)
			if (plan.Refused != "") != c.refused {
				t.Errorf("refused: %q, want %v", plan.Refused, c.refused)
			}
			if c.code != "" && !slices.Contains(codes(plan.Findings), c.code) {
				t.Errorf("findings %v, want a %s", plan.Findings, c.code)
			}
			_, err := plan.Apply(context.Background(), h, Pace{})
			if errors.Is(err, ErrRefused) != c.refused || err != nil && !c.refused {
				t.Fatalf("apply: %v", err)
			}
			if _, err := os.Stat(f.in(c.needs)); err != nil {
				t.Errorf("needed: %v", err)
			}
			after := scan(t, h).Restorable()
			if after.Zxid != before.Zxid || after.RestartPoints < min(keep, before.RestartPoints) || after.Restorable != before.Restorable {
				t.Errorf("before %+v\nafter  %+v", before, after)
			}
		})
	}
}

// Nothing that is not ZooKeeper's is touched, counted, or followed.
func TestForeign(t *testing.T) {
	f := unpacked(t, "base")
	precious := filepath.Join(f.root, "precious")
	if err := os.Mkdir(precious, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(precious, "keepme"), []byte("outside"))
	files := []string{"log.bak", "log.", "log.-5", "log.ffffffffffffffff", "log.0x10", "log.5ac.gz", "log.1.2.3", "snapshot.tmp",
		"snapshot.5ab.old", "snapshot.1b5b.tmp", ".log.1.swp", "logs", "Log.1", "currentEpoch", "acceptedEpoch", "currentEpoch.tmp", "README"}
	for _, name := range files {
		write(t, f.in("snapshot.")[:len(f.in("snapshot."))-len("snapshot.")]+name, []byte("1\n"))
	}
	dir := filepath.Dir(f.in("log.1"))
	for link, to := range map[string]string{"log.link": "../../precious/keepme", "log.2": "../../precious/keepme", "snapshot.3": "../../precious", "snapshot.9": "nowhere", "log.4": "log.1"} {
		files = append(files, link)
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"log.3", "snapshot.dir", "snapshot.8"} {
		files = append(files, d)
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := f.open(t)
	plan := decide(t, h, 3)
	complete(t, h, plan)
	if got, want := names(plan.Remove), f.Purge["3"]; !slices.Equal(got, want) {
		t.Errorf("removes %v\nwant    %v", got, want)
	}
	if got, want := codes(plan.Findings), []string{CodeForeign, CodeIrregular, CodeShadow}; !slices.Equal(got, want) {
		t.Errorf("findings %v, want %v", got, want)
	}
	if _, err := plan.Apply(context.Background(), h, Pace{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "../../precious/keepme") {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("touched: %v", err)
		}
	}
	if r := scan(t, h).Restorable(); !r.Restorable || r.Zxid != f.Zxid || r.RestartPoints != 3 {
		t.Errorf("afterwards %+v", r)
	}
}
