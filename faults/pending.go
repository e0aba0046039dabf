package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"time"

	"nightshift/soak/target"
)

// Pending is a fault in the journal that must still be undone.
type Pending struct {
	Undo  Undo
	Mark  Mark           // how far it came
	Since time.Duration  // boot clock when it was prepared: its life is counted from here
	By    target.ProcRef // the process that prepared it
	Text  string         // of the last line
	order int
}

// Overdue says that its life is over at now (boot clock) and that nobody has reverted it.
func (p Pending) Overdue(now time.Duration) bool {
	return (p.Mark == MarkPrepared || p.Mark == MarkInjected) && now-p.Since > p.Undo.MaxLife
}

// Reader follows a journal. It keeps only what is pending, so that it can follow one for days.
type Reader struct {
	path  string
	off   int64 // begin of the first line not read yet
	lines int
	open  map[string]*Pending
	bad   []string
}

// NewReader reads the journal at path, from its begin.
func NewReader(path string) *Reader { return &Reader{path: path, open: map[string]*Pending{}} }

// Refresh reads what was appended since. A journal that does not exist yet is empty. A last line without an end
// is left for the next time.
func (r *Reader) Refresh() error {
	f, err := os.Open(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read undo journal: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.NewSectionReader(f, r.off, 1<<62))
	if err != nil {
		return fmt.Errorf("read undo journal: %w", err)
	}
	for {
		text, rest, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			return nil
		}
		r.off += int64(len(text)) + 1
		r.lines++
		r.line(text)
		b = rest
	}
}

// line takes one whole line in. One that can't be read was torn when its writer died and was finished by the newline
// of the next: since it was never synced, the step after it was never done.
func (r *Reader) line(text []byte) {
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil || l.ID == "" || l.Mark == MarkPrepared && l.Undo == nil {
		r.bad = append(r.bad, fmt.Sprintf("line %d of the undo journal was torn; what it was written for was never done", r.lines))
		return
	}
	switch l.Mark {
	case MarkPrepared:
		r.open[l.ID] = &Pending{Undo: *l.Undo, Mark: l.Mark, Since: l.Boot, By: l.By, order: r.lines}
	case MarkHealed, MarkClosed:
		delete(r.open, l.ID)
	default:
		if p := r.open[l.ID]; p != nil {
			p.Mark, p.Text = l.Mark, l.Text
		}
	}
}

// Pending is what must still be undone, the newest first: what was put on last comes off first.
func (r *Reader) Pending() []Pending {
	ps := make([]Pending, 0, len(r.open))
	for _, p := range r.open {
		ps = append(ps, *p)
	}
	sort.Slice(ps, func(i, k int) bool { return ps[i].order > ps[k].order })
	return ps
}

// Bad says which lines could not be read.
func (r *Reader) Bad() []string { return r.bad }
