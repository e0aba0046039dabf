package zookeeper

import (
	"strings"
	"testing"
	"time"

	"nightshift/soak/record"
)

const pubSubPlan = `{kind: zookeeper/pubsub, target: zk, publishers: 3, paths: 4, size: 128, rate: 6/s, get_after_notify: true}`

func TestPubSubWorksAnHour(t *testing.T) {
	inBubble(t, pubSubPlan, func(w *world) {
		w.setup()
		w.run(time.Hour, nil)
		c, d, e, g, s := w.op("create"), w.op("delete"), w.op("event"), w.op("data"), w.op("subscribe")
		// 6 a second from the end of the first subscription on, which takes some milliseconds.
		if n := c.OK + d.OK; n < 21590 || n > 21600 {
			t.Errorf("%d updates in an hour at 6/s", n)
		}
		if e.OK != 3*c.OK || g.OK != e.OK || s.OK < e.OK {
			t.Errorf("%d creates must have 3 events each, each with its data: %d events, %d reads, %d subscriptions", c.OK, e.OK, g.OK, s.OK)
		}
		for name, p := range map[string]uint64{"failed": c.Failed + d.Failed + e.Failed + g.Failed + s.Failed, "shed": c.Shed + d.Shed, "late": c.Late + d.Late, "in doubt": c.InDoubt + d.InDoubt} {
			if p != 0 {
				t.Errorf("%d operations %s", p, name)
			}
		}
		wantNone(t, w.check())
		wantNone(t, w.clean())
		if rest := w.tree(); len(rest) > 0 {
			t.Errorf("left on the ensemble: %q", rest)
		}
	})
}

func TestPubSubRounds(t *testing.T) {
	inBubble(t, `{kind: zookeeper/pubsub, publishers: 2, paths: 7, rate: max, rounds: 3}`, func(w *world) {
		w.setup()
		w.run(time.Hour, nil)
		if c, e, d := w.op("create").OK, w.op("event").OK, w.op("delete").OK; c != 42 || e != 126 || d != 42 {
			t.Errorf("3 rounds of 2 x 7: %d creates, %d events, %d deletes", c, e, d)
		}
		if n := w.op("data"); n.OK != 0 {
			t.Errorf("%d reads although get_after_notify is off", n.OK)
		}
		wantNone(t, w.check())
	})
}

// A group whose sessions are cut off does not hold up the others.
func TestPubSubSurvivesFaults(t *testing.T) {
	inBubble(t, `{kind: zookeeper/pubsub, publishers: 6, paths: 4, rate: 24/s, get_after_notify: true, event_timeout: 3s}`, func(w *world) {
		w.setup()
		w.run(10*time.Minute, func() {
			for range 8 {
				time.Sleep(20 * time.Second)
				id := w.leader()
				w.must(w.zk.Stop(id))
				time.Sleep(8 * time.Second)
				w.must(w.zk.Start(id))
				time.Sleep(20 * time.Second)
				id = w.leader()%3 + 1
				w.must(w.zk.Pause(id))
				time.Sleep(8 * time.Second)
				w.must(w.zk.Resume(id))
			}
		})
		c, e := w.op("create"), w.op("event")
		if c.OK < 4000 || e.OK < 3*4000 {
			t.Errorf("only %d creates and %d events in ten minutes", c.OK, e.OK)
		}
		if fs := w.check(); len(failing(fs)) > 0 {
			t.Errorf("findings after faults: %+v", fs)
		}
	})
}

func TestPubSubFindsAMissedNotification(t *testing.T) {
	inBubble(t, pubSubPlan, func(w *world) {
		w.setup()
		w.zk.DropNotification(100)
		w.run(5*time.Minute, nil)
		fs := w.check()
		wantOnly(t, fs, CodeWatchMissed)
		if len(fs) > 0 && fs[0].Count != 1 {
			t.Errorf("%d missed, one was dropped (%q)", fs[0].Count, w.zk.Dropped())
		}
		if e := w.op("event"); e.Failed != 1 || e.OK < 1000 {
			t.Errorf("want one failed event and the load going on, got %+v", e)
		}
	})
}

// The last event of a run is missing: that is found while the run drains.
func TestPubSubFindsAMissedNotificationAtTheEnd(t *testing.T) {
	inBubble(t, `{kind: zookeeper/pubsub, publishers: 1, paths: 4, rate: 1/s}`, func(w *world) {
		w.setup()
		w.zk.DropNotification(9) // of the third create, two seconds after the first
		w.run(2*time.Second+500*time.Millisecond, nil)
		wantOnly(t, w.check(), CodeWatchMissed)
	})
}

func TestPubSubFindsALostCreate(t *testing.T) {
	inBubble(t, pubSubPlan, func(w *world) {
		w.setup()
		w.zk.LoseAcknowledged(100)
		w.run(5*time.Minute, nil)
		fs := w.check()
		wantOnly(t, fs, CodeWriteLost)
		if lost := w.zk.Lost(); len(lost) != 1 || len(fs) == 0 || !strings.Contains(fs[0].Evidence[0], lost[0]) {
			t.Errorf("the evidence does not name the path that was lost, %q: %+v", lost, fs)
		}
	})
}

func TestPubSubFindsLeftOvers(t *testing.T) {
	inBubble(t, pubSubPlan, func(w *world) {
		w.setup()
		w.zk.KeepEphemeral("/w00001/")
		w.run(2100*time.Millisecond, nil) // within the creates of the first round
		fs := w.check()
		wantOnly(t, fs, CodeLeftOver)
		w.clean()
		if rest := w.tree(); len(rest) > 0 {
			t.Errorf("left on the ensemble: %q", rest)
		}
	})
}

// An event is timed from when its create was due, so a server that stands still shows in it.
func TestPubSubEventsCountFromTheIntendedStart(t *testing.T) {
	inBubble(t, `{kind: zookeeper/pubsub, publishers: 1, paths: 50, rate: 10/s}`, func(w *world) {
		w.setup()
		w.run(20*time.Second, func() {
			time.Sleep(2*time.Second + 50*time.Millisecond)
			for id := 1; id <= 3; id++ {
				w.must(w.zk.Pause(id))
			}
			time.Sleep(1500 * time.Millisecond)
			for id := 1; id <= 3; id++ {
				w.must(w.zk.Resume(id))
			}
		})
		response := w.longest("event", func(w record.Window) *record.Hist { return w.Response })
		if response < 1400*time.Millisecond || response > 1600*time.Millisecond {
			t.Errorf("longest time to an event is %v, a create was due just after the ensemble stopped for 1.5s", response)
		}
		if d := w.longest("event", func(w record.Window) *record.Hist { return w.Delay }); d < time.Second {
			t.Errorf("longest delay of an event is %v: creates that were due meanwhile count from their time", d)
		}
		if e := w.op("create"); e.Late < 10 {
			t.Errorf("%d late creates, about 14 were due meanwhile", e.Late)
		}
		wantNone(t, w.check())
	})
}
