package probes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// perfLong finds one number in a JVM's performance data file (hsperfdata, as HotSpot's perfMemory.hpp lays
// it out): a header of 32 bytes with magic cafec0c0, the byte order at 4, the offset of the first entry at
// 24 and the count at 28; entries of length, offset of the name, vector length, type at 12, offset of the
// data at 16, all relative to the entry.
func perfLong(b []byte, name string) (int64, bool) {
	if len(b) < 32 || !bytes.Equal(b[:4], []byte{0xca, 0xfe, 0xc0, 0xc0}) {
		return 0, false
	}
	var order binary.ByteOrder = binary.BigEndian
	if b[4] == 1 {
		order = binary.LittleEndian
	}
	at, count := int64(order.Uint32(b[24:])), order.Uint32(b[28:])
	for range count {
		if at < 0 || at+20 > int64(len(b)) {
			return 0, false
		}
		e := b[at:]
		size, nameAt, data := int64(order.Uint32(e)), int64(order.Uint32(e[4:])), int64(order.Uint32(e[16:]))
		if size < 20 {
			return 0, false
		}
		if e[12] == 'J' && data+8 <= int64(len(e)) && hasName(e, nameAt, name) {
			return int64(order.Uint64(e[data:])), true
		}
		at += size
	}
	return 0, false
}

func hasName(e []byte, at int64, name string) bool {
	end := at + int64(len(name))
	return end < int64(len(e)) && string(e[at:end]) == name && e[end] == 0
}

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("read %s: it is longer than %d bytes", path, limit)
	}
	return b, err
}
