package janitor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"nightshift/janitor/format/zookeeper"
)

// Pace limits how fast files are deleted, so that the file system's work does not stall the server. A field at zero
// does not limit.
type Pace struct {
	Files float64 // a second
	Bytes int64   // allocated bytes a second
}

// after is how long to wait after one deletion.
func (p Pace) after(freed int64) time.Duration {
	var wait time.Duration
	if p.Files > 0 {
		wait = time.Duration(float64(time.Second) / p.Files)
	}
	if p.Bytes > 0 {
		wait = max(wait, time.Duration(float64(freed)/float64(p.Bytes)*float64(time.Second)))
	}
	return wait
}

func (p Pace) wait(ctx context.Context, freed int64) error {
	d := p.after(freed)
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Result is what an Apply did, also when it ended in an error.
type Result struct {
	Removed []Item   `json:"removed"` // in order
	Freed   int64    `json:"freed"`   // allocated bytes of Removed
	Kept    int      `json:"kept"`    // entries that the plan keeps
	Gone    []string `json:"gone"`    // planned for removal, and gone already: a server's own purge was faster
}

// Apply deletes what the plan says, in its order: snapshots before the logs they need, oldest first. Every subset of the
// deletions keeps the promise, so it may be stopped or killed at any of them. It holds the directory's lock meanwhile.
//
// The directory is looked at again first, and what the proof rests on before each deletion. New logs and snapshots above
// the known ones are normal on a living server, as is growth of the newest log; anything else is ErrChanged. It stops at
// the first error. A plan that was refused is ErrRefused.
func (p Plan) Apply(ctx context.Context, dir Dir, pace Pace) (res Result, err error) {
	res.Kept = len(p.Keep)
	if p.Refused != "" {
		return res, &Error{Op: "apply plan", Err: fmt.Errorf("%w: %s", ErrRefused, p.Refused), Hint: "see the findings of the plan"}
	}
	if len(p.Remove) == 0 {
		return res, nil
	}
	release, err := dir.Lock()
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := p.recheck(ctx, dir); err != nil {
		return res, err
	}
	for i, item := range p.Remove {
		if i > 0 {
			if err := pace.wait(ctx, p.Remove[i-1].Allocated); err != nil {
				return res, fmt.Errorf("apply plan: %w", err)
			}
		}
		gone, err := p.removeOne(dir, item)
		switch {
		case err != nil:
			return res, err
		case gone:
			res.Gone = append(res.Gone, item.Path)
		default:
			res.Removed = append(res.Removed, item)
			res.Freed += item.Allocated
		}
	}
	return res, nil
}

func (p Plan) removeOne(dir Dir, item Item) (gone bool, err error) {
	for _, f := range p.proof {
		if f.Kind != zookeeper.Snapshot {
			continue
		}
		if now, err := dir.Stat(f.Entry); err != nil || !now.unchanged(f.Entry) {
			return false, changed(f.Path, "a snapshot to keep is not what it was", err)
		}
	}
	now, err := dir.Stat(item.file.Entry)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || !now.unchanged(item.file.Entry) {
		return false, changed(item.Path, "a file to remove is not what it was", err)
	}
	err = dir.Remove(item.file.Entry)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

func changed(path, what string, err error) error {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &Error{Op: "apply plan", Path: path, Err: fmt.Errorf("%w: %s", ErrChanged, what), Hint: "make a new plan"}
}

// recheck lists the directory again and compares it with what the plan was made for.
func (p Plan) recheck(ctx context.Context, dir Dir) error {
	files, err := list(ctx, dir)
	if err != nil {
		return err
	}
	type key struct {
		side Side
		name string
	}
	now := make(map[key]*File, len(files))
	for i := range files {
		now[key{files[i].Side, files[i].Name}] = &files[i]
	}
	var newest [zookeeper.Temp + 1]zookeeper.Zxid // by kind, of the proof
	for _, f := range p.proof {
		newest[f.Kind] = max(newest[f.Kind], f.Zxid)
	}
	for _, f := range p.proof {
		n := now[key{f.Side, f.Name}]
		growing := f.Kind == zookeeper.Log && f.Zxid == newest[f.Kind]
		switch {
		case n == nil, !growing && !n.unchanged(f.Entry), growing && (!n.same(f.Entry) || n.Size < f.Size):
			return changed(f.Path, "a file that recovery needs is not what it was", nil)
		}
	}
	for _, items := range [][]Item{p.Keep, p.Remove} {
		for _, it := range items {
			delete(now, key{it.file.Side, it.file.Name})
		}
	}
	for _, f := range now {
		if (f.Kind == zookeeper.Log || f.Kind == zookeeper.Snapshot) && f.Zxid <= newest[f.Kind] {
			return changed(f.Path, "a file is new, and not above the known ones", nil)
		}
	}
	return nil
}
