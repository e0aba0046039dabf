package probes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Bounds of reading a log.
const (
	tailRead   = 4 << 20  // per sample; the rest is next time's
	tailBehind = 64 << 20 // further behind than this, the middle is skipped and that is said
	tailLine   = 64 << 10 // longer lines are cut: nothing that is looked for is as long
)

// tail follows a log file through truncation and rotation. What stands in the file at the first look is
// not read; a file that appears later is read from its begin.
type tail struct {
	path   string
	f      *os.File
	offset int64
	torn   []byte // the begin of a line whose end has not been written yet
	cut    bool   // the line has passed tailLine; drop until its end
	looked bool
	gen    int // counts the files: moved by rotation and truncation
}

// chunk is what one read gave.
type chunk struct {
	lines   []string
	gen     int   // of all lines: a read never spans two files
	skipped int64 // bytes left out because the reader was too far behind
	more    bool  // there is more to read now
}

// read returns complete lines. A missing file is an error; it is the caller's to say so.
func (t *tail) read() (chunk, error) {
	fresh, err := t.follow()
	if err != nil {
		return chunk{}, err
	}
	fi, err := t.f.Stat()
	if err != nil {
		return chunk{}, fmt.Errorf("read log: %w", err)
	}
	if fi.Size() < t.offset { // truncated: a server that starts again may write over its old log
		t.offset, t.torn, t.cut = 0, nil, false
		t.gen++
	}
	c := chunk{gen: t.gen}
	if behind := fi.Size() - t.offset; behind > tailBehind {
		c.skipped = behind - tailRead
		t.offset += c.skipped
		t.torn, t.cut = nil, true // the rest of a line stands here
	}
	b, err := io.ReadAll(io.NewSectionReader(t.f, t.offset, tailRead))
	if err != nil {
		return chunk{}, fmt.Errorf("read log: %w", err)
	}
	t.offset += int64(len(b))
	c.lines = t.split(b)
	c.more = t.offset < fi.Size() || fresh != nil
	if fresh != nil && t.offset >= fi.Size() { // the old file is read to its end: go on with the new one
		_ = t.f.Close() // only read from
		t.f, t.offset, t.torn, t.cut = fresh, 0, nil, false
		t.gen++
	} else if fresh != nil {
		_ = fresh.Close() // opened again next time
	}
	return c, nil
}

// follow opens the file, and says when another one has taken its name.
func (t *tail) follow() (fresh *os.File, err error) {
	f, err := os.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		if t.looked && t.f != nil {
			return nil, nil // renamed away, and nothing has taken its place yet
		}
		t.looked = true
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if t.f == nil {
		t.f, t.gen = f, t.gen+1
		if !t.looked {
			t.looked = true
			if t.offset, err = f.Seek(0, io.SeekEnd); err != nil {
				return nil, fmt.Errorf("open log: %w", err)
			}
			t.cut = t.midLine()
		}
		return nil, nil
	}
	was, err := t.f.Stat()
	if err == nil {
		is, ierr := f.Stat()
		if ierr == nil && !os.SameFile(was, is) {
			return f, nil
		}
	}
	_ = f.Close() // the same file, already open
	return nil, nil
}

// midLine says whether the file ends inside a line at the first look: its rest is not a line.
func (t *tail) midLine() bool {
	if t.offset == 0 {
		return false
	}
	var last [1]byte
	_, err := t.f.ReadAt(last[:], t.offset-1)
	return err == nil && last[0] != '\n'
}

func (t *tail) split(b []byte) []string {
	var lines []string
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			if !t.cut {
				t.torn = append(t.torn, b[:min(len(b), tailLine)]...)
				if len(t.torn) > tailLine {
					lines = append(lines, string(t.torn[:tailLine]))
					t.torn, t.cut = nil, true
				}
			}
			break
		}
		if !t.cut {
			line := append(t.torn, b[:i]...)
			lines = append(lines, string(bytes.TrimRight(line[:min(len(line), tailLine)], "\r")))
		}
		t.torn, t.cut = nil, false
		b = b[i+1:]
	}
	return lines
}

// close ends the tail.
func (t *tail) close() {
	if t.f != nil {
		_ = t.f.Close() // only read from
		t.f = nil
	}
}
