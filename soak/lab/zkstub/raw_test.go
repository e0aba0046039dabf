package zkstub_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"nightshift/soak/lab/zkstub"
)

// shake does the handshake by hand and returns the session's id and password.
func shake(t *testing.T, c net.Conn, id int64, pw []byte) (int64, []byte) {
	t.Helper()
	b := binary.BigEndian.AppendUint32(nil, 45)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, 10000)
	b = binary.BigEndian.AppendUint64(b, uint64(id))
	b = binary.BigEndian.AppendUint32(b, uint32(len(pw)))
	b = append(append(b, pw...), 0) // a client of our days adds "read only: no"
	_, err := c.Write(b)
	must(t, err)
	answer := make([]byte, 4+37)
	if _, err := io.ReadFull(c, answer); err != nil || binary.BigEndian.Uint32(answer) != 37 {
		t.Fatalf("handshake: % x, %v", answer, err)
	}
	return int64(binary.BigEndian.Uint64(answer[12:])), answer[24:40]
}

// FuzzRequests sends a client's bytes: the ensemble must stay alive and consistent.
func FuzzRequests(f *testing.F) {
	f.Add([]byte("srvr"))
	f.Add([]byte{0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 11})
	f.Add([]byte{0, 0, 0, 26, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, '/', 'a', 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 3})
	f.Add([]byte{0, 0, 0, 17, 0, 0, 0, 1, 0, 0, 0, 14, 0, 0, 0, 2, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := zkstub.New(zkstub.Options{Nodes: 1})
		must(t, err)
		defer e.Close()
		c, err := e.Dial(ctx(), "tcp", "n1:2181")
		must(t, err)
		defer c.Close()
		shake(t, c, 0, make([]byte, 16))
		c.SetDeadline(time.Now().Add(5 * time.Second))
		go io.Copy(io.Discard, c)
		c.Write(b)
		// The ensemble still serves somebody else.
		other, err := e.Dial(ctx(), "tcp", "n1:2181")
		must(t, err)
		defer other.Close()
		shake(t, other, 0, make([]byte, 16))
	})
}
