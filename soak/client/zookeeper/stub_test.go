package zookeeper_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

// inBubble runs a test in virtual time against an ensemble. That everything the client started is over after
// Close is checked by the bubble itself: it fails when a goroutine is left.
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

// connect opens a Conn that is closed when the test ends.
func connect(t *testing.T, e *zkstub.Ensemble, o zookeeper.Options) *zookeeper.Conn {
	t.Helper()
	if o.Servers == nil {
		o.Servers = e.Addrs()
	}
	if o.Dial == nil {
		o.Dial = e.Dial
	}
	c, err := zookeeper.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const closeTime = 4 * time.Second

func mustClose(t *testing.T, c *zookeeper.Conn) {
	t.Helper()
	if err := c.Close(closeTime); err != nil {
		t.Error(err)
	}
}

func ctx() context.Context { return context.Background() }

// ready waits for the session, once the client has noticed what was done to its server.
func ready(t *testing.T, c *zookeeper.Conn) {
	t.Helper()
	synctest.Wait()
	if err := c.Sync(ctx(), "/"); err != nil {
		t.Fatal(err)
	}
}

// every lists all operations, for the rules that hold for each.
func every(c *zookeeper.Conn) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"create": func(ctx context.Context) error { _, err := c.Create(ctx, "/x", []byte("x"), 0); return err },
		"delete": func(ctx context.Context) error { return c.Delete(ctx, "/x", -1) },
		"set":    func(ctx context.Context) error { _, err := c.Set(ctx, "/x", []byte("x"), -1); return err },
		"get":    func(ctx context.Context) error { _, _, err := c.Get(ctx, "/x"); return err },
		"exists": func(ctx context.Context) error { _, _, err := c.Exists(ctx, "/x"); return err },
		"watch":  func(ctx context.Context) error { _, _, _, err := c.ExistsW(ctx, "/x"); return err },
		"list":   func(ctx context.Context) error { _, err := c.Children(ctx, "/"); return err },
		"sync":   func(ctx context.Context) error { return c.Sync(ctx, "/") },
	}
}
