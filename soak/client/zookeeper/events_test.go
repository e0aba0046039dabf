package zookeeper_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func TestStates(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		var mu sync.Mutex
		var seen []string
		c := connect(t, e, zookeeper.Options{Order: 1, OnState: func(s zookeeper.State, addr string) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%v %s", s, addr))
		}})
		if c.SessionID() != 0 || c.Server() != "" {
			t.Errorf("before the first connect: session 0x%x on %q", c.SessionID(), c.Server())
		}
		if _, err := c.Create(ctx(), "/e", nil, zookeeper.Ephemeral); err != nil {
			t.Fatal(err)
		}
		first := c.SessionID()
		e.Stop(1)
		ready(t, c)
		if c.SessionID() != first {
			t.Error("another session after a reconnect")
		}
		e.Expire(first)
		time.Sleep(5 * time.Second)
		ready(t, c)
		if id := c.SessionID(); id == first || id == 0 {
			t.Errorf("session 0x%x after 0x%x expired", id, first)
		}
		if there, _, err := c.Exists(ctx(), "/e"); there || err != nil {
			t.Errorf("ephemeral node of the expired session: %t, %v", there, err)
		}
		mustClose(t, c)
		mu.Lock()
		defer mu.Unlock()
		want := []string{
			"connected n1:2181", "disconnected n1:2181",
			"connected n2:2181", "disconnected n2:2181",
			"expired n3:2181", "disconnected n3:2181",
			"connected n2:2181", "closed n2:2181",
		}
		if !slices.Equal(seen, want) {
			t.Errorf("states\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
		}
		n := c.Counts()
		if n.Connects != 3 || n.Disconnects != 2 || n.Expired != 1 || n.DialsFailed != 1 || c.State() != zookeeper.Closed {
			t.Errorf("counts %+v, state %v", n, c.State())
		}
	})
}

func TestExpiryByTimeout(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{Servers: []string{"n1:2181"}, SessionTimeout: 4 * time.Second, OpTimeout: 30 * time.Second})
		ready(t, c)
		first := c.SessionID()
		e.Stop(1)
		time.Sleep(6 * time.Second)
		if e.Sessions() != 0 {
			t.Error("the session is still open")
		}
		e.Start(1)
		time.Sleep(3 * time.Second)
		ready(t, c)
		if c.SessionID() == first || c.Counts().Expired != 1 {
			t.Errorf("session 0x%x, counts %+v", c.SessionID(), c.Counts())
		}
		mustClose(t, c)
	})
}

func TestLogIsRateLimited(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		for id := range 3 {
			e.Stop(id + 1)
		}
		var mu sync.Mutex
		var lines []string
		loud := connect(t, e, zookeeper.Options{Log: func(s string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, s)
		}})
		silent := connect(t, e, zookeeper.Options{})
		time.Sleep(5 * time.Minute)
		mustClose(t, loud)
		mustClose(t, silent)
		mu.Lock()
		defer mu.Unlock()
		n := loud.Counts()
		if len(lines) < 5 || len(lines) > 15 {
			t.Errorf("%d lines in 5 minutes:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		if n.LogKept != int64(len(lines)) || n.LogLines < 500 || n.LogSuppressed != n.LogLines-n.LogKept {
			t.Errorf("counts %+v for %d lines", n, len(lines))
		}
		if !strings.Contains(lines[len(lines)-1], "like it") {
			t.Errorf("last line does not say how many were kept back: %s", lines[len(lines)-1])
		}
		if n := silent.Counts(); n.LogKept != 0 || n.LogLines < 500 {
			t.Errorf("without Log: counts %+v", n)
		}
	})
}
