package janitor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/janitor/format/zookeeper/zookeepertest"
)

// six is a whole directory: six logs of ten transactions with a snapshot near the end of each. The transaction behind a
// snapshot lies in the log before the next name.
func six() *memory {
	m := newMemory()
	m.put("snapshot.0", zookeepertest.Snapshot(0, 1, 3))
	for i := range 6 {
		first := zxid(1 + 10*i)
		m.put("log."+hexOf(first), zookeepertest.Log(300, zookeepertest.Ids(first, 10)...))
		m.put("snapshot."+hexOf(first+8), zookeepertest.Snapshot(first+9, 5+10*i, 3))
	}
	return m
}

func TestErrorAtEveryOperation(t *testing.T) {
	for _, done := range []bool{false, true} {
		ops := 0
		for i := 0; ; i++ {
			m := six()
			f := &failing{Dir: m, at: i, done: done}
			before := scan(t, m).Restorable()
			names := slices.Collect(maps.Keys(m.files))
			res, err := purge(context.Background(), f, 3, later)
			if i >= f.n { // it went through without meeting the error
				if err != nil || len(res.Removed) != 7 {
					t.Fatalf("without an error: removed %d, %v", len(res.Removed), err)
				}
				break
			}
			ops++
			if !errors.Is(err, errInjected) {
				t.Errorf("%s failed, and the purge says %v", f.ops[i], err)
			}
			after := scan(t, m).Restorable()
			if !after.Restorable || after.Zxid != before.Zxid || after.RestartPoints < 3 {
				t.Errorf("%s failed: %+v, before %+v", f.ops[i], after, before)
			}
			// What the result names as removed is gone. A deletion that took effect and failed may be gone besides.
			gone := 0
			for _, name := range names {
				if _, ok := m.files[name]; !ok {
					gone++
				}
			}
			if n := len(res.Removed); n != gone && !(done && strings.HasPrefix(f.ops[i], "remove") && gone == n+1) {
				t.Errorf("%s failed: %d files are gone, the result names %d", f.ops[i], gone, n)
			}
			if m.lock {
				t.Errorf("%s failed: still locked", f.ops[i])
			}
			for _, op := range f.ops[i+1:] {
				if strings.HasPrefix(op, "remove") {
					t.Errorf("%s failed, and still %s", f.ops[i], op)
				}
			}
		}
		if ops < 40 {
			t.Errorf("only %d operations: the double was not in the way", ops)
		}
	}
}

// Snapshots go before the logs that they need, oldest first: what is left can be replayed at any moment.
func TestOrder(t *testing.T) {
	m := six()
	plan := decide(t, m, 3)
	f := &failing{Dir: m, at: -1}
	if _, err := plan.Apply(context.Background(), f, Pace{}); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, op := range f.ops {
		if name, ok := strings.CutPrefix(op, "remove "); ok {
			order = append(order, name)
		}
	}
	want := []string{"snapshot.0", "snapshot.9", "snapshot.13", "snapshot.1d", "log.1", "log.b", "log.15"}
	if !slices.Equal(order, want) {
		t.Errorf("removed in the order %v, want %v", order, want)
	}
}

// What may change between plan and apply, and what may not.
func TestChangedDirectory(t *testing.T) {
	plainLog := func(first zxid, n int) []byte { return zookeepertest.Log(300, zookeepertest.Ids(first, n)...) }
	for name, c := range map[string]struct {
		how     func(m *memory)
		changed bool
		removed int
	}{
		"nothing":                       {func(*memory) {}, false, 7},
		"the newest log grows":          {func(m *memory) { m.grow("log.33", plainLog(51, 30)) }, false, 7},
		"a new log and snapshot":        {func(m *memory) { m.put("log.3d", plainLog(61, 3)); m.put("snapshot.3c", nil) }, false, 7},
		"a server removes an old file":  {func(m *memory) { delete(m.files, "snapshot.9"); delete(m.files, "log.1") }, false, 5},
		"an epoch file":                 {func(m *memory) { m.put("currentEpoch", []byte("2")) }, false, 7},
		"the newest log is cut":         {func(m *memory) { m.grow("log.33", plainLog(51, 2)[:100]) }, true, 0},
		"the newest log is another":     {func(m *memory) { m.put("log.33", plainLog(51, 30)) }, true, 0},
		"a needed log changes":          {func(m *memory) { m.grow("log.29", plainLog(41, 9)) }, true, 0},
		"a needed log is gone":          {func(m *memory) { delete(m.files, "log.29") }, true, 0},
		"a snapshot to keep changes":    {func(m *memory) { m.grow("snapshot.31", nil) }, true, 0},
		"a snapshot to keep is gone":    {func(m *memory) { delete(m.files, "snapshot.3b") }, true, 0},
		"a snapshot to keep is another": {func(m *memory) { m.put("snapshot.3b", m.files["snapshot.3b"].data) }, true, 0},
		"a file to remove changes":      {func(m *memory) { m.grow("snapshot.0", nil) }, true, 0},
		"a file to remove is another":   {func(m *memory) { m.put("snapshot.0", nil) }, true, 0},
		"a log among the old":           {func(m *memory) { m.put("log.2f", plainLog(47, 3)) }, true, 0},
		"a snapshot among the old":      {func(m *memory) { m.put("snapshot.2f", nil) }, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := six()
			plan := decide(t, m, 3)
			c.how(m)
			res, err := plan.Apply(context.Background(), m, Pace{})
			if errors.Is(err, ErrChanged) != c.changed || !c.changed && err != nil || len(res.Removed) != c.removed {
				t.Errorf("removed %v, %v; want %d, changed %v", names(res.Removed), err, c.removed, c.changed)
			}
			if got := len(res.Removed) + len(res.Gone); !c.changed && got != len(plan.Remove) {
				t.Errorf("%d removed and gone, %d planned", got, len(plan.Remove))
			}
		})
	}
}

// A snapshot to keep that breaks while a slow purge runs stops it.
func TestChangedWhilePurging(t *testing.T) {
	m := six()
	plan := decide(t, m, 3)
	after := &afterRemove{Dir: m, n: 2, then: func() { m.grow("snapshot.3b", nil) }}
	res, err := plan.Apply(context.Background(), after, Pace{})
	if !errors.Is(err, ErrChanged) || len(res.Removed) != 2 {
		t.Errorf("removed %v, %v", names(res.Removed), err)
	}
	if r := scan(t, m).Restorable(); !r.Restorable || r.Zxid != "0x3c" {
		t.Errorf("%+v", r)
	}
}

type afterRemove struct {
	Dir
	n    int
	then func()
}

func (a *afterRemove) Remove(e Entry) error {
	err := a.Dir.Remove(e)
	if a.n--; a.n == 0 {
		a.then()
	}
	return err
}

func TestLocked(t *testing.T) {
	m := six()
	release, err := m.Lock()
	if err != nil {
		t.Fatal(err)
	}
	res, err := purge(context.Background(), m, 3, later)
	if !errors.Is(err, ErrLocked) || len(res.Removed) > 0 {
		t.Errorf("removed %d, %v", len(res.Removed), err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if res, err = purge(context.Background(), m, 3, later); err != nil || len(res.Removed) != 7 {
		t.Errorf("removed %d, %v", len(res.Removed), err)
	}
}

func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		pace Pace
		want time.Duration
	}{
		"as fast as can be":  {Pace{}, 0},
		"two files a second": {Pace{Files: 2}, 3 * time.Second},
		"one block a second": {Pace{Bytes: 4096}, 6 * time.Second},
		"the slower counts":  {Pace{Files: 0.5, Bytes: 4096}, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := six()
				plan := decide(t, m, 3)
				begin := time.Now()
				if _, err := plan.Apply(context.Background(), m, c.pace); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took != c.want {
					t.Errorf("7 files took %v, want %v", took, c.want)
				}
			})
		})
	}
}

func TestPaceEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := six()
		ctx, cancel := context.WithTimeout(context.Background(), 2500*time.Millisecond)
		defer cancel()
		res, err := decide(t, m, 3).Apply(ctx, m, Pace{Files: 1})
		if !errors.Is(err, context.DeadlineExceeded) || len(res.Removed) != 3 || m.lock {
			t.Errorf("removed %d, locked %v, %v", len(res.Removed), m.lock, err)
		}
		if r := scan(t, m).Restorable(); r.Zxid != "0x3c" || r.RestartPoints < 3 {
			t.Errorf("%+v", r)
		}
	})
}

func TestEmptyPolicy(t *testing.T) {
	for _, keep := range []int{0, -1} {
		if _, err := (Policy{Keep: keep}).Decide(scan(t, six()), later); !errors.Is(err, ErrEmptyPolicy) {
			t.Errorf("keep %d: %v", keep, err)
		}
	}
}
