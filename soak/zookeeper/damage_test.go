package zookeeper

import (
	"context"
	"slices"
	"testing"
	"time"

	zkclient "nightshift/soak/client/zookeeper"
)

// Damage that the stub can't do by itself is done through a second session.

func (w *world) admin() *zkclient.Conn {
	w.t.Helper()
	conn, err := connectAdmin(context.Background(), w.env, 10*time.Second, 5*time.Second, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	return conn
}

func TestSetDataFindsForeignAndDamagedData(t *testing.T) {
	inBubble(t, setDataPlan, func(w *world) {
		w.setup()
		w.run(10*time.Second, nil)
		s := w.wl.(*setData)
		conn := w.admin()
		defer dismiss(conn)
		ctx := context.Background()
		good, _, err := conn.Get(ctx, s.paths(0)[0])
		w.must(err)
		damaged := slices.Clone(good)
		damaged[len(damaged)-1] ^= 1
		for path, data := range map[string][]byte{
			s.paths(0)[0]: damaged,
			s.paths(0)[1]: good, // of another path
			s.paths(0)[2]: nil,
		} {
			_, err := conn.Set(ctx, path, data, -1)
			w.must(err)
		}
		w.must(conn.Delete(ctx, s.paths(1)[0], -1))
		fs := w.check()
		if got := failing(fs); !slices.Equal(got, []string{CodeWriteLost, CodeDataWrong}) {
			t.Fatalf("findings %+v", fs)
		}
		if fs[0].Count != 1 || fs[1].Count != 3 {
			t.Errorf("1 node was deleted and 3 were damaged: %+v", fs)
		}
	})
}

// A node that vanishes under way is said once, however often it is missed after.
func TestSetDataTellsAVanishedNodeOnce(t *testing.T) {
	inBubble(t, setDataPlan, func(w *world) {
		w.setup()
		w.run(time.Minute, func() {
			time.Sleep(10 * time.Second)
			conn := w.admin()
			defer dismiss(conn)
			w.must(conn.Delete(context.Background(), w.wl.(*setData).paths(2)[1], -1))
		})
		fs := w.check()
		wantOnly(t, fs, CodeWriteLost)
		if fs[0].Count != 1 || w.op("set").Failed < 10 {
			t.Errorf("%+v, %+v", fs, w.op("set"))
		}
	})
}

// A delete that was acknowledged and had no effect: the node is there again, of the same session.
func TestEphemeralFindsAnUndoneDelete(t *testing.T) {
	inBubble(t, ephemeralPlan, func(w *world) {
		w.setup()
		e := w.wl.(*ephemeral)
		conn, ctx := e.members[0].Conn, context.Background()
		p := &ephemeralWorker{
			crew: e.crew, conn: conn, fill: e.filler(0, e.pool()), slots: newSlots(e.spec, 0, 1, 0),
			paths: []node{{path: e.paths(0)[0]}}, create: w.rec.Op("create", 128), del: w.rec.Op("delete", 0),
		}
		p.step(ctx, 0)
		p.step(ctx, 0)
		_, err := conn.Create(ctx, p.paths[0].path, e.filler(0, e.pool()).next(0, 1, 0), zkclient.Ephemeral)
		w.must(err)
		p.step(ctx, 0)
		wantOnly(t, e.book.findings(), CodeWriteLost)
		p.step(ctx, 0)
		if p.paths[0].state != absent {
			t.Error("the next delete has not settled the node")
		}
	})
}

// An event that comes before its create was sent has no cause.
func TestPubSubFindsAnEventWithoutCause(t *testing.T) {
	inBubble(t, pubSubPlan, func(w *world) {
		w.setup()
		p := w.wl.(*pubSub)
		g := newGroup(p, 0, groupOps{event: w.rec.Op("event", 128), data: w.rec.Op("data", 128)}, nil)
		s := g.subs[0]
		early := zkclient.Event{Type: zkclient.NodeCreated, At: time.Now()}
		s.event(context.Background(), order{path: 1, seq: 3, start: w.env.Clock.Now() + time.Second}, early, false)
		wantOnly(t, p.book.findings(), CodeWatchDuplicate)
		// After an unclear round it may be the event of that one.
		s.watches[2].stale = true
		s.event(context.Background(), order{path: 2, seq: 3, start: w.env.Clock.Now() + time.Second}, early, false)
		if fs := p.book.findings(); len(fs) != 2 || fs[0].Count != 1 || fs[1].Code != CodeWatchLate {
			t.Errorf("%+v", fs)
		}
		if e := w.op("event"); e.Failed != 2 {
			t.Errorf("%+v", e)
		}
	})
}

// A node that stays after its delete was acknowledged keeps subscribers from the next round: that is told,
// and the round goes on.
func TestPubSubGoesOnAfterAnUndoneDelete(t *testing.T) {
	inBubble(t, `{kind: zookeeper/pubsub, publishers: 1, paths: 1, event_timeout: 2s}`, func(w *world) {
		w.setup()
		p := w.wl.(*pubSub)
		g := newGroup(p, 0, groupOps{subscribe: w.rec.Op("subscribe", 0)}, p.filler(0, p.pool()))
		ctx := context.Background()
		_, err := g.conn.Create(ctx, g.nodes[0].path, g.fill.next(0, 4, 0), zkclient.Ephemeral)
		w.must(err)
		g.tally.deleted(0, 4)
		for _, s := range g.subs {
			if !s.arm(ctx, 0) {
				t.Error("not subscribed")
			}
		}
		fs := p.book.findings()
		wantOnly(t, fs, CodeWriteLost)
		if len(fs) > 0 && fs[0].Count != 1 {
			t.Errorf("told %d times", fs[0].Count)
		}
	})
}

// A session that expires takes its watches with it: no event is owed.
func TestPubSubExpiryIsNoMiss(t *testing.T) {
	inBubble(t, `{kind: zookeeper/pubsub, publishers: 2, paths: 3, rate: 12/s, session: 4s, timeout: 1s, event_timeout: 2s}`, func(w *world) {
		w.setup()
		w.run(4*time.Minute, func() {
			for range 4 {
				time.Sleep(20 * time.Second)
				w.must(w.zk.Pause(1))
				w.must(w.zk.Pause(2))
				time.Sleep(15 * time.Second)
				w.must(w.zk.Resume(1))
				w.must(w.zk.Resume(2))
			}
		})
		if fs := w.check(); len(failing(fs)) > 0 {
			t.Errorf("findings after expiries: %+v", fs)
		}
		if e := w.op("event"); e.OK < 1000 {
			t.Errorf("the load has not gone on: %+v", e)
		}
	})
}

func TestPublisherSettlesACreateInDoubt(t *testing.T) {
	inBubble(t, `{kind: zookeeper/pubsub, publishers: 1, paths: 3}`, func(w *world) {
		w.setup()
		p := w.wl.(*pubSub)
		g := newGroup(p, 0, groupOps{}, p.filler(0, p.pool()))
		ctx := context.Background()
		for i, seq := range []uint64{5, 4} {
			_, err := g.conn.Create(ctx, g.nodes[i].path, g.fill.next(i, seq, 0), zkclient.Ephemeral)
			w.must(err)
		}
		for i, want := range []struct {
			created certainty
			state   state
		}{{certain, present}, {never, unknown}, {never, absent}} {
			n := &g.nodes[i]
			n.seq, n.state, n.doubt = 5, unknown, createInDoubt
			if got := g.settle(ctx, n, 0); got != want.created || n.state != want.state {
				t.Errorf("path %d: certainty %d, state %d; want %+v", i, got, n.state, want)
			}
		}
		if fs := p.book.findings(); len(fs) != 1 || fs[0].Code != CodeRecovered || fs[0].Count != 1 {
			t.Errorf("%+v", fs)
		}
	})
}

// The servers stand still when the run ends: it ends all the same within the drain, and what was due by its end
// and not sent is counted, what was due later is not.
func TestRunEndsWithoutServers(t *testing.T) {
	for _, plan := range []string{
		`{kind: zookeeper/ephemeral, connections: 4, rate: 20/s}`,
		`{kind: zookeeper/setdata, connections: 4, rate: 20/s}`,
		`{kind: zookeeper/pubsub, publishers: 2, paths: 5, rate: 20/s, get_after_notify: true}`,
	} {
		inBubble(t, plan, func(w *world) {
			w.setup()
			start := w.env.Clock.Now()
			w.run(time.Minute, func() {
				time.Sleep(45*time.Second + 10*time.Millisecond)
				for id := 1; id <= 3; id++ {
					w.must(w.zk.Pause(id))
				}
			})
			if took := w.env.Clock.Now() - start; took > 90*time.Second {
				t.Errorf("%s: ended %v after its end", plan, took-time.Minute)
			}
			var all uint64
			for _, name := range []string{"create", "delete", "set"} {
				for _, p := range w.rec.Progress() {
					if p.Op == name {
						all += p.OK + p.Failed + p.InDoubt + p.Shed
					}
				}
			}
			if low := uint64(1198); all < low || all > 1200 {
				t.Errorf("%s: %d updates are accounted for, 1200 were due", plan, all)
			}
			for id := 1; id <= 3; id++ {
				w.must(w.zk.Resume(id))
			}
			if fs := w.check(); len(failing(fs)) > 0 {
				t.Errorf("%s: findings %+v", plan, fs)
			}
		})
	}
}

// A delete that gets no answer is repeated only as long as the run goes on.
func TestPublisherGivesUpADeleteWhenTheRunEnds(t *testing.T) {
	inBubble(t, `{kind: zookeeper/pubsub, publishers: 1, paths: 1, timeout: 1s}`, func(w *world) {
		w.setup()
		p := w.wl.(*pubSub)
		g := newGroup(p, 0, groupOps{del: w.rec.Op("delete", 0)}, nil)
		for id := 1; id <= 3; id++ {
			w.must(w.zk.Pause(id))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		start := w.env.Clock.Now()
		g.nodes[0].state = present
		if g.remove(ctx, 0, start) {
			t.Error("removed without a server")
		}
		if took := w.env.Clock.Now() - start; took < 3*time.Second || took > 5*time.Second {
			t.Errorf("gave up after %v, the run ended after 3s and a delete has 1s", took)
		}
		if d := w.op("delete"); d.OK+d.Failed+d.InDoubt != 1 {
			t.Errorf("one delete was due, recorded are %+v", d)
		}
		for id := 1; id <= 3; id++ {
			w.must(w.zk.Resume(id))
		}
		time.Sleep(5 * time.Second) // the servers elect a leader before they take leave of the sessions
	})
}
