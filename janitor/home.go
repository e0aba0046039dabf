package janitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"nightshift/janitor/format/zookeeper"
)

// versionDir is where a ZooKeeper server keeps its files, below dataDir and dataLogDir.
const versionDir = "version-2"

// Home is the data directory of a ZooKeeper server, or both of them. Close it when done.
type Home struct{ sides []side }

type side struct {
	root *os.Root // of version-2
	path string   // of version-2, as the user wrote it
}

var _ Dir = (*Home)(nil)

// Open opens dataDir, and dataLogDir when it lies apart ("" or the same directory: together). Both are given as the
// server's configuration has them, without version-2. Wrong use is ErrWrongUse with a hint: a path that ends in
// version-2, one that does not exist or is no server's directory, the two swapped.
func Open(dataDir, logDir string) (*Home, error) {
	h := &Home{}
	for i, dir := range []string{dataDir, logDir} {
		if i == 1 && (logDir == "" || sameDir(dataDir, logDir)) {
			break
		}
		s, err := openSide(dir)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		h.sides = append(h.sides, s)
	}
	if err := h.plausible(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func sameDir(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

func openSide(dir string) (side, error) {
	const op = "open data directory"
	if dir == "" {
		return side{}, wrongUse(op, "", "no directory given", "give the dataDir of the server's zoo.cfg")
	}
	if filepath.Base(filepath.Clean(dir)) == versionDir {
		return side{}, wrongUse(op, dir, "this is the inner directory", "give "+filepath.Dir(filepath.Clean(dir))+", the one that holds version-2")
	}
	switch fi, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return side{}, wrongUse(op, dir, "it does not exist", "give the dataDir of the server's zoo.cfg")
	case err != nil:
		return side{}, &Error{Op: op, Path: dir, Err: err}
	case !fi.IsDir():
		return side{}, wrongUse(op, dir, "it is not a directory", "give the dataDir of the server's zoo.cfg")
	}
	path := filepath.Join(dir, versionDir)
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return side{}, wrongUse(op, dir, "it is not a ZooKeeper directory: no version-2 in it", "give the dataDir of the server's zoo.cfg")
	}
	if err != nil {
		return side{}, &Error{Op: op, Path: path, Err: err}
	}
	return side{root: root, path: path}, nil
}

// plausible refuses what is clearly not meant: directories of something else, or the two swapped.
func (h *Home) plausible() error {
	var snapshots, logs, others, ours [2]int
	entries, err := h.List(context.Background())
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch zookeeper.Classify(e.Name).Kind {
		case zookeeper.Snapshot:
			snapshots[e.Side]++
		case zookeeper.Log:
			logs[e.Side]++
		case zookeeper.Foreign:
			others[e.Side]++
			continue
		}
		ours[e.Side]++
	}
	const op = "open data directory"
	for i, s := range h.sides {
		if ours[i] == 0 && others[i] > 0 {
			return wrongUse(op, s.path, "it is not a ZooKeeper directory: no name in it is ZooKeeper's", "give the dataDir of the server's zoo.cfg")
		}
	}
	if len(h.sides) == 2 && snapshots[Data]+logs[Logs] == 0 && logs[Data]+snapshots[Logs] > 0 {
		return wrongUse(op, h.sides[Data].path, "the two directories are swapped", "dataDir holds the snapshots, dataLogDir the logs")
	}
	return nil
}

// Close ends the use of the directories.
func (h *Home) Close() error {
	var errs []error
	for _, s := range h.sides {
		errs = append(errs, s.root.Close())
	}
	return errors.Join(errs...)
}

// List implements Dir. Names that vanish while it lists are left out.
func (h *Home) List(ctx context.Context) ([]Entry, error) {
	var all []Entry
	for i, s := range h.sides {
		names, err := s.names()
		if err != nil {
			return nil, &Error{Op: "list", Path: s.path, Err: err}
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			e, err := h.Stat(Entry{Name: name, Side: Side(i)})
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
	}
	return all, nil
}

func (s side) names() ([]string, error) {
	d, err := s.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	return names, errors.Join(err, d.Close())
}

// Stat implements Dir.
func (h *Home) Stat(e Entry) (Entry, error) {
	s := h.sides[e.Side]
	fi, err := s.root.Lstat(e.Name)
	if err != nil {
		return Entry{}, &Error{Op: "look at", Path: filepath.Join(s.path, e.Name), Err: err}
	}
	return s.entry(e.Side, fi), nil
}

func (s side) entry(on Side, fi fs.FileInfo) Entry {
	e := Entry{Name: fi.Name(), Path: filepath.Join(s.path, fi.Name()), Side: on, Mode: fi.Mode(), Size: fi.Size(), ModTime: fi.ModTime()}
	e.Allocated, e.Device, e.Inode = blocks(fi)
	return e
}

// Open implements Dir. That a pipe or link takes the name between Stat and here is caught by the second look.
func (h *Home) Open(e Entry) (io.ReadCloser, error) {
	s := h.sides[e.Side]
	f, err := s.root.OpenFile(e.Name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, &Error{Op: "open", Path: e.Path, Err: err}
	}
	fi, err := f.Stat()
	if err == nil && !s.entry(e.Side, fi).same(e) {
		err = fmt.Errorf("%w: another file has this name now", ErrChanged)
	}
	if err != nil {
		return nil, errors.Join(&Error{Op: "open", Path: e.Path, Err: err}, f.Close())
	}
	return f, nil
}

// Remove implements Dir. A file that was replaced is left alone.
func (h *Home) Remove(e Entry) error {
	now, err := h.Stat(e)
	if err != nil {
		return err
	}
	if !now.Regular() || !now.same(e) {
		return &Error{Op: "remove", Path: e.Path, Err: fmt.Errorf("%w: another file has this name now", ErrChanged)}
	}
	if err := h.sides[e.Side].root.Remove(e.Name); err != nil {
		return &Error{Op: "remove", Path: e.Path, Err: err, Hint: "the user needs write permission on the directory"}
	}
	return nil
}

// Lock implements Dir by an advisory lock on the directories themselves. The kernel drops it when the process ends.
func (h *Home) Lock() (func() error, error) {
	var held []*os.File
	release := func() error {
		var errs []error
		for _, f := range held {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	for _, s := range h.sides {
		f, err := s.root.Open(".")
		if err == nil {
			held = append(held, f)
			err = lockFile(f)
		}
		if err != nil {
			return nil, errors.Join(&Error{Op: "lock", Path: s.path, Err: err}, release())
		}
	}
	return release, nil
}
