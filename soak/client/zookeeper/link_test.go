package zookeeper_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

// A stopped process accepts connections and never answers. The library alone would sit in the first handshake for
// 6.7 session timeouts, 67 s here.
func TestHandshakeIsNotTrapped(t *testing.T) {
	for _, servers := range []int{1, 3, 20} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var dials []time.Time
			o := zookeeper.Options{
				SessionTimeout: 10 * time.Second,
				Dial: func(context.Context, string, string) (net.Conn, error) {
					mu.Lock()
					defer mu.Unlock()
					dials = append(dials, time.Now())
					client, server := net.Pipe()
					go func() { // the kernel takes what is sent; nobody answers
						defer server.Close()
						for b := make([]byte, 256); ; {
							if _, err := server.Read(b); err != nil {
								return
							}
						}
					}()
					return client, nil
				},
			}
			for range servers {
				o.Servers = append(o.Servers, "stopped:2181")
			}
			c, err := zookeeper.Connect(o)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second)
			mu.Lock()
			n, first := len(dials), dials[1].Sub(dials[0])
			mu.Unlock()
			if n < 6 {
				t.Errorf("%d servers: %d dials in 20 s; the handshake was trapped", servers, n)
			}
			if first > 3*time.Second {
				t.Errorf("%d servers: the second dial came %v after the first", servers, first)
			}
			if err := c.Close(closeTime); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func TestSessionSurvivesAPausedServer(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{Order: 1, SessionTimeout: 10 * time.Second, OpTimeout: 20 * time.Second})
		defer mustClose(t, c)
		ready(t, c)
		id := c.SessionID()
		if c.Server() != "n1:2181" {
			t.Fatalf("on %s", c.Server())
		}
		e.Pause(1)
		time.Sleep(9 * time.Second)
		ready(t, c)
		if c.SessionID() != id || c.Server() == "n1:2181" {
			t.Errorf("session 0x%x became 0x%x, now on %s", id, c.SessionID(), c.Server())
		}
	})
}

// What a connection costs must not grow with the reconnects that faults cause: with the library's own buffers
// it is 3 MiB each once every span has been touched.
func TestHeapOfAConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("opens 200 sessions")
	}
	const sessions = 200
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		heap := func() uint64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		var conns []*zookeeper.Conn
		for range sessions {
			c := connect(t, e, zookeeper.Options{SessionTimeout: 40 * time.Second})
			ready(t, c)
			conns = append(conns, c)
		}
		each := func(when string) {
			n := (heap() - before) / sessions
			t.Logf("%s: %d KiB a connection, the stub's end included", when, n>>10)
			if n > 400<<10 {
				t.Errorf("%s: %d KiB a connection, limit 400", when, n>>10)
			}
		}
		each("fresh")
		for range 3 {
			for id := range 3 { // drops every connection
				e.Stop(id + 1)
				time.Sleep(5 * time.Second)
				e.Start(id + 1)
				time.Sleep(5 * time.Second)
			}
			for _, c := range conns {
				ready(t, c)
			}
		}
		each("after 9 kills")
		for _, c := range conns {
			if n := c.Counts(); n.Connects < 2 || n.Expired > 0 {
				t.Fatalf("counts %+v", n)
			}
			mustClose(t, c)
		}
	})
}
