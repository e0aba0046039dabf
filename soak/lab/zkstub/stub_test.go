package zkstub_test

import (
	"context"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func inBubble(t *testing.T, o zkstub.Options, f func(t *testing.T, e *zkstub.Ensemble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if o.Latency == 0 {
			o.Latency = time.Millisecond
		}
		e, err := zkstub.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, e)
	})
}

func ctx() context.Context { return context.Background() }

// connect opens a session on the nodes given by number, all when there are none.
func connect(t *testing.T, e *zkstub.Ensemble, o zookeeper.Options, ids ...int) *zookeeper.Conn {
	t.Helper()
	o.Dial, o.Servers = e.Dial, e.Addrs()
	if len(ids) > 0 {
		o.Servers = nil
		for _, id := range ids {
			o.Servers = append(o.Servers, e.Addrs()[id-1])
		}
	}
	if o.Order == 0 {
		o.Order = 1
	}
	c, err := zookeeper.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Sync(ctx(), "/"); err != nil {
		t.Fatal(err)
	}
	return c
}

func closeAll(t *testing.T, conns ...*zookeeper.Conn) {
	t.Helper()
	for _, c := range conns {
		if err := c.Close(4 * time.Second); err != nil {
			t.Error(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bare is the library without the wrapper, for what the wrapper does not offer.
func bare(t *testing.T, e *zkstub.Ensemble) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 10*time.Second, zk.WithLogInfo(false), zk.WithDialer(
		func(network, _ string, _ time.Duration) (net.Conn, error) { return e.Dial(ctx(), network, "n1:2181") }))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func roles(e *zkstub.Ensemble) []string {
	var out []string
	for i := range e.Addrs() {
		out = append(out, e.Role(i+1))
	}
	return out
}

func wantRoles(t *testing.T, e *zkstub.Ensemble, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := roles(e); !slices.Equal(got, want) {
		t.Fatalf("roles %v, want %v", got, want)
	}
}
