package probes

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func put(t *testing.T, path, text string, flag int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, tl *tail, lines ...string) chunk {
	t.Helper()
	c, err := tl.read()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.lines, lines) {
		t.Fatalf("lines %q, want %q", c.lines, lines)
	}
	return c
}

func TestTailStartsAtTheEndAndJoinsTornLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, "old\nhalf of an old li", os.O_APPEND)
	tl := &tail{path: path}
	defer tl.close()
	want(t, tl)
	put(t, path, "ne\nnew\r\nto", os.O_APPEND)
	want(t, tl, "new")
	put(t, path, "rn", os.O_APPEND)
	want(t, tl)
	put(t, path, " line\n", os.O_APPEND)
	want(t, tl, "torn line")
}

func TestTailReadsANewFileFromItsBegin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	tl := &tail{path: path}
	defer tl.close()
	if _, err := tl.read(); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("error %v", err)
	}
	put(t, path, "first\n", os.O_APPEND)
	want(t, tl, "first")
}

func TestTailFollowsRotationAndTruncation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, "", os.O_APPEND)
	tl := &tail{path: path}
	defer tl.close()
	gen := want(t, tl).gen

	put(t, path, "a\nb\ntorn", os.O_APPEND)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if c := want(t, tl, "a", "b"); c.gen != gen { // renamed away, nothing new yet
		t.Errorf("generation %d, want %d", c.gen, gen)
	}
	put(t, path+".1", " end\n", os.O_APPEND) // a writer that has not noticed
	put(t, path, "c\n", os.O_APPEND)
	if c := want(t, tl, "torn end"); c.gen != gen || !c.more {
		t.Errorf("generation %d more %v: lines of two files in one read", c.gen, c.more)
	}
	if c := want(t, tl, "c"); c.gen != gen+1 {
		t.Errorf("generation %d", c.gen)
	}
	put(t, path, "d\n", os.O_TRUNC)
	put(t, path, "e\n", os.O_APPEND)
	want(t, tl, "e") // a rewrite of at least the same length can't be told from appending
	put(t, path, "f\n", os.O_TRUNC)
	if c := want(t, tl, "f"); c.gen != gen+2 {
		t.Errorf("generation %d after truncation", c.gen)
	}
}

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	put(t, path, "", os.O_APPEND)
	tl := &tail{path: path}
	defer tl.close()
	want(t, tl)

	put(t, path, strings.Repeat("x", 3*tailLine)+"\nafter\n", os.O_APPEND)
	c, err := tl.read()
	if err != nil || len(c.lines) != 2 || len(c.lines[0]) != tailLine || c.lines[1] != "after" {
		t.Fatalf("%d lines, %v", len(c.lines), err)
	}

	put(t, path, strings.Repeat(strings.Repeat("y", 99)+"\n", 2*tailRead/100), os.O_APPEND)
	c, err = tl.read()
	if err != nil || !c.more || len(c.lines) > tailRead/100+1 {
		t.Fatalf("%d lines, more %v, %v", len(c.lines), c.more, err)
	}
	for c.more {
		if c, err = tl.read(); err != nil {
			t.Fatal(err)
		}
	}

	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(tl.offset + tailBehind + 10<<20); err != nil { // sparse: nothing is written
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, path, "\nlast\n", os.O_APPEND)
	c, err = tl.read()
	if err != nil || c.skipped < tailBehind || c.behind() == nil {
		t.Fatalf("skipped %d, %v", c.skipped, err)
	}
	for c.more {
		if c, err = tl.read(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(c.lines, "last") {
		t.Errorf("the end was not read: %d lines", len(c.lines))
	}
}
