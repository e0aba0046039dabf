package janitor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nightshift/janitor/format/zookeeper/zookeepertest"
)

// server writes files as a ZooKeeper server does: it appends to a preallocated log, rolls it, and while it appends on
// writes the snapshot, seals last.
type server struct {
	dir  string
	last zxid
	log  *os.File
	at   int64
}

func (s *server) append(n int) error {
	for range n {
		s.last++
		if s.log == nil {
			f, err := os.Create(filepath.Join(s.dir, "log."+hexOf(s.last)))
			if err != nil {
				return err
			}
			s.log, s.at = f, int64(len(zookeepertest.LogHeader()))
			if _, err := f.Write(zookeepertest.LogHeader()); err != nil {
				return err
			}
			if err := f.Truncate(64 << 10); err != nil {
				return err
			}
		}
		rec := zookeepertest.Record(s.last, 100)
		for _, part := range [][]byte{rec[:40], rec[40:]} {
			if _, err := s.log.WriteAt(part, s.at); err != nil {
				return err
			}
			s.at += int64(len(part))
		}
	}
	return nil
}

func (s *server) roll() error {
	err := s.log.Close()
	s.log = nil
	return err
}

func (s *server) snapshot() error {
	name := s.last
	f, err := os.Create(filepath.Join(s.dir, "snapshot."+hexOf(name)))
	if err != nil {
		return err
	}
	if err := s.append(2); err != nil {
		return errors.Join(err, f.Close())
	}
	b := zookeepertest.Snapshot(s.last, 100, 3)
	for len(b) > 0 {
		n := min(len(b), 3000)
		if _, err := f.Write(b[:n]); err != nil {
			return errors.Join(err, f.Close())
		}
		b = b[n:]
	}
	return f.Close()
}

// live writes until ctx ends, and at least for that many turns.
func (s *server) live(turns int, purged <-chan struct{}) error {
	for turn := 0; ; turn++ {
		if turn >= turns {
			select {
			case <-purged:
				return s.log.Close()
			default:
			}
		}
		if turn > 0 {
			if err := s.roll(); err != nil {
				return err
			}
		}
		if err := s.append(5); err != nil {
			return err
		}
		if err := s.snapshot(); err != nil {
			return err
		}
	}
}

// Purges while a server writes: none fails, few are refused, something goes, and what is left restores all that was written.
func TestLivingServer(t *testing.T) {
	const keep, purges = 3, 40
	root := t.TempDir()
	dir := filepath.Join(root, versionDir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "snapshot.0"), zookeepertest.Snapshot(0, 1, 3))
	h := open(t, root, "")
	s := &server{dir: dir}
	enough, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.live(30, enough) }()
	removed, refused := 0, 0
	for range purges {
		done, err := purge(context.Background(), h, keep, time.Now())
		removed += len(done.Removed)
		if errors.Is(err, ErrRefused) || errors.Is(err, ErrChanged) {
			refused++
			t.Log(err)
		} else if err != nil {
			t.Errorf("purge beside a server: %v", err)
		}
	}
	close(enough)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	done, err := purge(context.Background(), h, keep, later)
	if err != nil {
		t.Fatal(err)
	}
	removed += len(done.Removed)
	if removed == 0 || refused > purges/4 {
		t.Errorf("%d files removed, %d of %d purges refused", removed, refused, purges)
	}
	r, err := Verify(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint(s.last); !r.Restorable || r.Zxid != want || r.RestartPoints != keep {
		t.Errorf("%+v, want %s by %d", r, want, keep)
	}
}
