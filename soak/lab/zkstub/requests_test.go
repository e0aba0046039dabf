package zkstub_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func TestMulti(t *testing.T) {
	inBubble(t, zkstub.Options{Dir: t.TempDir()}, func(t *testing.T, e *zkstub.Ensemble) {
		c := bare(t, e)
		acl := zk.WorldACL(zk.PermAll)
		_, err := c.Create("/m", nil, 0, acl)
		must(t, err)
		before := e.Zxid()
		res, err := c.Multi(
			&zk.CreateRequest{Path: "/m/a", Data: []byte("a"), Acl: acl, Flags: zk.FlagEphemeral},
			&zk.SetDataRequest{Path: "/m", Data: []byte("set"), Version: 0},
			&zk.CheckVersionRequest{Path: "/m", Version: 1},
			&zk.CreateRequest{Path: "/m/b", Acl: acl},
			&zk.DeleteRequest{Path: "/m/b", Version: -1},
		)
		if err != nil || len(res) != 5 || res[0].String != "/m/a" || res[1].Stat.Version != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if e.Zxid() != before+1 {
			t.Errorf("zxid went from 0x%x to 0x%x", before, e.Zxid())
		}
		_, _, watch, err := c.ExistsW("/m/c")
		must(t, err)
		res, err = c.Multi(
			&zk.CreateRequest{Path: "/m/c", Acl: acl},
			&zk.SetDataRequest{Path: "/m", Data: []byte("no"), Version: -1},
			&zk.DeleteRequest{Path: "/m/a", Version: 7},
		)
		if !errors.Is(err, zk.ErrBadVersion) || len(res) != 3 {
			t.Errorf("%+v, %v", res, err)
		}
		names, st, err := c.Children("/m")
		if err != nil || !slices.Equal(names, []string{"a"}) || st.Version != 1 || st.Cversion != 3 {
			t.Errorf("%v, %+v, %v after a multi that failed", names, st, err)
		}
		synctest.Wait()
		select {
		case ev := <-watch:
			t.Errorf("a multi that failed fired %+v", ev)
		default:
		}
		c.Close()
		time.Sleep(time.Second)
		if got := e.Paths("/m/"); len(got) != 0 {
			t.Errorf("%v outlived the session", got)
		}
	})
}

func TestChildrenAndACL(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := bare(t, e)
		acl := zk.WorldACL(zk.PermAll)
		_, _, watch, err := c.ChildrenW("/")
		must(t, err)
		_, err = c.Create("/kid", nil, zk.FlagEphemeral, acl)
		must(t, err)
		if ev := <-watch; ev.Type != zk.EventNodeChildrenChanged || ev.Path != "/" {
			t.Errorf("event %+v", ev)
		}
		if _, err := c.Create("/kid/grandkid", nil, 0, acl); !errors.Is(err, zk.ErrNoChildrenForEphemerals) {
			t.Errorf("child of an ephemeral node: %v", err)
		}
		if got, _, err := c.GetACL("/kid"); err != nil || len(got) != 1 || got[0] != acl[0] {
			t.Errorf("ACL %v, %v", got, err)
		}
		if _, err := c.SetACL("/kid", acl, -1); err == nil {
			t.Error("an unknown request was answered with success")
		}
		must(t, c.Delete("/kid", 0))
		c.Close()
	})
}

func TestSessions(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c, other := connect(t, e, zookeeper.Options{SessionTimeout: 4 * time.Second}, 1), connect(t, e, zookeeper.Options{}, 2)
		_, err := c.Create(ctx(), "/e", nil, zookeeper.Ephemeral)
		must(t, err)
		there, _, gone, err := other.ExistsW(ctx(), "/e")
		must(t, err)
		start := time.Now()
		must(t, e.Pause(1)) // nobody hears of the client any more
		ev := <-gone
		if took := time.Since(start); !there || ev.Type != zookeeper.NodeDeleted || took < 2*time.Second || took > 4*time.Second {
			t.Errorf("%+v after %v", ev, took)
		}
		must(t, e.Resume(1))
		time.Sleep(5 * time.Second)
		if n := e.Sessions(); n != 2 {
			t.Errorf("%d sessions", n)
		}
		if e.Expire(12345) {
			t.Error("an unknown session expired")
		}
		closeAll(t, c, other)
		if n := e.Sessions(); n != 0 {
			t.Errorf("%d sessions after close", n)
		}
	})
}

// A client that is asked for by two connections stays on the last one.
func TestSessionMoves(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		first, err := e.Dial(ctx(), "tcp", "n1:2181")
		must(t, err)
		id, pw := shake(t, first, 0, make([]byte, 16))
		second, err := e.Dial(ctx(), "tcp", "n2:2181")
		must(t, err)
		if again, _ := shake(t, second, id, pw); again != id {
			t.Errorf("session 0x%x became 0x%x", id, again)
		}
		if _, err := first.Read(make([]byte, 1)); err == nil {
			t.Error("the first connection is still open")
		}
		third, err := e.Dial(ctx(), "tcp", "n2:2181")
		must(t, err)
		if got, _ := shake(t, third, id, make([]byte, 16)); got != 0 {
			t.Errorf("a wrong password opened session 0x%x", got)
		}
		second.Close()
		third.Close()
	})
}

func TestDefects(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c, other := connect(t, e, zookeeper.Options{}, 1), connect(t, e, zookeeper.Options{}, 2)
		e.LoseAcknowledged(2)
		for i := range 3 {
			_, err := c.Create(ctx(), fmt.Sprintf("/n%d", i), nil, 0)
			must(t, err)
		}
		if got := e.Paths("/n"); !slices.Equal(got, []string{"/n0", "/n2"}) || !slices.Equal(e.Lost(), []string{"/n1"}) {
			t.Errorf("nodes %v, lost %v", got, e.Lost())
		}
		e.LoseAcknowledged(1)
		st, err := c.Set(ctx(), "/n0", []byte("lost"), -1)
		if b, now, _ := c.Get(ctx(), "/n0"); err != nil || st.Version != 1 || len(b) != 0 || now.Version != 0 {
			t.Errorf("acknowledged %+v, %v; found %q, %+v", st, err, b, now)
		}

		e.DropNotification(1)
		_, _, w1, err := c.ExistsW(ctx(), "/n0")
		must(t, err)
		_, _, w2, err := c.ExistsW(ctx(), "/n2")
		must(t, err)
		for _, p := range []string{"/n0", "/n2"} {
			_, err := other.Set(ctx(), p, nil, -1)
			must(t, err)
		}
		<-w2
		synctest.Wait()
		select {
		case ev := <-w1:
			t.Errorf("a dropped notification arrived: %+v", ev)
		default:
		}
		if len(e.Dropped()) != 1 {
			t.Errorf("dropped %v", e.Dropped())
		}

		e.KeepEphemeral("/left")
		for _, p := range []string{"/left-over", "/right"} {
			_, err := c.Create(ctx(), p, nil, zookeeper.Ephemeral)
			must(t, err)
		}
		closeAll(t, c)
		if got := append(e.Paths("/left"), e.Paths("/right")...); !slices.Equal(got, []string{"/left-over"}) {
			t.Errorf("after the session: %v", got)
		}

		must(t, e.SlowNode(2, 300*time.Millisecond))
		start := time.Now()
		must(t, other.Sync(ctx(), "/"))
		if took := time.Since(start); took < 300*time.Millisecond {
			t.Errorf("a slow node answered after %v", took)
		}
		closeAll(t, other)
	})
}
