package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// FileName is the record's file inside the run directory. While a run lives, and after it was killed,
// the newest part is in a second file of the same name with "-wal" behind it: copy both.
const FileName = "record.db"

const (
	queueLen    = 1 << 15     // half a minute of a busy run: so long a slow disk holds up nobody
	batchLen    = 16384       // events held back for the next commit, at most
	commitEvery = time.Second // so much is lost at most when the process is killed

	// stallAfter is how long an Emit may wait before it is a stall worth a note. Shorter ones don't make
	// an operation late, as nobody emits on the way of one.
	stallAfter = LateAfter
)

// Store is the one writer of a record.
type Store struct {
	path   string
	clock  Clock
	queue  chan Event
	flush  chan chan error
	quit   chan struct{}
	done   chan struct{} // closed on failure
	ended  chan struct{} // closed when the writer is gone
	closed atomic.Bool

	err     error // why done was closed; written before that
	endErr  error // of the last commit and of closing the file; written before ended is closed
	stalls  atomic.Uint64
	longest atomic.Int64
}

// Create starts the record of run in dir, which must exist and not hold one yet (else the error is fs.ErrExist).
// Run.Format is set to Format. The caller must Close the store.
func Create(dir string, clock Clock, run Run) (*Store, error) {
	path := filepath.Join(dir, FileName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create record: %s holds a run already, give another directory: %w", dir, err)
	}
	if err == nil {
		err = f.Close() // before SQLite opens it: a later close would drop its locks
	}
	if err != nil {
		return nil, fmt.Errorf("create record: %w", err)
	}
	run.Format = Format
	w, err := newWriter(path, run)
	if err != nil {
		return nil, fmt.Errorf("create record %s: %w", path, err)
	}
	s := newStore(path, clock)
	go s.write(w)
	return s, nil
}

func newStore(path string, clock Clock) *Store {
	return &Store{
		path: path, clock: clock,
		queue: make(chan Event, queueLen), flush: make(chan chan error),
		quit: make(chan struct{}), done: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Emit queues e; see Emit. After the writer has failed, or Close, it drops e. When the queue is full it
// waits; a long wait becomes a note with code NoteRecordStall.
// Histograms in e belong to the store from now on.
func (s *Store) Emit(e Event) {
	select {
	case s.queue <- e:
		return
	default:
	}
	began := s.clock.Now()
	select {
	case s.queue <- e:
	case <-s.ended:
		return
	}
	waited := s.clock.Now() - began
	if waited < stallAfter {
		return
	}
	for old := s.longest.Load(); int64(waited) > old && !s.longest.CompareAndSwap(old, int64(waited)); {
		old = s.longest.Load()
	}
	s.stalls.Add(1)
}

// Done is closed when the writer can't go on, for instance because the disk is full. What was committed
// before stays readable.
func (s *Store) Done() <-chan struct{} { return s.done }

// Err is why Done was closed; nil before.
func (s *Store) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Flush writes what is queued and returns when it is committed.
func (s *Store) Flush() error {
	reply := make(chan error, 1)
	select {
	case s.flush <- reply:
		return <-reply
	case <-s.ended:
		if err := s.Err(); err != nil {
			return err
		}
		return fmt.Errorf("flush record: it is closed")
	}
}

// Written is how many bytes the record holds on disk.
func (s *Store) Written() int64 {
	sum := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(s.path + suffix); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// Close flushes, folds the open minute and closes the file. The first call of it says what went wrong;
// after a failure it returns that again.
func (s *Store) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.quit)
	}
	<-s.ended
	if err := s.Err(); err != nil {
		return err
	}
	return s.endErr
}

// write is the only goroutine that touches the file.
func (s *Store) write(w *writer) {
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	defer close(s.ended)
	var batch []Event
	commit := func(last bool) bool {
		if n := s.stalls.Swap(0); n > 0 {
			batch = append(batch, s.stallNote(n))
		}
		err := w.commit(batch, last)
		clear(batch)
		batch = batch[:0]
		if err != nil {
			s.err = fmt.Errorf("write record %s: %w", s.path, err)
			close(s.done)
			w.abandon()
		}
		return err == nil
	}
	for ok := true; ok; {
		select {
		case e := <-s.queue:
			if batch = append(batch, e); len(batch) >= batchLen {
				ok = commit(false)
			}
		case <-tick.C:
			batch = s.drain(batch)
			ok = commit(false)
		case reply := <-s.flush:
			batch = s.drain(batch)
			ok = commit(false)
			reply <- s.Err()
		case <-s.quit:
			batch = s.drain(batch)
			if commit(true) {
				if err := w.close(); err != nil {
					s.endErr = fmt.Errorf("close record %s: %w", s.path, err)
				}
			}
			return
		}
	}
}

// drain adds what is queued by now, so that what was emitted before a Flush or Close is in.
func (s *Store) drain(batch []Event) []Event {
	for range queueLen {
		select {
		case e := <-s.queue:
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

func (s *Store) stallNote(n uint64) Note {
	longest := time.Duration(s.longest.Swap(0))
	return Note{
		Stamp: s.clock.Stamp(), Lane: "record", Level: "warn", Code: NoteRecordStall,
		Text: fmt.Sprintf("%d events waited for the writer of the record, the longest %s", n, longest.Round(time.Millisecond)),
	}
}

// openConn opens the one connection a writer has.
func openConn(address string) (*sql.DB, *sql.Conn, error) {
	db, err := sql.Open("sqlite", address)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, conn, nil
}
