package zkstub_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func connect(t *testing.T, e *zkstub.Ensemble, o zookeeper.Options) *zookeeper.Conn {
	t.Helper()
	o.Servers, o.Dial = e.Addrs(), e.Dial
	c, err := zookeeper.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := zkstub.New(zkstub.Options{Latency: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ctx := context.Background()
		c := connect(t, e, zookeeper.Options{})
		p, err := c.Create(ctx, "/a", []byte("x"), zookeeper.Ephemeral)
		if err != nil || p != "/a" {
			t.Fatal(p, err)
		}
		ok, st, w, err := c.ExistsW(ctx, "/a")
		if err != nil || !ok || st.DataLength != 1 {
			t.Fatal(ok, st, err)
		}
		if _, err := c.Set(ctx, "/a", []byte("yy"), 0); err != nil {
			t.Fatal(err)
		}
		if ev := <-w; ev.Type != zookeeper.DataChanged {
			t.Fatal(ev)
		}
		b, _, err := c.Get(ctx, "/a")
		if err != nil || string(b) != "yy" {
			t.Fatal(string(b), err)
		}
		if err := c.Delete(ctx, "/a", -1); err != nil {
			t.Fatal(err)
		}
		if err := c.Sync(ctx, "/"); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(4 * time.Second); err != nil {
			t.Fatal(err)
		}
	})
}
