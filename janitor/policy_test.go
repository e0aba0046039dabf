package janitor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/janitor/format/zookeeper/zookeepertest"
)

func lastChanged(files map[string]memoryFile) time.Time {
	var at time.Time
	for _, f := range files {
		if f.time.After(at) {
			at = f.time
		}
	}
	return at
}

// A snapshot that a living server writes has no seal yet: not counted, kept, and nothing to complain about.
func TestSnapshotInTheMaking(t *testing.T) {
	m := six()
	m.put("snapshot.3c", zookeepertest.Snapshot(60, 50, 3)[:700])
	written := lastChanged(m.files)
	for after, code := range map[time.Duration]string{-time.Hour: CodeSnapshotWritten, 0: CodeSnapshotWritten, settle - 1: CodeSnapshotWritten, settle: CodeSnapshotDamaged} {
		plan, err := Policy{Keep: 3}.Decide(scan(t, m), written.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		if got := codes(plan.Findings); !slices.Equal(got, []string{code}) || len(plan.Remove) != 7 {
			t.Errorf("%v later: %v, removes %v", after, got, names(plan.Remove))
		}
	}
	// It does not count for one of those to keep, and while it is new it is no reason to refuse either.
	plan, err := Policy{Keep: 8}.Decide(scan(t, m), written)
	if err != nil || plan.Refused != "" || len(plan.Remove) > 0 {
		t.Errorf("refused %q, removes %v, %v", plan.Refused, names(plan.Remove), err)
	}
	if plan, err = (Policy{Keep: 8}).Decide(scan(t, m), later); err != nil || !strings.Contains(plan.Refused, "7 of the 8") {
		t.Errorf("refused %q, %v", plan.Refused, err)
	}
}

// A snapshot that is not whole and not the newest is damaged, however new the file is: servers write no such one.
func TestDamagedIsNotInTheMaking(t *testing.T) {
	m := six()
	m.put("snapshot.1d", m.files["snapshot.1d"].data[:90])
	plan, err := Policy{Keep: 7}.Decide(scan(t, m), lastChanged(m.files))
	if err != nil || plan.Refused == "" || !slices.Contains(codes(plan.Findings), CodeSnapshotDamaged) {
		t.Errorf("refused %q, findings %v, %v", plan.Refused, plan.Findings, err)
	}
}

// Two logs with the same transactions are of two histories: which one holds is not ours to say.
func TestOverlap(t *testing.T) {
	m := six()
	m.put("log.3a", zookeepertest.Log(9, zookeepertest.Ids(58, 9)...))
	r := scan(t, m).Restorable()
	if r.Restorable || r.Zxid != "0x3c" || !slices.Contains(codes(r.Findings), CodeLogOverlap) {
		t.Errorf("%+v", r)
	}
	plan := decide(t, m, 3)
	if plan.Refused == "" || !slices.Contains(codes(plan.Findings), CodeLogOverlap) {
		t.Errorf("refused %q, findings %v, removes %v", plan.Refused, plan.Findings, names(plan.Remove))
	}
}

// A file that changes while it is looked at is not judged.
func TestScanSeesMovement(t *testing.T) {
	m := six()
	grows := &growing{Dir: m, then: func() { m.grow("snapshot.3b", zookeepertest.Snapshot(60, 99, 3)) }}
	inv, err := Scan(context.Background(), grows)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range inv.Files {
		if f.Moving != (f.Name == "snapshot.3b") {
			t.Errorf("%s: moving %v", f.Name, f.Moving)
		}
	}
	plan, err := Policy{Keep: 3}.Decide(inv, later)
	if err != nil || slices.Contains(names(plan.Remove), "snapshot.1d") || plan.Refused != "" {
		t.Errorf("removes %v although one of the newest was moving; refused %q, %v", names(plan.Remove), plan.Refused, err)
	}
}

// growing runs then once, right after the first listing.
type growing struct {
	Dir
	then func()
}

func (g *growing) List(ctx context.Context) ([]Entry, error) {
	all, err := g.Dir.List(ctx)
	if g.then != nil {
		defer func() { g.then(); g.then = nil }()
	}
	return all, err
}

// Files that a server's own purge takes away meanwhile are simply not there.
func TestScanOfVanishingFiles(t *testing.T) {
	m := six()
	vanish := &growing{Dir: m, then: func() { delete(m.files, "snapshot.0"); delete(m.files, "log.1") }}
	inv, err := Scan(context.Background(), vanish)
	if err != nil {
		t.Fatal(err)
	}
	if r := inv.Restorable(); !r.Restorable || r.RestartPoints != 5 { // the one of log.1 leads nowhere
		t.Errorf("%+v", r)
	}
}

// A reader may see the end of the newest record before its middle: the second look counts.
func TestNewestLogIsReadAgain(t *testing.T) {
	m := six()
	good := m.files["log.33"].data
	bad := slices.Clone(good)
	bad[len(bad)-300-20] ^= 1
	m.grow("log.33", bad)
	if r := scan(t, m).Restorable(); r.Restorable || r.Zxid != "0x3b" {
		t.Errorf("for good: %+v", r)
	}
	mends := &onClose{Dir: m, name: "log.33", then: func() { m.grow("log.33", good) }}
	inv, err := Scan(context.Background(), mends)
	if err != nil {
		t.Fatal(err)
	}
	if r := inv.Restorable(); !r.Restorable || r.Zxid != "0x3c" {
		t.Errorf("for a moment: %+v", r)
	}
}

// A member that was synced by snapshot has a gap in its logs, which that snapshot bridges.
func TestSyncedBySnapshot(t *testing.T) {
	m := six()
	m.put("snapshot.1000", zookeepertest.Snapshot(0x1000, 500, 3))
	m.put("log.1001", zookeepertest.Log(0, zookeepertest.Ids(0x1001, 20)...))
	m.put("snapshot.100f", zookeepertest.Snapshot(0x1010, 500, 3))
	r := scan(t, m).Restorable()
	if !r.Restorable || r.Zxid != "0x1014" || r.RestartPoints != 2 || r.Snapshot != "snapshot.100f" {
		t.Errorf("%+v", r)
	}
	if plan := decide(t, m, 2); plan.Refused != "" || slices.Contains(names(plan.Keep), "snapshot.3b") || !slices.Contains(names(plan.Keep), "log.33") {
		t.Errorf("refused %q, keeps %v", plan.Refused, names(plan.Keep))
	}
	plan := decide(t, m, 3)
	if plan.Refused != "" || !slices.Equal(codes(plan.Findings), []string{CodeLogGap}) || slices.Contains(names(plan.Remove), "snapshot.3b") || len(plan.Remove) == 0 {
		t.Errorf("refused %q, findings %v, removes %v: the third snapshot does not lead to the newest state", plan.Refused, plan.Findings, names(plan.Remove))
	}
	// With a hole behind the newest snapshot nothing leads to the newest state.
	m.put("log.1001", zookeepertest.Log(0, zookeepertest.Ids(0x1001, 10)...))
	m.put("log.1011", zookeepertest.Log(0, zookeepertest.Ids(0x1011, 10)...))
	if plan := decide(t, m, 3); plan.Refused == "" {
		t.Errorf("removes %v, findings %v", names(plan.Remove), plan.Findings)
	}
}

// One that was down meanwhile, and came back under a new leader: the ids alone do not show the hole, the snapshot does.
func TestSyncedBySnapshotAfterElection(t *testing.T) {
	const epoch = zxid(1 << 32)
	m := newMemory()
	m.put("snapshot.0", zookeepertest.Snapshot(0, 1, 3))
	m.put("log.100000001", zookeepertest.Log(300, zookeepertest.Ids(epoch+1, 0x52)...))
	m.put("snapshot.200000000", zookeepertest.Snapshot(epoch+0x178, 180, 1)) // no stamp, only the nodes tell
	m.put("log.200000001", zookeepertest.Log(300, zookeepertest.Ids(2*epoch+1, 8)...))
	if r := scan(t, m).Restorable(); !r.Restorable || r.Zxid != "0x200000008" || r.RestartPoints != 1 || r.Snapshot != "snapshot.200000000" {
		t.Errorf("%+v, want one restart point", r)
	}
	m.put("snapshot.200000000", zookeepertest.Snapshot(epoch+0x52, 80, 1)) // nothing happened meanwhile
	if r := scan(t, m).Restorable(); !r.Restorable || r.RestartPoints != 2 {
		t.Errorf("%+v, want two restart points", r)
	}
}

// Before 3.6 nothing in a snapshot tells its id: ahead of the logs it can't be told from a renamed copy.
func TestUnstampedAhead(t *testing.T) {
	m := six()
	m.put("snapshot.1000", zookeepertest.Snapshot(0, 5, 1))
	r := scan(t, m).Restorable()
	if r.Restorable || r.Zxid != "0x3c" || r.RestartPoints != 7 || !strings.Contains(r.Reason, "ahead of the logs") {
		t.Errorf("%+v", r)
	}
	plan := decide(t, m, 3)
	if !slices.Contains(names(plan.Keep), "snapshot.1000") || !slices.Contains(names(plan.Keep), "snapshot.27") {
		t.Errorf("keeps %v", names(plan.Keep))
	}
}

func TestSameStateTwice(t *testing.T) {
	m := six()
	m.put("snapshot.3b.gz", zookeepertest.Gzip(zookeepertest.Snapshot(60, 55, 3)))
	if r := scan(t, m).Restorable(); r.RestartPoints != 7 {
		t.Errorf("%+v: one state counts once", r)
	}
	if plan := decide(t, m, 3); len(plan.Remove) != 7 {
		t.Errorf("removes %v", names(plan.Remove))
	}
}

func TestSmallDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		files      map[string][]byte
		restorable bool
		refused    bool
	}{
		"nothing":                {nil, false, false},
		"a fresh server":         {map[string][]byte{"snapshot.0": zookeepertest.Snapshot(0, 3, 3)}, true, false},
		"an old fresh server":    {map[string][]byte{"snapshot.0": zookeepertest.Snapshot(0, 3, 1)}, true, false},
		"its first transactions": {map[string][]byte{"snapshot.0": zookeepertest.Snapshot(0, 3, 3), "log.1": zookeepertest.Log(9, 1, 2)}, true, false},
		"bare logs":              {map[string][]byte{"log.1": zookeepertest.Log(9, 1, 2)}, true, true},
		"bare logs, not all":     {map[string][]byte{"log.2": zookeepertest.Log(9, 2, 3)}, false, true},
		"snapshots, no logs": {map[string][]byte{"snapshot.1": zookeepertest.Snapshot(1, 3, 3), "snapshot.2": zookeepertest.Snapshot(2, 3, 3),
			"snapshot.3": zookeepertest.Snapshot(3, 3, 3)}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			for name, b := range c.files {
				m.put(name, b)
			}
			if r := scan(t, m).Restorable(); r.Restorable != c.restorable || !r.Restorable && r.Reason == "" {
				t.Errorf("%+v", r)
			}
			plan := decide(t, m, 2)
			if len(plan.Remove) > 0 || (plan.Refused != "") != c.refused {
				t.Errorf("removes %v, refused %q", names(plan.Remove), plan.Refused)
			}
			if _, err := plan.Apply(context.Background(), m, Pace{}); errors.Is(err, ErrRefused) != c.refused {
				t.Error(err)
			}
		})
	}
}

func TestMisplaced(t *testing.T) {
	m := six()
	m.split = true
	m.put("log.3d", zookeepertest.Log(0, 61))
	moved := &sided{m, "log.3d", Data}
	plan := decide(t, moved, 3)
	if plan.Refused == "" || !slices.Contains(codes(plan.Findings), CodeMisplaced) {
		t.Errorf("refused %q, findings %v", plan.Refused, plan.Findings)
	}
}

func TestDamagedEpoch(t *testing.T) {
	m := six()
	m.put("currentEpoch", nil)
	m.put("acceptedEpoch", []byte("1"))
	if r := scan(t, m).Restorable(); !slices.Equal(codes(r.Findings), []string{CodeEpoch}) || len(r.Findings) != 1 {
		t.Errorf("%+v", r.Findings)
	}
}

type sided struct {
	*memory
	name string
	side Side
}

func (s *sided) List(ctx context.Context) ([]Entry, error) {
	all, err := s.memory.List(ctx)
	for i := range all {
		if all[i].Name == s.name {
			all[i].Side = s.side
		}
	}
	return all, err
}
