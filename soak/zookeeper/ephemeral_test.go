package zookeeper

import (
	"strings"
	"testing"
	"time"

	"nightshift/soak/record"
)

const ephemeralPlan = `{kind: zookeeper/ephemeral, target: zk, connections: 5, paths: 3, size: 128, rate: 10/s}`

func TestEphemeralWorksAnHour(t *testing.T) {
	inBubble(t, ephemeralPlan, func(w *world) {
		w.setup()
		w.run(time.Hour, nil)
		c, d := w.op("create"), w.op("delete")
		if c.OK+d.OK != 36000 || c.OK-d.OK > 5 || c.Failed+c.InDoubt+c.Shed+c.Late+d.Failed+d.InDoubt+d.Shed+d.Late != 0 {
			t.Errorf("want 36000 updates and nothing else, got %+v and %+v", c, d)
		}
		wantNone(t, w.check())
		wantNone(t, w.check())
		wantNone(t, w.clean())
		if rest := w.tree(); len(rest) > 0 {
			t.Errorf("left on the ensemble: %q", rest)
		}
	})
}

func TestEphemeralQuota(t *testing.T) {
	for _, rate := range []string{"10/s", "max"} {
		inBubble(t, `{kind: zookeeper/ephemeral, connections: 3, count: 100, rate: `+rate+`}`, func(w *world) {
			w.setup()
			w.run(time.Hour, nil)
			if n := w.op("create").OK + w.op("delete").OK; n != 100 {
				t.Errorf("rate %s: %d updates, want 100", rate, n)
			}
		})
	}
}

// While a server stands still its sessions' operations are late or shed, and none of that is hidden:
// everything that was due is counted, and latency counts from the intended start.
func TestEphemeralOpenLoopAgainstAPausedServer(t *testing.T) {
	plan := `{kind: zookeeper/ephemeral, connections: 6, rate: 60/s, timeout: 2s, max_late: 1s}`
	inBubble(t, plan, func(w *world) {
		w.setup()
		w.run(time.Minute, func() {
			time.Sleep(20 * time.Second)
			w.must(w.zk.Pause(w.leader()))
			time.Sleep(8 * time.Second)
			for id := 1; id <= 3; id++ {
				if w.zk.Role(id) == "paused" {
					w.must(w.zk.Resume(id))
				}
			}
		})
		c, d := w.op("create"), w.op("delete")
		sum := func(f func(a, b uint64) uint64) uint64 {
			return f(c.OK, d.OK) + f(c.Failed, d.Failed) + f(c.InDoubt, d.InDoubt) + f(c.Shed, d.Shed)
		}
		if all := sum(func(a, b uint64) uint64 { return a + b }); all != 3600 {
			t.Errorf("%d operations are accounted for, 3600 were due: %+v %+v", all, c, d)
		}
		if c.Shed+d.Shed == 0 || c.Late+d.Late == 0 || c.InDoubt+d.InDoubt == 0 {
			t.Errorf("want shed, late and in doubt operations, got %+v %+v", c, d)
		}
		response := max(w.longest("create", func(w record.Window) *record.Hist { return w.Response }), w.longest("delete", func(w record.Window) *record.Hist { return w.Response }))
		service := max(w.longest("create", func(w record.Window) *record.Hist { return w.Service }), w.longest("delete", func(w record.Window) *record.Hist { return w.Service }))
		if service > 2100*time.Millisecond || response <= service {
			t.Errorf("longest service %v (deadline 2s), longest response %v, which counts from the intended start", service, response)
		}
		if got := failing(w.check()); len(got) > 0 {
			t.Errorf("findings after a pause: %q", got)
		}
	})
}

func TestEphemeralSurvivesLostLeaders(t *testing.T) {
	inBubble(t, `{kind: zookeeper/ephemeral, connections: 9, rate: 90/s}`, func(w *world) {
		w.setup()
		w.run(10*time.Minute, func() {
			for range 10 {
				time.Sleep(30 * time.Second)
				id := w.leader()
				w.must(w.zk.Stop(id))
				time.Sleep(10 * time.Second)
				w.must(w.zk.Start(id))
			}
		})
		if w.op("create").OK < 20000 {
			t.Errorf("only %d creates in ten minutes", w.op("create").OK)
		}
		if fs := w.check(); len(failing(fs)) > 0 {
			t.Errorf("findings after stops of the leader: %+v", fs)
		}
	})
}

// All servers are away for longer than the session timeout: the sessions expire, nothing is lost.
func TestEphemeralExpiredSessionsAreNoLoss(t *testing.T) {
	inBubble(t, `{kind: zookeeper/ephemeral, connections: 4, rate: 40/s, session: 4s, timeout: 1s}`, func(w *world) {
		w.setup()
		w.run(3*time.Minute, func() {
			for range 3 {
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
	})
}

func TestEphemeralFindsALostCreate(t *testing.T) {
	inBubble(t, ephemeralPlan, func(w *world) {
		w.setup()
		w.zk.LoseAcknowledged(100)
		w.run(time.Minute, nil)
		fs := w.check()
		wantOnly(t, fs, CodeWriteLost)
		if lost := w.zk.Lost(); len(lost) != 1 || len(fs) == 0 || !strings.Contains(fs[0].Evidence[0], lost[0]) {
			t.Errorf("the evidence does not name the path that was lost, %q: %+v", lost, fs)
		}
		again := w.check()
		if len(again) != len(fs) || again[0].Count != fs[0].Count {
			t.Errorf("second check says %+v, the first said %+v", again, fs)
		}
	})
}

func TestEphemeralFindsLeftOvers(t *testing.T) {
	inBubble(t, ephemeralPlan, func(w *world) {
		w.setup()
		w.zk.KeepEphemeral("/w00002/")
		w.run(10*time.Second+450*time.Millisecond, nil) // the last operation of worker 2 is a create
		fs := w.check()
		wantOnly(t, fs, CodeLeftOver)
	})
}
