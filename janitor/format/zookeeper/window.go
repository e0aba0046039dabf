package zookeeper

import (
	"errors"
	"hash"
	"hash/adler32"
	"io"
)

// window is a forward-only view of a stream, with the Adler32 of everything that was passed when sum is set. Its
// buffer grows only as far as bytes really arrive, so that a length out of garbage costs nothing.
type window struct {
	r        io.Reader
	buf      []byte
	pos, end int         // unread bytes are buf[pos:end]
	base     int64       // offset of buf[0] in the stream
	sum      hash.Hash32 // nil: not wanted
	summed   int         // buf[:summed] is in sum
	err      error       // first failure of r; io.EOF is one
}

// A window starts small, because many files are, and reads long ones in larger steps.
const firstWindow, fullWindow = 8 << 10, 256 << 10

func newWindow(r io.Reader) *window { return &window{r: r, buf: make([]byte, firstWindow)} }

func newSummedWindow(r io.Reader) *window {
	w := newWindow(r)
	w.sum = adler32.New()
	return w
}

// offset is where the next byte stands in the stream.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

// readErr is the failure of the source, nil for a plain end. Packed content that breaks off is a failure.
func (w *window) readErr() error {
	if errors.Is(w.err, io.EOF) {
		return nil
	}
	return w.err
}

// fill makes room and reads once; false at the end of the stream.
func (w *window) fill() bool {
	if w.err != nil {
		return false
	}
	w.digest()
	if w.pos > 0 {
		copy(w.buf, w.buf[w.pos:w.end])
		w.base += int64(w.pos)
		w.end -= w.pos
		w.pos, w.summed = 0, 0
	}
	if w.end == len(w.buf) || w.base > 0 && len(w.buf) < fullWindow {
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
	for tries := 0; w.err == nil; tries++ {
		n, err := w.r.Read(w.buf[w.end:])
		w.end += n
		w.err = err
		if n > 0 {
			return true
		}
		if tries == 100 {
			w.err = io.ErrNoProgress
		}
	}
	return false
}

// peek shows the next n bytes without passing them; fewer only at the end of the stream. Valid until the next call.
func (w *window) peek(n int) []byte {
	for w.end-w.pos < n && w.fill() {
	}
	return w.buf[w.pos:min(w.pos+n, w.end)]
}

// take passes the next n bytes; ok is false when the stream ends first, and then nothing is passed.
func (w *window) take(n int) (b []byte, ok bool) {
	if b = w.peek(n); len(b) < n {
		return nil, false
	}
	w.pos += n
	return b, true
}

// skip passes n bytes without keeping them; false when the stream ends first.
func (w *window) skip(n int64) bool {
	for {
		step := min(n, int64(w.end-w.pos))
		w.pos += int(step)
		if n -= step; n == 0 {
			return true
		}
		if !w.fill() {
			return false
		}
	}
}

// digest brings sum up to the current position.
func (w *window) digest() {
	if w.sum != nil && w.summed < w.pos {
		w.sum.Write(w.buf[w.summed:w.pos])
		w.summed = w.pos
	}
}

// adler is the checksum of every byte passed so far.
func (w *window) adler() int64 {
	w.digest()
	return int64(w.sum.Sum32())
}
