package zkstub

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	logMagic      = "ZKLG"
	snapMagic     = "ZKSN"
	fileVersion   = 2
	fileHeader    = 16
	padAhead      = 4096 // a log grows when less than this is left (FilePadding)
	endOfRecord   = 'B'
	digestVersion = 2
)

// files are the transaction logs and snapshots of one node, in ZooKeeper's formats. A log is named by its first
// transaction and made when that is appended; it is padded by growing in blocks, and never cut when it is left.
type files struct {
	dir       string
	snapCount int
	prealloc  int64
	rnd       *rand.Rand

	log   *os.File
	pos   int64
	size  int64
	since int // transactions since the last snapshot
	limit int
	buf   []byte
}

func newFiles(dir string, id int, o Options) (*files, error) {
	f := &files{
		dir:       filepath.Join(dir, "version-2"),
		snapCount: o.SnapCount,
		prealloc:  o.PreAlloc,
		rnd:       rand.New(rand.NewPCG(o.Seed, uint64(id))),
	}
	f.draw()
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "myid"), []byte(strconv.Itoa(id)+"\n"), 0o644); err != nil {
		return nil, err
	}
	return f, f.epochs(0)
}

// epochs writes the two files of Zab.
func (f *files) epochs(epoch int64) error {
	var errs []error
	for _, name := range []string{"acceptedEpoch", "currentEpoch"} {
		errs = append(errs, os.WriteFile(filepath.Join(f.dir, name), []byte(strconv.FormatInt(epoch, 10)), 0o644))
	}
	return errors.Join(errs...)
}

// draw decides when the next snapshot is due, as SyncRequestProcessor does, so that nodes don't all do it at once.
func (f *files) draw() {
	f.since = 0
	f.limit = f.snapCount/2 + f.rnd.IntN(max(f.snapCount/2, 1))
}

func (f *files) due() bool { return f.since > f.limit }

// append writes one record: checksum of the payload, its length, the payload, an end mark.
func (f *files) append(zxid int64, payload []byte) error {
	if f.log == nil {
		if err := f.begin(zxid); err != nil {
			return err
		}
	}
	b := binary.BigEndian.AppendUint64(f.buf[:0], uint64(adler32.Checksum(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, payload...)
	b = append(b, endOfRecord)
	f.buf = b
	if err := f.pad(); err != nil {
		return err
	}
	if _, err := f.log.WriteAt(b, f.pos); err != nil {
		return fmt.Errorf("append to log: %w", err)
	}
	f.pos += int64(len(b))
	f.since++
	return nil
}

func (f *files) begin(zxid int64) error {
	log, err := os.OpenFile(filepath.Join(f.dir, fmt.Sprintf("log.%x", zxid)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	f.log, f.pos, f.size = log, fileHeader, fileHeader
	if _, err := log.Write(header(logMagic, 0)); err != nil {
		return fmt.Errorf("write header of log: %w", err)
	}
	return nil
}

// pad grows the log by one byte at the far end of a block: the file is sparse.
func (f *files) pad() error {
	if f.pos+padAhead < f.size {
		return nil
	}
	if f.pos > f.size {
		f.size = f.pos + f.prealloc
		f.size -= f.size % f.prealloc
	} else {
		f.size += f.prealloc
	}
	if _, err := f.log.WriteAt([]byte{0}, f.size-1); err != nil {
		return fmt.Errorf("pad log: %w", err)
	}
	return nil
}

// rollWith leaves the log and writes a snapshot. The snapshot is named by the transaction before the last one, as
// happens on servers, where the last one is in the log and not yet in the tree when the dump starts: the log
// before it is needed to restore it.
func (f *files) rollWith(zxid int64, t *tree, sessions map[int64]*session) error {
	if err := f.close(); err != nil {
		return err
	}
	f.draw()
	name := zxid
	if zxid&0xffffffff > 1 {
		name--
	}
	return f.write(name, zxid, t, sessions)
}

// snapshot writes the tree as of zxid.
func (f *files) snapshot(zxid int64, t *tree, sessions map[int64]*session) error {
	return f.write(zxid, zxid, t, sessions)
}

func (f *files) write(name, zxid int64, t *tree, sessions map[int64]*session) error {
	err := os.WriteFile(filepath.Join(f.dir, fmt.Sprintf("snapshot.%x", name)), dump(zxid, t, sessions), 0o644)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// close leaves the log as it is, padding and all; the next transaction begins a new one.
func (f *files) close() error {
	if f.log == nil {
		return nil
	}
	err := f.log.Close()
	f.log = nil
	return err
}

func header(magic string, dbid int64) []byte {
	w := wire(magic)
	w.i32(fileVersion)
	w.i64(dbid)
	return w
}

// dump serialises a snapshot with the three seals of 3.9: after the tree, after the digest, after the last zxid.
func dump(zxid int64, t *tree, sessions map[int64]*session) []byte {
	w := wire(header(snapMagic, -1))
	w.i32(int32(len(sessions)))
	open := slices.SortedFunc(maps.Values(sessions), func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	for _, s := range open {
		w.i64(s.id)
		w.i32(int32(s.timeout / time.Millisecond))
	}
	w.i32(0) // ACLs: none but the open one
	var sum uint64
	t.walk(func(path string, n *znode) {
		if path == "/" {
			path = "" // that is how the root is named in a snapshot
		}
		w.str(path)
		w.buf(n.data)
		w.i64(-1) // the open ACL
		w.i64(n.st.czxid)
		w.i64(n.st.mzxid)
		w.i64(n.st.ctime)
		w.i64(n.st.mtime)
		w.i32(n.st.version)
		w.i32(n.st.cversion)
		w.i32(n.st.aversion)
		w.i64(n.st.owner)
		w.i64(n.st.pzxid)
		sum += digest(path, n)
	})
	w.str("/")
	w.seal()
	w.i64(zxid)
	w.i32(digestVersion)
	w.i64(int64(sum))
	w.seal()
	w.i64(zxid)
	w.seal()
	return w
}

// seal writes the checksum of all that stands before it.
func (w *wire) seal() {
	w.i64(int64(adler32.Checksum(*w)))
	w.str("/")
}

// digest of one node (DigestCalculator, version 2); a tree's is the sum.
func digest(path string, n *znode) uint64 {
	if strings.HasPrefix(path, "/zookeeper/") {
		return 0
	}
	var w wire
	w.i64(n.st.czxid)
	w.i64(n.st.mzxid)
	w.i64(n.st.pzxid)
	w.i64(n.st.ctime)
	w.i64(n.st.mtime)
	w.i32(n.st.version)
	w.i32(n.st.cversion)
	w.i32(n.st.aversion)
	w.i64(n.st.owner)
	crc := crc32.ChecksumIEEE([]byte(path))
	crc = crc32.Update(crc, crc32.IEEETable, n.data)
	return uint64(crc32.Update(crc, crc32.IEEETable, w))
}
