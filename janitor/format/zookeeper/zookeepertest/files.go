// Package zookeepertest makes the bytes of logs and snapshots as a ZooKeeper server writes them, for tests that need
// many small ones, or damaged ones. It is built on the format alone, not on the reader it serves to test.
package zookeepertest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/adler32"
	"strings"

	"github.com/golang/snappy"

	"nightshift/janitor/format/zookeeper"
)

const (
	opCreate   = 1
	snappyHead = "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
	block      = 32 << 10
)

// LogHeader is what a log starts with.
func LogHeader() []byte { return []byte("ZKLG\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00") }

// Record is one record of a log: a create of /n<zxid> with size bytes of data. Its time is the id in ms.
func Record(z zookeeper.Zxid, size int) []byte {
	var p []byte
	p = binary.BigEndian.AppendUint64(p, 0x1000)    // session
	p = binary.BigEndian.AppendUint32(p, uint32(z)) // cxid
	p = binary.BigEndian.AppendUint64(p, uint64(z))
	p = binary.BigEndian.AppendUint64(p, uint64(z)) // time
	p = binary.BigEndian.AppendUint32(p, opCreate)
	p = appendString(p, "/n"+strings.TrimPrefix(z.String(), "0x"))
	p = appendString(p, strings.Repeat("d", size))
	p = append(p, make([]byte, 4+1+4)...) // ACLs, ephemeral, parent's version
	return Frame(p)
}

// Frame puts a payload into a record: checksum, length, payload, end mark.
func Frame(p []byte) []byte {
	var b []byte
	b = binary.BigEndian.AppendUint64(b, uint64(adler32.Checksum(p)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
	b = append(b, p...)
	return append(b, 'B')
}

// Log is a log with one record for each id, followed by pad zeros.
func Log(pad int, ids ...zookeeper.Zxid) []byte {
	b := LogHeader()
	for _, z := range ids {
		b = append(b, Record(z, 10)...)
	}
	return append(b, make([]byte, pad)...)
}

// Ids counts from first on.
func Ids(first zookeeper.Zxid, n int) []zookeeper.Zxid {
	ids := make([]zookeeper.Zxid, n)
	for i := range ids {
		ids[i] = first + zookeeper.Zxid(i)
	}
	return ids
}

// Snapshot is a plain snapshot of that many nodes below the root, with 1 to 3 seals. The second comes with a digest and
// the third with the last zxid; both tell of last, and so does the root node.
func Snapshot(last zookeeper.Zxid, nodes, seals int) []byte {
	b := []byte("ZKSN\x00\x00\x00\x02\xff\xff\xff\xff\xff\xff\xff\xff")
	b = append(b, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x75\x30"...) // one session
	b = append(b, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01"...)                 // one ACL list, id 1
	b = append(b, "\x00\x00\x00\x01\x00\x00\x00\x1f"...)                                 // of one entry: all rights
	b = appendString(appendString(b, "world"), "anyone")
	for i := range nodes + 1 {
		path := ""
		if i > 0 {
			path = "/n" + strings.TrimPrefix(zookeeper.Zxid(i).String(), "0x")
		}
		b = appendString(appendString(b, path), "data")
		stat := make([]byte, 8+60)
		if i == 0 {
			binary.BigEndian.PutUint64(stat[60:], uint64(last)) // pzxid of the root: its youngest child
		}
		b = append(b, stat...)
	}
	b = seal(appendString(b, "/"))
	if seals > 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(last))
		b = append(b, "\x00\x00\x00\x02\x00\x00\x00\x35\x9e\xf5\x9f\xd0"...)
		b = seal(b)
	}
	if seals > 2 {
		b = seal(binary.BigEndian.AppendUint64(b, uint64(last)))
	}
	return b
}

func seal(b []byte) []byte {
	return appendString(binary.BigEndian.AppendUint64(b, uint64(adler32.Checksum(b))), "/")
}

func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// Gzip packs a snapshot as snapshot.compression.method=gz does.
func Gzip(plain []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(plain) // a bytes.Buffer takes all
	_ = z.Close()
	return b.Bytes()
}

// Snappy packs a snapshot as snapshot.compression.method=snappy does.
func Snappy(plain []byte) []byte {
	b := []byte(snappyHead)
	for len(plain) > 0 {
		n := min(block, len(plain))
		packed := snappy.Encode(nil, plain[:n])
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(packed))), packed...)
		plain = plain[n:]
	}
	return b
}
