package zookeeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// HeaderSize is how many bytes of a checked payload its header takes.
const HeaderSize = 32

// Header identifies a payload: who wrote it, where, when, and as the how-manieth of its path.
// On the wire it is 32 bytes, big endian:
//
//	0  magic "nsh1"
//	4  Run       4 bytes
//	8  Unit      4 bytes
//	12 Seq       8 bytes
//	20 Intended  8 bytes, nanoseconds since the base of the run
//	28 CRC-32C over the whole payload but these four bytes
type Header struct {
	Run      uint32        // hash of run id and workload name
	Unit     uint32        // number of the path within the workload: worker * paths + path
	Seq      uint64        // counts the writes to this path, from 1; 0 is the value of Setup
	Intended time.Duration // when the write was due
}

// Errors of ParseHeader.
var (
	ErrForeign = errors.New("payload was not written by nightshift")
	ErrCorrupt = errors.New("payload does not match its checksum")
)

const magic = 0x6e736831 // "nsh1"

func checksum(payload []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(payload[:28], table), table, payload[HeaderSize:])
}

// Seal writes h over the first HeaderSize bytes of payload, checksum included. It panics when payload is shorter.
func (h Header) Seal(payload []byte) {
	binary.BigEndian.PutUint32(payload, magic)
	binary.BigEndian.PutUint32(payload[4:], h.Run)
	binary.BigEndian.PutUint32(payload[8:], h.Unit)
	binary.BigEndian.PutUint64(payload[12:], h.Seq)
	binary.BigEndian.PutUint64(payload[20:], uint64(h.Intended))
	binary.BigEndian.PutUint32(payload[28:], checksum(payload))
}

// ParseHeader reads the header of a payload and checks all of its bytes.
// It returns ErrForeign for what has no header, ErrCorrupt for a wrong checksum.
func ParseHeader(payload []byte) (Header, error) {
	if len(payload) < HeaderSize || binary.BigEndian.Uint32(payload) != magic {
		return Header{}, fmt.Errorf("read header of %d bytes: %w", len(payload), ErrForeign)
	}
	if binary.BigEndian.Uint32(payload[28:]) != checksum(payload) {
		return Header{}, fmt.Errorf("read header of %d bytes: %w", len(payload), ErrCorrupt)
	}
	return Header{
		Run:      binary.BigEndian.Uint32(payload[4:]),
		Unit:     binary.BigEndian.Uint32(payload[8:]),
		Seq:      binary.BigEndian.Uint64(payload[12:]),
		Intended: time.Duration(binary.BigEndian.Uint64(payload[20:])),
	}, nil
}

// runHash is the Run of every header of one workload of one run.
func runHash(runID, workload string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(runID))
	h.Write([]byte{0})
	h.Write([]byte(workload))
	return h.Sum32()
}

// slack is how many different offsets payloads are cut at: no two neighbours carry the same bytes.
const slack = 64 << 10

// newPool is the random bytes that all workers of a workload cut their payloads from.
func newPool(r *rand.Rand, size int) []byte {
	pool := make([]byte, (size+slack+7)/8*8)
	for i := 0; i < len(pool); i += 8 {
		binary.LittleEndian.PutUint64(pool[i:], r.Uint64())
	}
	return pool
}

// filler makes the payloads of one worker in one buffer.
type filler struct {
	run  uint32
	pool []byte
	rand *rand.Rand
	buf  []byte
}

func newFiller(run uint32, pool []byte, r *rand.Rand, size int) *filler {
	return &filler{run: run, pool: pool, rand: r, buf: make([]byte, size)}
}

// next is the payload of one write. It is valid until the following call; the client keeps a copy of its own
// of what it may still send after an operation was given up.
func (f *filler) next(unit int, seq uint64, intended time.Duration) []byte {
	at := int(f.rand.Uint32N(uint32(len(f.pool) - len(f.buf) + 1)))
	copy(f.buf, f.pool[at:])
	Header{Run: f.run, Unit: uint32(unit), Seq: seq, Intended: intended}.Seal(f.buf)
	return f.buf
}
