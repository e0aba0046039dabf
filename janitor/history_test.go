package janitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"nightshift/janitor/format/zookeeper"
	"nightshift/janitor/format/zookeeper/zookeepertest"
)

type zxid = zookeeper.Zxid

// history is the files of a server's life, and, apart from their bytes, what was put into them and what was then broken:
// the oracle that the janitor's own reading is held against.
type history struct {
	dir       *memory
	logs      map[string]*logModel
	snapshots map[string]*snapshotModel
}

type logModel struct {
	name    zxid
	ids     []zxid // that can be read
	damaged bool   // a server would not read on
}

type snapshotModel struct {
	name   zxid
	last   zxid // that its content tells of
	counts bool
}

func hexOf(z zxid) string { return strings.TrimPrefix(z.String(), "0x") }

// live draws a history: transactions, rolled logs, new epochs, snapshots with a few transactions more than their names
// tell, and jumps as of a member that was synced by snapshot.
func live(t *rapid.T) *history {
	h := &history{dir: newMemory(), logs: map[string]*logModel{}, snapshots: map[string]*snapshotModel{}}
	h.dir.split = rapid.Bool().Draw(t, "split")
	var last zxid
	h.snapshot(t, last, last)
	for range rapid.IntRange(1, 12).Draw(t, "logs") {
		next := last + 1
		switch rapid.IntRange(0, 9).Draw(t, "next") {
		case 0:
			next = zxid(last.Epoch()+uint32(rapid.IntRange(1, 2).Draw(t, "epochs")))<<32 + 1
		case 1:
			last += zxid(rapid.IntRange(1, 9).Draw(t, "jump"))
			h.snapshot(t, last, last)
			next = last + 1
			if rapid.Bool().Draw(t, "elected") {
				next = zxid(last.Epoch()+1)<<32 + 1
			}
		}
		ids := zookeepertest.Ids(next, rapid.IntRange(1, 6).Draw(t, "n"))
		h.logs["log."+hexOf(next)] = &logModel{name: next, ids: ids}
		h.dir.put("log."+hexOf(next), zookeepertest.Log(rapid.SampledFrom([]int{0, 5, 500}).Draw(t, "pad"), ids...))
		last = ids[len(ids)-1]
		if rapid.IntRange(0, 3).Draw(t, "snapshot") > 0 {
			h.snapshot(t, ids[rapid.IntRange(0, len(ids)-1).Draw(t, "at")], last)
		}
	}
	return h
}

func (h *history) snapshot(t *rapid.T, z, last zxid) {
	b, name := zookeepertest.Snapshot(last, rapid.IntRange(0, 3).Draw(t, "nodes"), 3), "snapshot."+hexOf(z)
	switch rapid.SampledFrom([]string{"", "", "", ".gz", ".snappy"}).Draw(t, "packed") {
	case ".gz":
		b, name = zookeepertest.Gzip(b), name+".gz"
	case ".snappy":
		b, name = zookeepertest.Snappy(b), name+".snappy"
	}
	h.dir.put(name, b)
	h.snapshots[name] = &snapshotModel{name: z, last: last, counts: true}
}

// harm breaks up to n files in the ways that disks, crashes and operators do.
func (h *history) harm(t *rapid.T, n int) {
	for range rapid.IntRange(0, n).Draw(t, "harm") {
		var all []string
		for name := range h.dir.files {
			if h.logs[name] != nil || h.snapshots[name] != nil {
				all = append(all, name)
			}
		}
		if len(all) == 0 {
			return
		}
		slices.Sort(all)
		name := rapid.SampledFrom(all).Draw(t, "file")
		if h.logs[name] != nil {
			h.harmLog(t, name)
		} else {
			h.harmSnapshot(t, name)
		}
	}
}

func (h *history) harmLog(t *rapid.T, name string) {
	l, b := h.logs[name], slices.Clone(h.dir.files[name].data)
	offset := func(i int) int { return len(zookeepertest.Log(0, l.ids[:i]...)) }
	switch rapid.SampledFrom([]string{"flip", "cut", "empty", "gone", "shadow"}).Draw(t, "damage") {
	case "flip":
		if len(l.ids) == 0 {
			return
		}
		i := rapid.IntRange(0, len(l.ids)-1).Draw(t, "record")
		b[offset(i)+12+rapid.IntRange(0, 40).Draw(t, "byte")] ^= 0x10
		l.ids, l.damaged = l.ids[:i], true
		h.dir.put(name, b)
	case "cut":
		if len(l.ids) == 0 || l.damaged {
			return
		}
		i := rapid.IntRange(0, len(l.ids)-1).Draw(t, "record")
		h.dir.put(name, b[:offset(i)+rapid.IntRange(0, 50).Draw(t, "byte")])
		l.ids = l.ids[:i]
	case "empty":
		h.dir.put(name, nil)
		l.ids, l.damaged = nil, false
	case "gone":
		h.drop(name)
	case "shadow":
		h.dir.put(name+rapid.SampledFrom([]string{".bak", ".gz", "."}).Draw(t, "end"), b)
	}
}

func (h *history) harmSnapshot(t *rapid.T, name string) {
	s, b := h.snapshots[name], slices.Clone(h.dir.files[name].data)
	switch rapid.SampledFrom([]string{"flip", "cut", "empty", "gone", "copy", "rename"}).Draw(t, "damage") {
	case "flip":
		if len(b) < 40 || !s.counts { // a second flip may undo the first
			return
		}
		at := len(b) - rapid.IntRange(9, 20).Draw(t, "byte")
		switch { // in what is packed, some flips change nothing of the content
		case strings.HasSuffix(name, ".gz"):
			at = len(b) - rapid.IntRange(1, 8).Draw(t, "byte")
		case strings.HasSuffix(name, ".snappy"):
			at = rapid.IntRange(0, 7).Draw(t, "byte")
		}
		b[at] ^= 0x10
		h.dir.put(name, b)
		s.counts = false
	case "cut":
		if len(b) == 0 {
			return
		}
		h.dir.put(name, b[:len(b)-rapid.IntRange(1, min(20, len(b))).Draw(t, "by")])
		s.counts = false
	case "empty":
		h.dir.put(name, nil)
		s.counts = false
	case "gone":
		h.drop(name)
	case "copy":
		h.dir.put(name+".copy", b)
	case "rename": // a copy under a name above all ids
		h.dir.put("snapshot.2026010100000000", b)
		h.snapshots["snapshot.2026010100000000"] = &snapshotModel{name: 0x2026010100000000}
	}
}

func (h *history) drop(name string) {
	delete(h.dir.files, name)
	delete(h.logs, name)
	delete(h.snapshots, name)
}

// best is the oracle: the newest id to which the files replay one by one, and from how many snapshots.
func (h *history) best() (best zxid, points int) {
	var logs []*logModel
	for _, l := range h.logs {
		if len(l.ids) > 0 && l.ids[0] == l.name {
			logs = append(logs, l)
		}
	}
	slices.SortFunc(logs, func(a, b *logModel) int { return cmp.Compare(a.name, b.name) })
	var known []zxid
	for _, s := range h.snapshots {
		if s.counts {
			known = append(known, s.name, s.last)
		}
	}
	best = -1
	if len(logs) > 0 && logs[0].name.Follows(0) {
		best = replay(logs, known, 0)
	}
	seen := map[zxid]bool{}
	for _, s := range h.snapshots {
		if !s.counts || seen[s.name] {
			continue
		}
		seen[s.name] = true
		z := replay(logs, known, s.name)
		if z > best {
			best, points = z, 0
		}
		if z == best {
			points++
		}
	}
	return best, points
}

func replay(logs []*logModel, known []zxid, at zxid) zxid {
	first := 0
	for i, l := range logs {
		if l.name <= at {
			first = i
		}
	}
	for _, l := range logs[min(first, len(logs)):] {
		for _, id := range l.ids {
			between := func(z zxid) bool { return at < z && z < id && z.Counter() > 0 }
			if id > at && (!id.Follows(at) || slices.ContainsFunc(known, between)) {
				return at
			}
			at = max(at, id)
		}
		if l.damaged {
			return at
		}
	}
	return at
}

// agrees holds the janitor's reading against the oracle.
func (h *history) agrees(t *rapid.T, r Restorable) {
	best, points := h.best()
	want := best.String()
	if best < 0 {
		want = ""
	}
	if r.Zxid != want || r.RestartPoints != points {
		t.Fatalf("verify says %s by %d snapshots (%s), the files hold %s by %d\n%s", r.Zxid, r.RestartPoints, r.Reason, want, points, h)
	}
}

func (h *history) String() string {
	var b strings.Builder
	for _, e := range slices.Sorted(func(yield func(string) bool) {
		for name := range h.dir.files {
			if !yield(name) {
				return
			}
		}
	}) {
		fmt.Fprintf(&b, "  %s", e)
		if l := h.logs[e]; l != nil {
			fmt.Fprintf(&b, " %v damaged=%v", l.ids, l.damaged)
		}
		if s := h.snapshots[e]; s != nil {
			fmt.Fprintf(&b, " counts=%v", s.counts)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The promise, and the shape of plans, on histories with any damage.
func TestPromise(t *testing.T) {
	removed, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := live(t)
		h.harm(t, rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "most"))
		before := scanned(t, h.dir).Restorable()
		h.agrees(t, before)
		keep := rapid.IntRange(1, 5).Draw(t, "keep")
		plan, stricter := planned(t, h.dir, keep+1), planned(t, h.dir, keep)
		whole(t, h.dir, plan)
		whole(t, h.dir, stricter)
		for _, name := range names(plan.Remove) {
			if !slices.Contains(names(stricter.Remove), name) {
				t.Fatalf("keep %d removes %s, keep %d does not", keep+1, name, keep)
			}
		}
		// Stopped at any deletion: the first n of them are done.
		n := rapid.IntRange(0, len(stricter.Remove)).Draw(t, "stopped")
		res, err := stricter.Apply(context.Background(), &stopping{h.dir, n}, Pace{})
		if stricter.Refused != "" {
			refused++
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("apply of a refused plan: %v", err)
			}
		} else if len(res.Removed) != n || n < len(stricter.Remove) && !errors.Is(err, errInjected) || n == len(stricter.Remove) && err != nil {
			t.Fatalf("removed %d of %d, to stop after %d: %v", len(res.Removed), len(stricter.Remove), n, err)
		}
		removed += len(res.Removed)
		_, points := h.best()
		for _, it := range res.Removed {
			h.drop(it.file.Name)
		}
		after := scanned(t, h.dir).Restorable()
		h.agrees(t, after)
		if after.Zxid != before.Zxid || after.RestartPoints < min(keep, points) || after.Restorable != before.Restorable {
			t.Fatalf("keep %d, removed %v\nbefore %+v\nafter  %+v\n%s", keep, names(res.Removed), before, after, h)
		}
	})
	if removed == 0 || refused == 0 {
		t.Errorf("%d files removed, %d plans refused: the histories prove nothing", removed, refused)
	}
}

// Without damage nothing is refused, also on a member that was synced by snapshot.
func TestWholeIsNotRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := live(t)
		if plan := planned(t, h.dir, rapid.IntRange(1, 5).Draw(t, "keep")); plan.Refused != "" {
			t.Fatalf("refused: %s\n%s", plan.Refused, h)
		}
	})
}

func scanned(t *rapid.T, dir Dir) Inventory {
	inv, err := Scan(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func planned(t *rapid.T, dir Dir, keep int) Plan {
	plan, err := Policy{Keep: keep}.Decide(scanned(t, dir), later)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// whole says that keep and remove are disjoint and together everything, each with its reason.
func whole(t *rapid.T, dir *memory, plan Plan) {
	seen := map[string]int{}
	for _, it := range append(slices.Clone(plan.Keep), plan.Remove...) {
		seen[it.file.Name]++
		if it.Reason == "" {
			t.Fatalf("%s: no reason", it.Path)
		}
	}
	for name := range dir.files {
		if seen[name] != 1 {
			t.Fatalf("%s is %d times in the plan", name, seen[name])
		}
	}
	if len(seen) != len(dir.files) || plan.Refused != "" && len(plan.Remove) > 0 {
		t.Fatalf("%d in the plan, %d files, refused %q", len(seen), len(dir.files), plan.Refused)
	}
}
