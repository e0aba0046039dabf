package zookeeper

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

const (
	snapshotMagic = "ZKSN"
	statLen       = 60 // StatPersisted
	sealLen       = 13 // int64 Adler32 and the string "/"
	digestLen     = 20 // zxid, version, digest
)

// SnapshotFile sums up one snapshot. Unless Whole, the numbers are what was read before Reason.
type SnapshotFile struct {
	Zxid     Zxid // out of the name
	Whole    bool // every byte was read, it parses, each seal holds, and the file ends after one
	Reason   string
	Bytes    int64 // unpacked
	Sessions int
	Nodes    int // as ZooKeeper counts them: the root counts twice, as "" and as "/"
	Seals    int // 1 to 3
	// Marks are the newest transactions of each epoch that nodes tell of (czxid, mzxid, pzxid), in order: whatever the
	// logs hold, these have happened. Of the first maxMarks epochs that come up.
	Marks []Zxid

	Digest     uint64 // of the tree at DigestZxid; only with HasDigest (3.6, on by default)
	DigestZxid Zxid   // 0: the server had none yet
	HasDigest  bool
	Last       Zxid // the last transaction applied when the writing ended; only with HasLast (3.9, on by default)
	HasLast    bool
}

// Stamp is the newest transaction that the content itself tells of. The content of a snapshot under its own name has
// one that is not below the name: servers name the file first and write the stamps last. ok is false when there is
// none, as before 3.6.
func (s SnapshotFile) Stamp() (z Zxid, ok bool) {
	if s.HasLast {
		return s.Last, true
	}
	return s.DigestZxid, s.HasDigest && s.DigestZxid > 0
}

// ReadSnapshot reads the snapshot of that name whole: it parses the structure, checks every seal (Adler32 over all
// bytes before it) and that nothing follows the last one. Memory does not depend on the size. The error is that of r;
// bad content is a Reason. ZooKeeper's own purge looks at no more than the last 5 bytes, or at the magic of a packed file.
func ReadSnapshot(name string, r io.Reader) (SnapshotFile, error) {
	n := Classify(name)
	s := SnapshotFile{Zxid: n.Zxid}
	src := &source{r: r}
	in, err := unpack(src, n.Compression)
	if err == nil {
		w := newSummedWindow(in)
		s.Reason = s.parse(w)
		s.Bytes = w.offset()
		err = w.readErr()
	}
	if src.err != nil {
		return s, fmt.Errorf("read snapshot: %w", src.err)
	}
	switch {
	case errors.Is(err, io.EOF): // nothing to unpack at all
		s.Reason = "empty"
	case err != nil:
		s.Reason = "does not unpack: " + err.Error()
	}
	s.Whole = s.Reason == ""
	return s, nil
}

// source remembers a failed read apart from what the unpacking layers say of the content.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func unpack(r io.Reader, c Compression) (io.Reader, error) {
	switch c {
	case Gzip:
		return gzip.NewReader(r)
	case Snappy:
		return newSnappyReader(r)
	}
	return r, nil
}

// parse walks the whole stream and returns what is wrong with it, "" for nothing.
func (s *SnapshotFile) parse(w *window) string {
	h, ok := w.take(headerLen)
	switch {
	case !ok && w.end == 0:
		return "empty"
	case !ok:
		return "ends inside the header"
	case string(h[:4]) != snapshotMagic || binary.BigEndian.Uint32(h[4:]) != fileVersion:
		return "not a snapshot"
	}
	if !s.sessions(w) {
		return s.broken(w, "sessions")
	}
	if !acls(w) {
		return s.broken(w, "ACLs")
	}
	if !s.nodes(w) {
		return s.broken(w, "nodes")
	}
	return s.seals(w)
}

func (s *SnapshotFile) broken(w *window, where string) string {
	if w.err != nil && w.pos == w.end {
		return "ends inside the " + where
	}
	return fmt.Sprintf("does not parse at byte %d, in the %s", w.offset(), where)
}

func (s *SnapshotFile) sessions(w *window) bool {
	n, ok := int32Of(w)
	if !ok || n < 0 || !w.skip(int64(n)*12) {
		return false
	}
	s.Sessions = int(n)
	return true
}

func acls(w *window) bool {
	n, ok := int32Of(w)
	for ; ok && n > 0; n-- {
		if _, ok = w.take(8); !ok {
			return false
		}
		var entries int32
		for entries, ok = int32Of(w); ok && entries > 0; entries-- {
			_, ok = w.take(4)
			ok = ok && skipBuffer(w) && skipBuffer(w)
		}
		ok = ok && entries == 0
	}
	return ok && n == 0
}

// nodes passes (path, data, ACL id, stat) until the path "/" that ends the tree.
func (s *SnapshotFile) nodes(w *window) bool {
	m := marks{of: map[uint32]Zxid{}}
	defer func() {
		m.store()
		s.Marks = slices.Sorted(maps.Values(m.of))
	}()
	for {
		n, ok := int32Of(w)
		if !ok || n < 0 {
			return false
		}
		if n == 1 && string(w.peek(1)) == "/" {
			s.Nodes++ // the second name of the root
			return w.skip(1)
		}
		if !w.skip(int64(n)) || !skipBuffer(w) {
			return false
		}
		stat, ok := w.take(8 + statLen)
		if !ok {
			return false
		}
		for _, at := range [...]int{8, 16, 60} { // czxid, mzxid, pzxid
			m.add(Zxid(binary.BigEndian.Uint64(stat[at:])))
		}
		s.Nodes++
	}
}

// maxMarks bounds what is kept of a snapshot out of garbage.
const maxMarks = 1024

// marks holds the newest id of each epoch. Nodes of one epoch come in long rows, so the last one is at hand.
type marks struct {
	of   map[uint32]Zxid
	last Zxid
}

func (m *marks) add(z Zxid) {
	if z.Epoch() == m.last.Epoch() {
		m.last = max(m.last, z)
		return
	}
	m.store()
	m.last = max(z, m.of[z.Epoch()])
}

func (m *marks) store() {
	if m.last > 0 && (len(m.of) < maxMarks || m.of[m.last.Epoch()] > 0) {
		m.of[m.last.Epoch()] = m.last
	}
}

// seals reads the first seal and what may follow it: the digest with a seal, the last zxid with a seal, either, both or
// none (each is an option of the server). A file cut behind a seal is what an older server would have written.
func (s *SnapshotFile) seals(w *window) string {
	for {
		s.Seals++
		if reason := seal(w); reason != "" {
			return fmt.Sprintf("seal %d %s", s.Seals, reason)
		}
		const digest, last = digestLen + sealLen, 8 + sealLen
		switch rest := len(w.peek(digest + last + 1)); {
		case rest == 0:
			return ""
		case !s.HasDigest && !s.HasLast && (rest == digest || rest == digest+last):
			b, _ := w.take(digestLen)
			s.HasDigest, s.DigestZxid = true, Zxid(binary.BigEndian.Uint64(b))
			s.Digest = binary.BigEndian.Uint64(b[12:])
		case !s.HasLast && rest == last:
			b, _ := w.take(8)
			s.HasLast, s.Last = true, Zxid(binary.BigEndian.Uint64(b))
		default:
			return fmt.Sprintf("does not end after seal %d", s.Seals)
		}
	}
}

func seal(w *window) string {
	want := w.adler()
	b, ok := w.take(sealLen)
	switch {
	case !ok:
		return "is missing"
	case string(b[8:]) != "\x00\x00\x00\x01/":
		return "has no end mark"
	case int64(binary.BigEndian.Uint64(b)) != want:
		return "does not hold"
	}
	return ""
}

func int32Of(w *window) (int32, bool) {
	b, ok := w.take(4)
	if !ok {
		return 0, false
	}
	return int32(binary.BigEndian.Uint32(b)), true
}

// skipBuffer passes a buffer or string; -1 is null.
func skipBuffer(w *window) bool {
	n, ok := int32Of(w)
	return ok && n >= -1 && (n <= 0 || w.skip(int64(n)))
}
