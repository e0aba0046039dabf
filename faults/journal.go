package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/soak/target"
)

// JournalName is the name of the journal in a run directory.
const JournalName = "faults.journal"

// Mark is how far a fault has come.
type Mark string

// Marks. Whatever is neither healed nor closed must still be undone: a tool that died after "prepared" may have
// injected.
const (
	MarkPrepared Mark = "prepared" // the whole Undo is on disk; nothing has been done
	MarkInjected Mark = "injected"
	MarkReverted Mark = "reverted"
	MarkHealed   Mark = "healed"  // seen healed, or never injected
	MarkGaveUp   Mark = "gave-up" // could not be reverted or was not seen to heal; heal tries again
	MarkClosed   Mark = "closed"  // what it was done to is gone for good
)

// line is one line of the journal.
type line struct {
	Mark Mark           `json:"mark"`
	ID   string         `json:"id"`
	Boot time.Duration  `json:"boot"` // CLOCK_BOOTTIME when it was written: the same for all processes of a boot, and no clock fault moves it
	By   target.ProcRef `json:"by"`   // who wrote it
	Undo *Undo          `json:"undo,omitempty"`
	Text string         `json:"text,omitempty"`
}

// Journal appends to the undo journal of a run. The tool and its guardian may both have it open.
// It is safe for concurrent use.
type Journal struct {
	mu sync.Mutex
	f  *os.File
	by target.ProcRef
}

// OpenJournal opens the journal at path for appending and creates it, readable by its owner only.
func OpenJournal(path string) (*Journal, error) {
	by, err := target.Resolve(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("open undo journal: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open undo journal: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Join(fmt.Errorf("open undo journal: %w", err), f.Close())
	}
	return &Journal{f: f, by: by}, nil
}

// Prepared writes the whole Undo. Only when it returns nil may the fault be injected.
func (j *Journal) Prepared(u Undo) error {
	return j.append(line{Mark: MarkPrepared, ID: u.ID, Undo: &u})
}

// Mark writes that the fault has come to m; text says what was seen, or the error.
func (j *Journal) Mark(id string, m Mark, text string) error {
	return j.append(line{Mark: m, ID: id, Text: text})
}

// Close closes the file.
func (j *Journal) Close() error { return j.f.Close() }

// append writes one line by one write, and returns when it is on disk.
func (j *Journal) append(l line) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	boot, err := bootTime()
	if err != nil {
		return fmt.Errorf("write undo journal: %w", err)
	}
	l.Boot, l.By = boot, j.by
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write undo journal: %w", err)
	}
	if unlock := j.lock(); unlock != nil {
		defer unlock()
	}
	torn, err := j.torn()
	if err != nil {
		return fmt.Errorf("write undo journal: %w", err)
	}
	b = append(b, '\n')
	if torn { // the rest of a line that was never finished must not spoil this one
		b = append([]byte{'\n'}, b...)
	}
	if _, err := j.f.Write(b); err != nil {
		return fmt.Errorf("write undo journal: %w", err)
	}
	if err := j.f.Sync(); err != nil {
		return fmt.Errorf("sync undo journal: %w", err)
	}
	return nil
}

// lock keeps the other process out while a torn line is looked for and a line is written. A stopped or hung holder
// must not keep the guardian from its work: after a second the line is written all the same, which is safe, since
// one write in append mode is never mixed with another and readers skip an empty line.
func (j *Journal) lock() (unlock func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fd := int(j.f.Fd())
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = unix.Flock(fd, unix.LOCK_UN) } // closing the file unlocks as well
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil // a file system without locks
		}
		if sleep(ctx, 10*time.Millisecond) != nil {
			return nil
		}
	}
}

// torn says whether the file ends within a line.
func (j *Journal) torn() (bool, error) {
	st, err := j.f.Stat()
	if err != nil || st.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := j.f.ReadAt(last[:], st.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// bootTime is the time since this boot, sleep of the host included.
func bootTime() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, fmt.Errorf("read boot clock: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
