package zookeeper

import (
	"strings"
	"testing"
	"time"
)

const setDataPlan = `{kind: zookeeper/setdata, target: zk, connections: 5, paths: 3, size: 128, rate: 10/s}`

func TestSetDataWorksAnHour(t *testing.T) {
	inBubble(t, setDataPlan, func(w *world) {
		w.setup()
		w.setup() // idempotent
		w.run(time.Hour, nil)
		if s := w.op("set"); s.OK != 36000 || s.Failed+s.InDoubt+s.Shed+s.Late != 0 {
			t.Errorf("want 36000 updates and nothing else, got %+v", s)
		}
		wantNone(t, w.check())
		for id := 1; id <= 3; id++ {
			w.must(w.zk.Stop(id))
		}
		for id := 1; id <= 3; id++ {
			w.must(w.zk.Start(id))
		}
		wantNone(t, w.check()) // the values are still there
		wantNone(t, w.clean())
		wantNone(t, w.clean())
		if rest := w.tree(); len(rest) > 0 {
			t.Errorf("left on the ensemble: %q", rest)
		}
	})
}

func TestSetDataSurvivesLostLeaders(t *testing.T) {
	inBubble(t, `{kind: zookeeper/setdata, connections: 9, rate: 90/s}`, func(w *world) {
		w.setup()
		w.run(5*time.Minute, func() {
			for range 6 {
				time.Sleep(20 * time.Second)
				id := w.leader()
				w.must(w.zk.Stop(id))
				time.Sleep(8 * time.Second)
				w.must(w.zk.Start(id))
				time.Sleep(10 * time.Second)
				id = w.leader()
				w.must(w.zk.Pause(id))
				time.Sleep(8 * time.Second)
				w.must(w.zk.Resume(id))
			}
		})
		if fs := w.check(); len(failing(fs)) > 0 {
			t.Errorf("findings after faults: %+v", fs)
		}
	})
}

func TestSetDataFindsALostSet(t *testing.T) {
	for name, at := range map[string]int{"in the middle": 100, "the last one": 600} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, setDataPlan, func(w *world) {
				w.setup()
				w.zk.LoseAcknowledged(at)
				w.run(time.Minute, nil)
				fs := w.check()
				wantOnly(t, fs, CodeWriteLost)
				if lost := w.zk.Lost(); len(lost) != 1 || len(fs) == 0 || !strings.Contains(fs[0].Evidence[0], lost[0]) {
					t.Errorf("the evidence does not name the path that was lost, %q: %+v", lost, fs)
				}
				if again := w.check(); len(again) != 1 || again[0].Count != fs[0].Count {
					t.Errorf("second check says %+v, the first said %+v", again, fs)
				}
			})
		})
	}
}
