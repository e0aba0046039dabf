package janitor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWrongUse(t *testing.T) {
	base, split, empty := unpacked(t, "base"), unpacked(t, "split"), t.TempDir()
	data := filepath.Join(base.root, "base")
	file := filepath.Join(empty, "file")
	write(t, file, nil)
	other := filepath.Join(empty, "other")
	if err := os.MkdirAll(filepath.Join(other, versionDir), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(other, versionDir, "holiday.jpg"), nil)
	for name, c := range map[string]struct{ data, log, hint string }{
		"nothing":               {"", "", "dataDir"},
		"inside":                {filepath.Join(data, versionDir), "", "the one that holds version-2"},
		"inside, slash":         {filepath.Join(data, versionDir) + "/", "", "the one that holds version-2"},
		"logs inside":           {filepath.Join(split.root, "split/data"), filepath.Join(split.root, "split/log", versionDir), "the one that holds version-2"},
		"missing":               {filepath.Join(empty, "no"), "", "does not exist"},
		"missing logs":          {data, filepath.Join(empty, "no"), "does not exist"},
		"a file":                {file, "", "not a directory"},
		"no version-2":          {empty, "", "not a ZooKeeper directory"},
		"something else":        {other, "", "not a ZooKeeper directory"},
		"logs are not":          {data, other, "not a ZooKeeper directory"},
		"swapped":               {filepath.Join(split.root, "split/log"), filepath.Join(split.root, "split/data"), "swapped"},
		"the one above":         {base.root, "", "not a ZooKeeper directory"},
		"an empty log argument": {empty, "", "zoo.cfg"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := Open(c.data, c.log)
			if !errors.Is(err, ErrWrongUse) || !strings.Contains(err.Error(), c.hint) {
				t.Errorf("%v, want wrong use with %q", err, c.hint)
			}
			var e *Error
			if !errors.As(err, &e) || e.Hint == "" {
				t.Errorf("%v has no hint", err)
			}
			if err == nil {
				_ = h.Close()
			}
		})
	}
}

// The same directory given twice is one, whatever the way it is written.
func TestTogether(t *testing.T) {
	f := unpacked(t, "base")
	data := filepath.Join(f.root, "base")
	link := filepath.Join(f.root, "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	for _, log := range []string{data, data + "/.", link} {
		if inv := scan(t, open(t, data, log)); inv.Split || len(inv.Files) != 18 {
			t.Errorf("%s: split %v, %d files", log, inv.Split, len(inv.Files))
		}
	}
	if inv := scan(t, open(t, link, "")); len(inv.Files) != 18 {
		t.Errorf("through a link: %d files", len(inv.Files))
	}
}

func TestHomeLock(t *testing.T) {
	f := unpacked(t, "split")
	one, two := f.open(t), f.open(t)
	release, err := one.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Lock(); !errors.Is(err, ErrLocked) {
		t.Errorf("a second janitor: %v", err)
	}
	if _, err := purge(context.Background(), two, 3, later); !errors.Is(err, ErrLocked) {
		t.Errorf("a second purge: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if done, err := purge(context.Background(), two, 3, later); err != nil || len(done.Removed) != 9 {
		t.Errorf("after the first: removed %d, %v", len(done.Removed), err)
	}
	entries, err := one.List(context.Background())
	if err != nil || len(entries) != 7 {
		t.Errorf("%d entries left, want 7 and no lock file, %v", len(entries), err)
	}
}

// What takes a file's name between the look and the deletion is not deleted, and not waited for.
func TestHomeReplaced(t *testing.T) {
	f := unpacked(t, "golden13")
	h := f.open(t)
	entry := func(name string) Entry {
		e, err := h.Stat(Entry{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for name, replace := range map[string]func(path string) error{
		"snapshot.0":  func(p string) error { return os.Mkdir(p, 0o755) },
		"snapshot.e":  func(p string) error { return os.Symlink("snapshot.1b", p) },
		"snapshot.1b": func(p string) error { return os.WriteFile(p, []byte("new"), 0o644) },
		"snapshot.28": func(p string) error { return syscall.Mkfifo(p, 0o644) },
	} {
		e := entry(name)
		if err := os.Rename(f.in(name), f.in(name)+".old"); err != nil { // keeps its inode in use
			t.Fatal(err)
		}
		if err := replace(f.in(name)); err != nil {
			t.Fatal(err)
		}
		if err := h.Remove(e); !errors.Is(err, ErrChanged) {
			t.Errorf("remove %s: %v", name, err)
		}
		if _, err := os.Lstat(f.in(name)); err != nil {
			t.Errorf("%s was touched: %v", name, err)
		}
		if r, err := h.Open(e); err == nil {
			t.Errorf("open %s: opened another file", name)
			_ = r.Close()
		}
	}
	gone := entry("snapshot.5e")
	if err := os.Remove(f.in("snapshot.5e")); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove what is gone: %v", err)
	}
}

// Freed bytes are those of the blocks: a log is mostly a hole.
func TestHomeAllocated(t *testing.T) {
	f := unpacked(t, "golden13")
	path := f.in("log.1")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:3003], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 64<<20); err != nil {
		t.Fatal(err)
	}
	plan := decide(t, f.open(t), 3)
	for _, it := range plan.Remove {
		if strings.HasSuffix(it.Path, "log.1") && (it.Bytes != 64<<20 || it.Allocated > 1<<20) {
			t.Errorf("%+v", it)
		}
	}
	if plan.Freed > 4<<20 {
		t.Errorf("%d bytes to be freed", plan.Freed)
	}
}
