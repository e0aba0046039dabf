package janitor

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Side says in which of a server's two directories a file lies. With a single directory everything is Data.
type Side uint8

// The sides of a ZooKeeper server: dataDir holds snapshots and epochs, dataLogDir the logs.
const (
	Data Side = iota
	Logs
)

// Entry is one name in a data directory, as a listing saw it.
type Entry struct {
	Name      string
	Path      string // for people and for JSON
	Side      Side
	Mode      fs.FileMode
	Size      int64 // apparent bytes
	Allocated int64 // bytes of the blocks it takes
	ModTime   time.Time
	Device    uint64 // with Inode: which file it is, whatever its name
	Inode     uint64
}

// Regular says whether it is a plain file, not a link, directory, pipe or device.
func (e Entry) Regular() bool { return e.Mode.IsRegular() }

// same says whether both are the same file.
func (e Entry) same(o Entry) bool {
	return e.Side == o.Side && e.Name == o.Name && e.Device == o.Device && e.Inode == o.Inode && e.Mode.Type() == o.Mode.Type()
}

// unchanged says whether both are the same file with, as far as a listing tells, the same content.
func (e Entry) unchanged(o Entry) bool {
	return e.same(o) && e.Size == o.Size && e.ModTime.Equal(o.ModTime)
}

// Dir is all that the janitor does to the data directories of one server, both of them when they lie apart. Errors wrap
// fs.ErrNotExist for what is gone. Home is the one over the real file system.
type Dir interface {
	// List names everything in the directories, without going deeper.
	List(ctx context.Context) ([]Entry, error)
	// Stat looks at one entry again, without following links.
	Stat(e Entry) (Entry, error)
	// Open reads a regular file; it never follows a link and never blocks on a pipe.
	Open(e Entry) (io.ReadCloser, error)
	// Remove unlinks a regular file that is still the one of e.
	Remove(e Entry) error
	// Lock keeps other janitors out until release; ErrLocked when one is in. It leaves no file behind.
	Lock() (release func() error, err error)
}
