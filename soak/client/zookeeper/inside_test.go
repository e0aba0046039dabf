package zookeeper

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
)

// frameOf is a frame of the protocol: its length, then ints of 32 bits.
func frameOf(ints ...uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4*len(ints)))
	for _, v := range ints {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// handshaken is a link after its handshake, and the server's end of it.
func handshaken(t *testing.T, c *Conn) (*link, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	l := &link{Conn: near, in: bufio.NewReader(near), addr: "x:1", limit: 1 << 10, onFault: func(string) {}, held: c.holdAnswers, rearmed: make(chan struct{})}
	go far.Write(frameOf(0, 10000, 0, 7, 16, 1, 2, 3, 4))
	if _, err := io.ReadFull(l, make([]byte, 40)); err != nil || !l.shaken {
		t.Fatal(l.shaken, err)
	}
	return l, far
}

func TestAnswersWaitForWatches(t *testing.T) {
	request := map[string][]byte{"set watches": frameOf(2, opSetWatches, 0, 0), "another request": frameOf(2, 4, 0, 0)}
	for what, frame := range request {
		for _, live := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, %d watches", what, live), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &Conn{live: live, unarmed: make(chan struct{}), quit: make(chan struct{})}
					l, far := handshaken(t, c)
					defer far.Close()
					start := time.Now()
					go far.Write(frameOf(1, 0, 9, 0)) // an answer to an earlier request
					go func() {
						time.Sleep(100 * time.Millisecond)
						go io.ReadFull(far, make([]byte, len(frame)))
						l.Write(frame)
					}()
					if _, err := io.ReadFull(l, make([]byte, 20)); err != nil {
						t.Fatal(err)
					}
					want := 100 * time.Millisecond
					if live == 0 {
						want = 0
					} else if what != "set watches" {
						want = holdLimit
					}
					if took := time.Since(start); took != want {
						t.Errorf("answer handed on after %v, want %v", took, want)
					}
					time.Sleep(time.Second)
				})
			})
		}
	}
}

func TestMapError(t *testing.T) {
	for _, c := range []struct {
		from  error
		is    error
		class string
		doubt bool
	}{
		{zk.ErrNoNode, ErrNoNode, "no node", false},
		{zk.ErrNodeExists, ErrNodeExists, "node exists", false},
		{zk.ErrNotEmpty, ErrNotEmpty, "not empty", false},
		{zk.ErrBadVersion, ErrBadVersion, "bad version", false},
		{zk.ErrNoAuth, ErrAuth, "not allowed", false},
		{zk.ErrInvalidACL, ErrAuth, "not allowed", false},
		{zk.ErrSessionExpired, ErrExpired, "expired", true},
		{zk.ErrConnectionClosed, ErrConnection, "connection lost", true},
		{zk.ErrClosing, ErrClosed, "closed", true},
		{zk.ErrNoServer, ErrConnection, "connection lost", false},
		{zk.ErrSessionMoved, ErrConnection, "connection lost", false},
		{zk.ErrInvalidPath, nil, "other", false},
		{zk.ErrNoChildrenForEphemerals, nil, "other", false},
		{zk.ErrShortBuffer, nil, "other", true},
		{fmt.Errorf("unknown error: %v", zk.ErrCode(-7)), nil, "other", true},
		{fmt.Errorf("unknown error: %v", zk.ErrCode(-127)), nil, "other", false},
		{fmt.Errorf("unknown error: %v", zk.ErrCode(-125)), nil, "other", false},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, ErrConnection, "connection lost", true},
		{io.ErrClosedPipe, ErrConnection, "connection lost", true},
	} {
		kind, cause, d := mapError(c.from)
		err := error(&opError{"set", "/p", kind, cause, d})
		wrapped := fmt.Errorf("worker 3: %w", err)
		if c.is != nil && !errors.Is(wrapped, c.is) {
			t.Errorf("%v became %v", c.from, err)
		}
		if Class(wrapped) != c.class || InDoubt(wrapped) != c.doubt {
			t.Errorf("%v became %v: class %q, in doubt %t", c.from, err, Class(wrapped), InDoubt(wrapped))
		}
	}
	if Class(nil) != "" || InDoubt(nil) {
		t.Error("no error has a class")
	}
	if c := Class(&opError{"set", "/p", ErrTimeout, context.Canceled, mayHold}); c != "cancelled" {
		t.Errorf("cancelled call: %q", c)
	}
}

// FuzzLink feeds a server's bytes to a link: it must neither panic nor hand out more than the frames it checked.
func FuzzLink(f *testing.F) {
	shake := frameOf(0, 10000, 0, 7, 16, 1, 2, 3, 4)
	f.Add(append(shake, frameOf(1, 0, 9, 0)...))
	f.Add(append(shake, 0xff, 0xff, 0xff, 0xff))
	f.Add([]byte("HTTP/1.1 400"))
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		defer near.Close()
		go func() {
			far.Write(b)
			far.Close()
		}()
		l := &link{Conn: near, in: bufio.NewReader(near), limit: 512, onFault: func(string) {}, held: func(<-chan struct{}) {}, rearmed: make(chan struct{})}
		for first := true; ; first = false {
			head := make([]byte, 4)
			if _, err := io.ReadFull(l, head); err != nil {
				return
			}
			n := binary.BigEndian.Uint32(head)
			if first && (n < handshakeLeast || n > handshakeLimit) || !first && (n < frameHead || n > 512) {
				t.Fatalf("frame of %d bytes was handed out, first %t", n, first)
			}
			if _, err := io.ReadFull(l, make([]byte, n)); err != nil {
				return
			}
		}
	})
}

// FuzzStatus: whatever a server says, there is a status with a mode, or an error.
func FuzzStatus(f *testing.F) {
	f.Add("Zookeeper version: 3.9.5-x, built on\nZxid: 0x1\nMode: leader\nNode count: 5\nConnections: 1\n")
	f.Add(notServing)
	f.Fuzz(func(t *testing.T, text string) {
		if st, err := parseStatus(text); err == nil && st.Mode == "" {
			t.Errorf("%q has no mode", text)
		}
	})
}
