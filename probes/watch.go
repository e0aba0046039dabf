package probes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Held is what a data directory holds of one kind of file.
type Held struct {
	Kind      string `json:"kind"` // log, snapshot, epoch, temp, foreign
	Count     int    `json:"count"`
	Bytes     int64  `json:"bytes"`     // apparent
	Allocated int64  `json:"allocated"` // on disk
}

// DirUsage is one look at a ZooKeeper data directory and its file system.
type DirUsage struct {
	Dir       string        `json:"dir"`
	At        time.Duration `json:"at"` // since the first look
	Kinds     []Held        `json:"kinds"`
	Bytes     int64         `json:"bytes"`
	Allocated int64         `json:"allocated"`
	PerHour   float64       `json:"per_hour"` // allocated bytes an hour since the first look; 0 at the first look
	Size      int64         `json:"size"`     // of the file system
	Free      int64         `json:"free"`     // for an ordinary user
	ToFull    time.Duration `json:"to_full"`  // at PerHour; 0 when it does not grow, or nothing is known yet
}

// DirWatch looks at one data directory again and again. Its zero value is not usable, see WatchDir.
type DirWatch struct {
	dir   string // that holds the files
	asked string
	first *DirUsage
	began time.Time
}

// WatchDir takes a dataDir or dataLogDir, or the version-2 inside. It fails when there is no such directory.
func WatchDir(dir string) (*DirWatch, error) {
	inner := filepath.Join(dir, "version-2")
	if fi, err := os.Stat(inner); err == nil && fi.IsDir() {
		return &DirWatch{dir: inner, asked: dir}, nil
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("watch directory: %w", err)
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("watch directory: %s is a file; name the dataDir of a ZooKeeper server", dir)
	}
	if filepath.Base(filepath.Clean(dir)) != "version-2" {
		return nil, fmt.Errorf("watch directory: %s holds no version-2; name the dataDir of a ZooKeeper server", dir)
	}
	return &DirWatch{dir: dir, asked: dir}, nil
}

// Look takes one sample at now, a time with monotonic reading.
func (w *DirWatch) Look(ctx context.Context, now time.Time) (DirUsage, error) {
	inv := inventory{}
	if err := inv.add(ctx, w.dir); err != nil {
		return DirUsage{}, err
	}
	u := DirUsage{Dir: w.asked, Kinds: inv.held()}
	for _, h := range u.Kinds {
		u.Bytes += h.Bytes
		u.Allocated += h.Allocated
	}
	var st unix.Statfs_t
	if err := unix.Statfs(w.dir, &st); err != nil {
		return DirUsage{}, fmt.Errorf("ask file system of %s: %w", w.dir, err)
	}
	u.Size, u.Free = int64(st.Blocks)*st.Frsize, int64(st.Bavail)*st.Frsize
	if w.first == nil {
		w.first, w.began = &u, now
		return u, nil
	}
	u.At = now.Sub(w.began)
	u.grow(*w.first)
	return u, nil
}

// maxToFull is beyond what a straight line through a few minutes can say.
const maxToFull = 10 * 365 * 24 * time.Hour

// grow draws a straight line from the first look.
func (u *DirUsage) grow(first DirUsage) {
	if u.At <= 0 {
		return
	}
	u.PerHour = float64(u.Allocated-first.Allocated) / u.At.Hours()
	if u.PerHour <= 0 {
		return
	}
	if hours := float64(u.Free) / u.PerHour; hours < maxToFull.Hours() {
		u.ToFull = time.Duration(hours * float64(time.Hour))
	}
}

// held sums up by kind, every kind in its place.
func (inv inventory) held() []Held {
	var hs []Held
	for _, kind := range fileKinds() {
		h := Held{Kind: kind.String()}
		for _, e := range inv {
			if e.kind == kind {
				h.Count++
				h.Bytes += e.bytes
				h.Allocated += e.allocated
			}
		}
		hs = append(hs, h)
	}
	return hs
}
