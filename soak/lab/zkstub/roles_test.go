package zkstub_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func TestLeaderStops(t *testing.T) {
	inBubble(t, zkstub.Options{Election: time.Second}, func(t *testing.T, e *zkstub.Ensemble) {
		wantRoles(t, e, "follower", "follower", "leader")
		c := connect(t, e, zookeeper.Options{}, 1)
		id, before := c.SessionID(), e.Zxid()
		must(t, e.Stop(3))
		wantRoles(t, e, "looking", "looking", "stopped")
		ask := zookeeper.Words{Dial: e.Dial}
		if _, err := ask.Status(ctx(), "n1:2181"); !errors.Is(err, zookeeper.ErrNotServing) {
			t.Errorf("status during the election: %v", err)
		}
		time.Sleep(time.Second)
		wantRoles(t, e, "follower", "leader", "stopped")
		time.Sleep(2 * time.Second)
		_, err := c.Create(ctx(), "/x", nil, 0)
		must(t, err)
		if c.SessionID() != id {
			t.Error("the session did not survive the election")
		}
		if z := e.Zxid(); z>>32 != before>>32+1 || z&0xffffffff == 0 {
			t.Errorf("zxid 0x%x after 0x%x: no new epoch", z, before)
		}
		must(t, e.Start(3))
		wantRoles(t, e, "follower", "leader", "follower")
		for _, err := range []error{e.Start(3), e.Resume(3), e.Stop(4), e.Pause(0)} {
			if err == nil {
				t.Error("a change that makes no sense was accepted")
			}
		}
		closeAll(t, c)
	})
}

func TestQuorumIsLost(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		must(t, e.Stop(1))
		wantRoles(t, e, "stopped", "follower", "leader")
		must(t, e.Stop(2))
		time.Sleep(time.Minute)
		wantRoles(t, e, "stopped", "stopped", "looking")
		must(t, e.Start(1))
		time.Sleep(time.Second)
		wantRoles(t, e, "follower", "stopped", "leader")
	})
}

func TestLeaderIsPaused(t *testing.T) {
	inBubble(t, zkstub.Options{Detect: 3 * time.Second, Election: time.Second}, func(t *testing.T, e *zkstub.Ensemble) {
		c, reader := connect(t, e, zookeeper.Options{OpTimeout: 20 * time.Second}, 1), connect(t, e, zookeeper.Options{}, 2)
		var done atomic.Bool
		must(t, e.Pause(3))
		go func() {
			defer done.Store(true)
			if _, err := c.Set(ctx(), "/zookeeper", nil, -1); err == nil {
				t.Error("a write was acknowledged by followers alone")
			}
		}()
		time.Sleep(2 * time.Second)
		if _, _, err := reader.Get(ctx(), "/"); done.Load() || err != nil {
			t.Errorf("before the pause was noticed: write ended %t, read %v", done.Load(), err)
		}
		time.Sleep(1100 * time.Millisecond)
		wantRoles(t, e, "looking", "looking", "paused")
		time.Sleep(time.Second)
		wantRoles(t, e, "follower", "leader", "paused")
		must(t, e.Resume(3))
		wantRoles(t, e, "follower", "leader", "follower")
		if !done.Load() {
			t.Error("the write is still waiting")
		}
		time.Sleep(2 * time.Second)
		closeAll(t, c, reader)
	})
}

func TestPausedNode(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{SessionTimeout: 30 * time.Second}, 1)
		other := connect(t, e, zookeeper.Options{}, 2)
		short := func() int64 { // a pause that nobody notices
			must(t, e.Pause(1))
			start := time.Now()
			time.AfterFunc(time.Second, func() { e.Resume(1) })
			if _, _, err := c.Get(ctx(), "/"); err != nil || time.Since(start) < time.Second {
				t.Errorf("read through a pause: %v after %v", err, time.Since(start))
			}
			return c.Counts().Connects
		}
		if n := short(); n != 1 {
			t.Errorf("%d connects after a short pause", n)
		}
		must(t, e.Pause(1))
		raw, err := e.Dial(ctx(), "tcp", "n1:2181")
		must(t, err) // the kernel accepts
		raw.SetDeadline(time.Now().Add(time.Second))
		if n, err := raw.Read(make([]byte, 1)); err == nil {
			t.Errorf("a paused node sent %d bytes", n)
		}
		raw.Close()
		_, err = other.Create(ctx(), "/meanwhile", nil, 0)
		must(t, err)
		time.Sleep(3 * time.Second)
		must(t, e.Resume(1))
		time.Sleep(2 * time.Second)
		must(t, c.Sync(ctx(), "/"))
		if n := c.Counts().Connects; n != 2 {
			t.Errorf("%d connects after a pause that the others noticed", n)
		}
		closeAll(t, c, other)
	})
}

func TestStandalone(t *testing.T) {
	inBubble(t, zkstub.Options{Nodes: 1, Dir: t.TempDir()}, func(t *testing.T, e *zkstub.Ensemble) {
		wantRoles(t, e, "standalone")
		c := connect(t, e, zookeeper.Options{})
		must(t, e.Stop(1))
		if e.Leader() != 0 {
			t.Error("a stopped node leads")
		}
		must(t, e.Start(1))
		wantRoles(t, e, "standalone")
		time.Sleep(3 * time.Second)
		must(t, c.Sync(ctx(), "/"))
		must(t, e.Pause(1))
		time.Sleep(5 * time.Second)
		must(t, e.Resume(1))
		wantRoles(t, e, "standalone")
		synctest.Wait()
		time.Sleep(3 * time.Second)
		closeAll(t, c)
	})
}

func TestTCP(t *testing.T) {
	e, err := zkstub.New(zkstub.Options{Listen: true})
	must(t, err)
	c, err := zookeeper.Connect(zookeeper.Options{Servers: e.TCP()})
	must(t, err)
	_, err = c.Create(ctx(), "/tcp", []byte("x"), 0)
	must(t, err)
	addr := e.TCP()[0]
	must(t, e.Stop(1))
	if _, err := zookeeper.Status(ctx(), addr); err == nil {
		t.Error("a stopped node answers")
	}
	must(t, e.Start(1))
	if e.TCP()[0] != addr {
		t.Errorf("port moved from %s to %s", addr, e.TCP()[0])
	}
	if st, err := zookeeper.Status(ctx(), addr); err != nil || st.Mode != "follower" {
		t.Errorf("%+v, %v", st, err)
	}
	for { // the client may not have noticed yet
		b, _, err := c.Get(ctx(), "/tcp")
		if err == nil && string(b) == "x" {
			break
		}
		if !errors.Is(err, zookeeper.ErrConnection) {
			t.Fatalf("%q, %v", b, err)
		}
	}
	closeAll(t, c)
	must(t, e.Close())
}
