package zookeeper

import (
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"
	"time"
)

// MaxRecord bounds a log record. ZooKeeper refuses records above jute.maxbuffer (1 MiB unless raised) and some slack;
// 32 MiB leaves room for servers that raised it. What claims to be longer is garbage.
const MaxRecord = 32 << 20

// MaxRuns bounds how many runs a log's summary holds; a log with more gaps than this is damaged.
const MaxRuns = 64

const (
	logMagic     = "ZKLG"
	fileVersion  = 2
	headerLen    = 16
	txnHeaderLen = 32
)

// End says why the reading of a log stopped.
type End uint8

// The ways in which a log ends. The first three are normal. Torn is normal for a log that is being written, and for one
// whose server was killed: ZooKeeper stops there and goes on with the next file. The rest is damage: a server exits.
const (
	EndEOF      End = iota // the file ends after a record
	EndPadding             // zeros follow the last record, up to the preallocated size
	EndEmpty               // 0 bytes
	EndTorn                // the last record, or the file's header, is not all there
	EndChecksum            // a whole record whose checksum does not hold
	EndGarbage             // not a log, or a record that can't be one
	EndOrder               // an id that is not above the one before it
)

var endNames = [...]string{"end of file", "padding", "empty", "torn record", "bad checksum", "garbage", "ids go back"}

// String names the end in a few words.
func (e End) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "unknown"
}

// Damaged is true when ZooKeeper would not replay past this end.
func (e End) Damaged() bool { return e >= EndChecksum }

// Record is one transaction as the log holds it.
type Record struct {
	Offset  int64 // of the record in the file
	Session int64
	Cxid    int32
	Zxid    Zxid
	Time    time.Time // the leader's clock, in ms
	Type    int32     // ZooKeeper's OpCode
	Body    []byte    // the transaction and, since 3.6, its digest; valid until the next record
}

// Tail is where and why a log ends.
type Tail struct {
	End    End
	Offset int64 // of the first byte that is not part of a whole record
}

// Records reads a log from its first byte and hands over every whole record in file order, until yield returns false or
// the log ends. It verifies each record's checksum (over the payload alone, whatever ZooKeeper's Javadoc says) and its
// end mark. The error is that of r; bad content is a Tail.
func Records(r io.Reader, yield func(Record) bool) (Tail, error) {
	w := newWindow(r)
	end := readLogHeader(w)
	for more := end == EndEOF; more; {
		var rec Record
		rec, end, more = nextRecord(w)
		if more {
			more = yield(rec)
		}
	}
	if err := w.readErr(); err != nil {
		return Tail{End: end, Offset: w.offset()}, fmt.Errorf("read log: %w", err)
	}
	return Tail{End: end, Offset: w.offset()}, nil
}

// readLogHeader passes the file header; EndEOF means that it is good.
func readLogHeader(w *window) End {
	h := w.peek(headerLen)
	switch {
	case len(h) == 0:
		return EndEmpty
	case len(h) < headerLen:
		return EndTorn
	case string(h[:4]) != logMagic || binary.BigEndian.Uint32(h[4:]) != fileVersion:
		return EndGarbage
	}
	w.take(headerLen)
	return EndEOF
}

// nextRecord passes one whole record, or says why there is none and stays in front of it.
func nextRecord(w *window) (rec Record, end End, ok bool) {
	h := w.peek(12)
	if len(h) == 0 {
		return rec, EndEOF, false
	}
	if len(h) < 12 {
		if allZero(h) {
			return rec, EndPadding, false
		}
		return rec, EndTorn, false
	}
	sum, n := int64(binary.BigEndian.Uint64(h)), int32(binary.BigEndian.Uint32(h[8:]))
	switch {
	case n == 0:
		return rec, EndPadding, false
	case n < 0 || n > MaxRecord:
		return rec, EndGarbage, false
	}
	b := w.peek(12 + int(n) + 1)
	if len(b) < 12+int(n)+1 || b[12+n] != 'B' {
		return rec, EndTorn, false
	}
	payload := b[12 : 12+n]
	switch {
	case int64(adler32.Checksum(payload)) != sum:
		return rec, EndChecksum, false
	case n < txnHeaderLen:
		return rec, EndGarbage, false
	}
	rec = Record{
		Offset:  w.offset(),
		Session: int64(binary.BigEndian.Uint64(payload)),
		Cxid:    int32(binary.BigEndian.Uint32(payload[8:])),
		Zxid:    Zxid(binary.BigEndian.Uint64(payload[12:])),
		Time:    time.UnixMilli(int64(binary.BigEndian.Uint64(payload[20:]))),
		Type:    int32(binary.BigEndian.Uint32(payload[28:])),
		Body:    payload[txnHeaderLen:],
	}
	w.take(len(b))
	return rec, EndEOF, true
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// Run is a stretch of ids without a gap, see Zxid.Follows.
type Run struct{ First, Last Zxid }

// LogFile sums up one log.
type LogFile struct {
	Count       int  // whole records
	First, Last Zxid // of the records; 0 when there is none
	From, To    time.Time
	Runs        []Run // in order; more than one when ids are missing inside the file
	Tail
}

// ReadLog reads a log whole, every checksum, and sums it up. The error is that of r; bad content is in Tail.
func ReadLog(r io.Reader) (LogFile, error) {
	var l LogFile
	broken := EndEOF
	var at int64
	tail, err := Records(r, func(rec Record) bool {
		switch n := len(l.Runs); {
		case n == 0:
			l.First, l.From = rec.Zxid, rec.Time
			l.Runs = append(l.Runs, Run{rec.Zxid, rec.Zxid})
		case rec.Zxid <= l.Last:
			broken, at = EndOrder, rec.Offset
		case rec.Zxid.Follows(l.Last):
			l.Runs[n-1].Last = rec.Zxid
		case n == MaxRuns:
			broken, at = EndGarbage, rec.Offset
		default:
			l.Runs = append(l.Runs, Run{rec.Zxid, rec.Zxid})
		}
		if broken != EndEOF {
			return false
		}
		l.Last, l.To = rec.Zxid, rec.Time
		l.Count++
		return true
	})
	if l.Tail = tail; broken != EndEOF {
		l.Tail = Tail{End: broken, Offset: at}
	}
	return l, err
}
