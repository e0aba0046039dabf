package janitor

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"nightshift/janitor/format/zookeeper"
)

// File is one entry with what its name and its content say.
type File struct {
	Entry
	Kind      zookeeper.Kind
	Zxid      zookeeper.Zxid          // of a log or snapshot, out of the name
	Irregular bool                    // the name is ZooKeeper's, but it is a link, directory or else; Kind is Foreign then
	Moving    bool                    // it changed while it was looked at: a server writes it, and its content was not judged
	Snapshot  *zookeeper.SnapshotFile // of a snapshot, unless Moving
	Log       *zookeeper.LogFile      // of a log
	EpochErr  string                  // of an epoch file: why a server would not read it
}

// Inventory is everything in the data directories of one server, with the content read and judged, and nothing decided.
type Inventory struct {
	System string
	Split  bool   // dataLogDir lies apart
	Files  []File // by side and name
}

// Scan lists the directories and reads every snapshot and log whole. It only reads. A living server may write meanwhile:
// snapshots are read before logs, so that what a snapshot holds is in the logs by the time they are read; files that
// vanish are left out; files that change are Moving, but for the newest log, which is read as far as it goes. The error
// is a failed read or the end of ctx, never bad content.
func Scan(ctx context.Context, dir Dir) (Inventory, error) {
	inv := Inventory{System: "zookeeper"}
	before, err := list(ctx, dir)
	if err != nil {
		return inv, err
	}
	for i := range before {
		if f := &before[i]; f.Kind == zookeeper.Snapshot || f.Kind == zookeeper.Epoch {
			if err := read(ctx, dir, f); err != nil {
				return inv, err
			}
		}
	}
	if inv.Files, err = list(ctx, dir); err != nil {
		return inv, err
	}
	adopt(inv.Files, before)
	gone := map[string]bool{}
	for i := range inv.Files {
		f := &inv.Files[i]
		inv.Split = inv.Split || f.Side == Logs
		if f.Kind != zookeeper.Log {
			continue
		}
		err := read(ctx, dir, f)
		if err == nil && f.Log.End == zookeeper.EndChecksum && newestLog(inv.Files) == f {
			err = read(ctx, dir, f) // a server writes the newest log: a reader may see a record's end before its middle
		}
		if vanished(err) {
			gone[f.Path] = true
			continue
		}
		if err != nil {
			return inv, err
		}
	}
	inv.Files = slices.DeleteFunc(inv.Files, func(f File) bool { return gone[f.Path] })
	return inv, nil
}

func list(ctx context.Context, dir Dir) ([]File, error) {
	entries, err := dir.List(ctx)
	if err != nil {
		return nil, err
	}
	files := make([]File, len(entries))
	for i, e := range entries {
		n := zookeeper.Classify(e.Name)
		files[i] = File{Entry: e, Kind: n.Kind, Zxid: n.Zxid}
		if !e.Regular() && n.Kind != zookeeper.Foreign {
			files[i] = File{Entry: e, Irregular: true}
		}
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Side, b.Side), cmp.Compare(a.Name, b.Name))
	})
	return files, nil
}

// adopt carries the verdicts of the first listing over to the second. What is new or differs is Moving.
func adopt(files, before []File) {
	read := make(map[string]*File, len(before))
	for i := range before {
		read[before[i].Path] = &before[i]
	}
	for i := range files {
		f := &files[i]
		if f.Kind != zookeeper.Snapshot && f.Kind != zookeeper.Epoch {
			continue
		}
		old := read[f.Path]
		unread := old == nil || f.Kind == zookeeper.Snapshot && old.Snapshot == nil
		if f.Moving = unread || !old.unchanged(f.Entry); !f.Moving {
			f.Snapshot, f.EpochErr = old.Snapshot, old.EpochErr
		}
	}
}

// read judges the content of one file. A snapshot or epoch file that is gone is no error: the second listing lacks it.
func read(ctx context.Context, dir Dir, f *File) (err error) {
	rc, err := dir.Open(f.Entry)
	if f.Kind != zookeeper.Log && vanished(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	r := &reader{over: ctx.Err, r: rc}
	switch f.Kind {
	case zookeeper.Snapshot:
		var s zookeeper.SnapshotFile
		s, err = zookeeper.ReadSnapshot(f.Name, r)
		f.Snapshot = &s
	case zookeeper.Log:
		var l zookeeper.LogFile
		l, err = zookeeper.ReadLog(r)
		f.Log = &l
	case zookeeper.Epoch:
		if _, bad := zookeeper.ReadEpoch(r); bad != nil {
			f.EpochErr = bad.Error()
		}
		err = r.err
	}
	if err != nil {
		return &Error{Op: "read", Path: f.Path, Err: err}
	}
	return nil
}

// vanished says that the file went, or gave its name to another, since the listing.
func vanished(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrChanged) }

// reader ends with its ctx and remembers a failed read.
type reader struct {
	over func() error // of its ctx
	r    io.Reader
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.over(); err != nil {
		r.err = err
		return 0, err
	}
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// newestLog is the log with the highest id in its name, whatever is in it; nil when there is none.
func newestLog(files []File) *File {
	var newest *File
	for i := range files {
		if f := &files[i]; f.Kind == zookeeper.Log && (newest == nil || f.Zxid > newest.Zxid) {
			newest = f
		}
	}
	return newest
}
