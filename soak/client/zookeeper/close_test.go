package zookeeper_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func TestCloseEndsTheSessionAtOnce(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{})
		if _, err := c.Create(ctx(), "/e", nil, zookeeper.Ephemeral); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		mustClose(t, c)
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("close took %v", took)
		}
		if e.Sessions() != 0 || len(e.Paths("/e")) != 0 || len(e.Paths("/")) != 3 {
			t.Errorf("%d sessions, nodes %v", e.Sessions(), e.Paths("/"))
		}
		mustClose(t, c) // again
		for name, do := range every(c) {
			if err := do(ctx()); !errors.Is(err, zookeeper.ErrClosed) {
				t.Errorf("%s after close: %v", name, err)
			}
		}
	})
}

func TestCloseWithoutAnswer(t *testing.T) {
	inBubble(t, zkstub.Options{Nodes: 1}, func(t *testing.T, e *zkstub.Ensemble) {
		var callers sync.WaitGroup
		var conns []*zookeeper.Conn
		for range 3 {
			c := connect(t, e, zookeeper.Options{OpTimeout: time.Minute, SessionTimeout: 40 * time.Second})
			ready(t, c)
			conns = append(conns, c)
		}
		e.Pause(1)
		for i, n := range []int{0, 1, 40} { // nobody waits, one, more than the library's queue takes
			for range n {
				callers.Go(func() {
					_, err := conns[i].Create(ctx(), "/x", nil, 0)
					if !errors.Is(err, zookeeper.ErrClosed) || !zookeeper.InDoubt(err) {
						t.Errorf("call that met close: %v", err)
					}
				})
			}
		}
		time.Sleep(time.Second)
		for i, c := range conns {
			start := time.Now()
			err := c.Close(closeTime)
			if err == nil || !strings.Contains(err.Error(), "expires") {
				t.Errorf("conn %d: %v", i, err)
			}
			if took := time.Since(start); took > closeTime {
				t.Errorf("conn %d: close took %v", i, took)
			}
		}
		callers.Wait()
		// The server must not be kept alive by a client that is gone: no more pings.
		e.Resume(1)
		time.Sleep(41 * time.Second)
		if n := e.Sessions(); n != 0 {
			t.Errorf("%d sessions are still open", n)
		}
	})
}

func TestCloseWhileReconnecting(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{Order: 1})
		ready(t, c)
		e.Stop(1)
		synctest.Wait()
		mustClose(t, c)
		if n := e.Sessions(); n != 0 {
			t.Errorf("%d sessions are left to expire", n)
		}
	})
}
