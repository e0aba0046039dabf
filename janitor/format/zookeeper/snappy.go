package zookeeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/golang/snappy"
)

// snappyHead starts the framed stream of snappy-java, which ZooKeeper uses: magic, version 1, compatible with 1.
var snappyHead = []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")

// maxSnappyBlock bounds a block, packed and unpacked; snappy-java writes blocks of 32 KiB.
const maxSnappyBlock = 1 << 20

// snappyReader unpacks the blocks one after the other: int32 length, then a raw snappy block.
type snappyReader struct {
	r              io.Reader
	packed, buf    []byte
	pending        []byte // unpacked and not yet read
	err            error
	lengthOfPacked [4]byte
}

func newSnappyReader(r io.Reader) (io.Reader, error) {
	head := make([]byte, len(snappyHead))
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	if !bytes.Equal(head, snappyHead) {
		return nil, errors.New("not a snappy stream")
	}
	return &snappyReader{r: r}, nil
}

func (s *snappyReader) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.err == nil {
			s.err = s.block()
		}
		if s.err != nil {
			return 0, s.err
		}
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

func (s *snappyReader) block() error {
	if _, err := io.ReadFull(s.r, s.lengthOfPacked[:]); err != nil {
		if err == io.ErrUnexpectedEOF {
			return errors.New("a block's length is cut")
		}
		return err
	}
	n := int32(binary.BigEndian.Uint32(s.lengthOfPacked[:]))
	if n <= 0 || n > maxSnappyBlock {
		return fmt.Errorf("a block of %d bytes", n)
	}
	if cap(s.packed) < int(n) {
		s.packed = make([]byte, n)
	}
	if _, err := io.ReadFull(s.r, s.packed[:n]); err != nil {
		return fmt.Errorf("a block is cut: %w", noEOF(err))
	}
	if size, err := snappy.DecodedLen(s.packed[:n]); err != nil || size > maxSnappyBlock {
		return errors.New("a block's size is wrong")
	}
	out, err := snappy.Decode(s.buf[:cap(s.buf)], s.packed[:n])
	if err != nil {
		return err
	}
	s.buf, s.pending = out, out
	return nil
}

// noEOF keeps a cut stream from looking like its end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("unexpected end")
	}
	return err
}
