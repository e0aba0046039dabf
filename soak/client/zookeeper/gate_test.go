package zookeeper_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/client/zookeeper"
)

func TestDialGateBoundsAllConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := zookeeper.NewDialGate(10)
		var mu sync.Mutex
		var at []time.Duration
		start := time.Now()
		dial := func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(start))
			return nil, net.ErrClosed
		}
		var conns []*zookeeper.Conn
		for range 50 {
			c, err := zookeeper.Connect(zookeeper.Options{Servers: []string{"a:1", "b:1", "c:1"}, Dial: dial, Dials: gate})
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		time.Sleep(30 * time.Second)
		mu.Lock()
		seen := append([]time.Duration(nil), at...)
		mu.Unlock()
		if n := len(seen); n < 290 || n > 302 {
			t.Errorf("%d dials in 30 s at 10 a second", n)
		}
		gaps := map[time.Duration]bool{}
		for i := range seen {
			if i >= 12 && seen[i]-seen[i-12] < time.Second {
				t.Errorf("12 dials within %v", seen[i]-seen[i-12])
			}
			if i > 0 {
				gaps[seen[i]-seen[i-1]] = true
			}
		}
		if len(gaps) < 50 {
			t.Errorf("only %d different gaps: no jitter", len(gaps))
		}
		if gate.Held() == 0 {
			t.Error("no dial was counted as held")
		}
		for _, c := range conns { // waiting in the gate must not hold up Close
			mustClose(t, c)
		}
	})
}
