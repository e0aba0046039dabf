package janitor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// On whole directories the janitor removes exactly what PurgeTxnLog removes, and what is left restores the same.
func TestGolden(t *testing.T) {
	for name, want := range fixtures(t) {
		for keep, removed := range want.Purge {
			t.Run(name+"/keep "+keep, func(t *testing.T) {
				f := unpacked(t, name)
				h := f.open(t)
				n, err := strconv.Atoi(keep)
				if err != nil {
					t.Fatal(err)
				}
				plan := decide(t, h, n)
				if plan.Refused != "" || len(plan.Findings) > 0 {
					t.Fatalf("refused %q, findings %v", plan.Refused, plan.Findings)
				}
				if got := names(plan.Remove); !slices.Equal(got, removed) {
					t.Errorf("removes %v\nwant    %v", got, removed)
				}
				res, err := plan.Apply(context.Background(), h, Pace{})
				if err != nil {
					t.Fatal(err)
				}
				if res.Freed != plan.Freed || len(res.Removed) != len(removed) || res.Kept != len(plan.Keep) || plan.Freed <= 0 {
					t.Errorf("removed %d, freed %d, kept %d; planned %d, %d, %d", len(res.Removed), res.Freed, res.Kept, len(removed), plan.Freed, len(plan.Keep))
				}
				for _, gone := range removed {
					if _, err := os.Lstat(f.in(gone)); !os.IsNotExist(err) {
						t.Errorf("%s is still there: %v", gone, err)
					}
				}
				r, err := Verify(context.Background(), h)
				if err != nil {
					t.Fatal(err)
				}
				if !r.Restorable || r.Zxid != want.Zxid || r.Snapshot != want.Snapshot || r.RestartPoints != n {
					t.Errorf("afterwards %+v, want %s by %d snapshots", r, want.Zxid, n)
				}
				if again := decide(t, h, n); len(again.Remove) > 0 || again.Refused != "" {
					t.Errorf("a second purge removes %v (%s)", names(again.Remove), again.Refused)
				}
			})
		}
	}
}

func TestVerifyWhole(t *testing.T) {
	for name, want := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			r, err := Verify(context.Background(), unpacked(t, name).open(t))
			if err != nil {
				t.Fatal(err)
			}
			if !r.Restorable || r.Reason != "" || r.Zxid != want.Zxid || r.Snapshot != want.Snapshot || r.RestartPoints != want.RestartPoints || len(r.Findings) > 0 {
				t.Errorf("%+v, want %+v", r, want)
			}
		})
	}
}

// Scripts rely on these names.
func TestJSON(t *testing.T) {
	f := unpacked(t, "golden13")
	h := f.open(t)
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	plan := decide(t, h, 12)
	for _, want := range []string{`"keep":[{"path":`, `"remove":[{"path":`, `"bytes":478`, `"allocated":`, `"reason":"older than`, `"freed":`, `"findings":[]`} {
		if got := text(plan); !strings.Contains(got, want) {
			t.Errorf("no %s in the plan: %s", want, got)
		}
	}
	if got := text(Plan{}); got != `{"keep":[],"remove":[],"freed":0,"findings":[]}` {
		t.Errorf("empty plan: %s", got)
	}
	r, err := Verify(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(r), `{"system":"zookeeper","restorable":true,"zxid":"0xca","snapshot":"snapshot.c1","restart_points":13,"findings":[]}`; got != want {
		t.Errorf("verify: %s\nwant    %s", got, want)
	}
}

// A snapshot that holds exactly the newest state tells ZooKeeper's count of its nodes.
func TestVerifyNodes(t *testing.T) {
	f := unpacked(t, "golden13")
	for _, log := range []string{"log.c3"} {
		if err := os.Remove(f.in(log)); err != nil {
			t.Fatal(err)
		}
	}
	change(t, f.in("log.b8"), func(b []byte) []byte { return b[:2315-210] }) // without its last record, 0xc2
	r, err := Verify(context.Background(), f.open(t))
	if err != nil {
		t.Fatal(err)
	}
	if r.Zxid != "0xc1" || r.Nodes == nil || *r.Nodes != 197 || !r.Restorable {
		t.Errorf("%+v, want 197 nodes at 0xc1", r)
	}
}

// Every entry is in keep or in remove, once, with a reason.
func complete(t testing.TB, dir Dir, plan Plan) {
	t.Helper()
	entries, err := dir.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, it := range append(slices.Clone(plan.Keep), plan.Remove...) {
		seen[it.Path]++
		if it.Reason == "" {
			t.Errorf("%s: no reason", it.Path)
		}
	}
	for _, e := range entries {
		if seen[e.Path] != 1 {
			t.Errorf("%s is %d times in the plan", filepath.Base(e.Path), seen[e.Path])
		}
	}
	if len(seen) != len(entries) {
		t.Errorf("%d files in the plan, %d in the directory", len(seen), len(entries))
	}
	if plan.Refused != "" && len(plan.Remove) > 0 {
		t.Errorf("refused (%s), and removes %v", plan.Refused, names(plan.Remove))
	}
}
