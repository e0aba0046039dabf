package janitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// memory is a Dir of bytes, for histories by the thousand. Logs lie on the side of the logs when split.
type memory struct {
	files map[string]memoryFile
	split bool
	next  uint64 // inode
	lock  bool
}

type memoryFile struct {
	data  []byte
	mode  fs.FileMode
	inode uint64
	time  time.Time
}

var _ Dir = (*memory)(nil)

func newMemory() *memory { return &memory{files: map[string]memoryFile{}} }

func (m *memory) put(name string, b []byte) {
	m.next++
	m.files[name] = memoryFile{data: b, inode: m.next, time: time.Unix(1e9+int64(m.next), 0)}
}

// grow changes a file and leaves it the same file.
func (m *memory) grow(name string, b []byte) {
	f := m.files[name]
	m.next++
	f.data, f.time = b, time.Unix(1e9+int64(m.next), 0)
	m.files[name] = f
}

func (m *memory) entry(name string) Entry {
	f := m.files[name]
	e := Entry{Name: name, Path: "mem/" + name, Mode: f.mode, Size: int64(len(f.data)), Allocated: int64(len(f.data)+4095) &^ 4095, ModTime: f.time, Inode: f.inode}
	if m.split && strings.HasPrefix(name, "log.") {
		e.Side = Logs
	}
	return e
}

func (m *memory) List(context.Context) ([]Entry, error) {
	var all []Entry
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		all = append(all, m.entry(name))
	}
	return all, nil
}

func (m *memory) Stat(e Entry) (Entry, error) {
	if _, ok := m.files[e.Name]; !ok {
		return Entry{}, fmt.Errorf("stat %s: %w", e.Name, fs.ErrNotExist)
	}
	return m.entry(e.Name), nil
}

func (m *memory) Open(e Entry) (io.ReadCloser, error) {
	f, ok := m.files[e.Name]
	if !ok || f.inode != e.Inode {
		return nil, fmt.Errorf("open %s: %w", e.Name, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(f.data)), nil
}

func (m *memory) Remove(e Entry) error {
	f, ok := m.files[e.Name]
	if !ok || f.inode != e.Inode || f.mode.Type() != 0 {
		return fmt.Errorf("remove %s: %w", e.Name, fs.ErrNotExist)
	}
	delete(m.files, e.Name)
	return nil
}

func (m *memory) Lock() (func() error, error) {
	if m.lock {
		return nil, ErrLocked
	}
	m.lock = true
	return func() error { m.lock = false; return nil }, nil
}

var errInjected = errors.New("injected")

// failing fails one operation of a Dir: the one with number at. With done, the operation takes effect and fails all the
// same. Every call counts, every read of an opened file too.
type failing struct {
	Dir
	at, n int
	done  bool
	ops   []string
}

var _ Dir = (*failing)(nil)

func (f *failing) fails(op string) bool {
	f.ops = append(f.ops, op)
	f.n++
	return f.n-1 == f.at
}

func (f *failing) List(ctx context.Context) ([]Entry, error) {
	if f.fails("list") {
		return nil, errInjected
	}
	return f.Dir.List(ctx)
}

func (f *failing) Stat(e Entry) (Entry, error) {
	if f.fails("stat " + e.Name) {
		return Entry{}, errInjected
	}
	return f.Dir.Stat(e)
}

func (f *failing) Open(e Entry) (io.ReadCloser, error) {
	if f.fails("open " + e.Name) {
		return nil, errInjected
	}
	r, err := f.Dir.Open(e)
	if err != nil {
		return nil, err
	}
	return &failingFile{r, f, e.Name}, nil
}

func (f *failing) Remove(e Entry) error {
	fails := f.fails("remove " + e.Name)
	if fails && !f.done {
		return errInjected
	}
	err := f.Dir.Remove(e)
	if fails && err == nil {
		err = errInjected
	}
	return err
}

func (f *failing) Lock() (func() error, error) {
	if f.fails("lock") {
		return nil, errInjected
	}
	release, err := f.Dir.Lock()
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := release(); err != nil {
			return err
		}
		if f.fails("unlock") {
			return errInjected
		}
		return nil
	}, nil
}

type failingFile struct {
	io.ReadCloser
	f    *failing
	name string
}

func (r *failingFile) Read(p []byte) (int, error) {
	if r.f.fails("read " + r.name) {
		return 0, errInjected
	}
	return r.ReadCloser.Read(p)
}

func (r *failingFile) Close() error {
	if err := r.ReadCloser.Close(); err != nil {
		return err
	}
	if r.f.fails("close " + r.name) {
		return errInjected
	}
	return nil
}

// stopping is a Dir in which only the first deletions work.
type stopping struct {
	Dir
	left int
}

func (s *stopping) Remove(e Entry) error {
	if s.left--; s.left < 0 {
		return errInjected
	}
	return s.Dir.Remove(e)
}

// onClose runs then when a file of that name was read and closed.
type onClose struct {
	Dir
	name string
	then func()
}

func (o *onClose) Open(e Entry) (io.ReadCloser, error) {
	r, err := o.Dir.Open(e)
	if err != nil || e.Name != o.name {
		return r, err
	}
	return closing{r, o.then}, nil
}

type closing struct {
	io.Reader
	then func()
}

func (c closing) Close() error { c.then(); return nil }
