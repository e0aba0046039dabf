package janitor

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// fixture is a real directory and what is known of it.
type fixture struct {
	Data          string              `json:"data"`
	Log           string              `json:"log"`
	Zxid          string              `json:"zxid"`
	Snapshot      string              `json:"snapshot"`
	RestartPoints int                 `json:"restart_points"`
	Purge         map[string][]string `json:"purge"`

	root string
}

// later is long after anything in a fixture was written.
var later = time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)

func fixtures(t *testing.T) map[string]fixture {
	t.Helper()
	b, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]fixture
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 4 {
		t.Fatalf("only %d fixtures", len(all))
	}
	return all
}

// unpacked puts a fixture into a directory of its own.
func unpacked(t *testing.T, name string) fixture {
	t.Helper()
	f := fixtures(t)[name]
	f.root = t.TempDir()
	in, err := os.Open(filepath.Join("testdata", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return f
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(f.root, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, b)
	}
}

// in is the path of a file of the fixture; logs and snapshots find their side.
func (f fixture) in(name string) string {
	dir := f.Data
	if f.Log != "" && name[:4] == "log." {
		dir = f.Log
	}
	return filepath.Join(f.root, dir, versionDir, name)
}

func (f fixture) open(t *testing.T) *Home {
	t.Helper()
	log := ""
	if f.Log != "" {
		log = filepath.Join(f.root, f.Log)
	}
	return open(t, filepath.Join(f.root, f.Data), log)
}

func open(t *testing.T, data, log string) *Home {
	t.Helper()
	h, err := Open(data, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// write gives a file that content, and a time that is long ago.
func write(t testing.TB, path string, b []byte) {
	t.Helper()
	err := os.WriteFile(path, b, 0o644)
	if err == nil {
		old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		err = os.Chtimes(path, old, old)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, path string, how func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, how(b))
}

func scan(t testing.TB, dir Dir) Inventory {
	t.Helper()
	inv, err := Scan(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func decide(t testing.TB, dir Dir, keep int) Plan {
	t.Helper()
	plan, err := Policy{Keep: keep}.Decide(scan(t, dir), later)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// purge is what a lane or a command does: scan, decide, apply.
func purge(ctx context.Context, dir Dir, keep int, now time.Time) (Result, error) {
	inv, err := Scan(ctx, dir)
	if err != nil {
		return Result{}, err
	}
	plan, err := Policy{Keep: keep}.Decide(inv, now)
	if err != nil {
		return Result{}, err
	}
	return plan.Apply(ctx, dir, Pace{})
}

func names(items []Item) []string {
	out := []string{}
	for _, it := range items {
		out = append(out, filepath.Base(it.Path))
	}
	slices.Sort(out)
	return out
}

func codes(found []Finding) []string {
	out := []string{}
	for _, f := range found {
		out = append(out, f.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
