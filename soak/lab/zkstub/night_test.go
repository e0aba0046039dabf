package zkstub_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

// An hour with a fault a minute: sessions hold, nothing is lost, files restore. It also shows what an hour costs.
func TestAnHourOfFaults(t *testing.T) {
	const workers = 10
	inBubble(t, zkstub.Options{Dir: t.TempDir(), SnapCount: 1000}, func(t *testing.T, e *zkstub.Ensemble) {
		begin := time.Now()
		var all sync.WaitGroup
		for w := range workers {
			c := connect(t, e, zookeeper.Options{Order: uint64(w + 1), OpTimeout: 15 * time.Second, SessionTimeout: 20 * time.Second})
			all.Go(func() {
				defer closeAll(t, c)
				path := fmt.Sprintf("/w%d", w)
				if _, err := c.Create(ctx(), path, nil, 0); err != nil {
					t.Error(err)
					return
				}
				id, version := c.SessionID(), int32(0)
				for time.Since(begin) < time.Hour {
					st, err := c.Set(ctx(), path, []byte("x"), -1)
					switch {
					case err == nil && st.Version > version:
						version = st.Version
					case err == nil:
						t.Errorf("worker %d: version %d after %d", w, st.Version, version)
					case !zookeeper.InDoubt(err) && zookeeper.Class(err) != "connection lost":
						t.Errorf("worker %d: %v", w, err)
					}
					time.Sleep(2 * time.Second)
				}
				must(t, c.Sync(ctx(), path))
				if _, st, err := c.Get(ctx(), path); err != nil || st.Version < version {
					t.Errorf("worker %d: version %d of %d is left, %v", w, st.Version, version, err)
				}
				if c.SessionID() != id {
					t.Errorf("worker %d: the session was lost", w)
				}
			})
		}
		for minute := 1; minute < 60; minute++ {
			id := minute%3 + 1
			if minute%2 == 0 {
				must(t, e.Stop(id))
				time.Sleep(5 * time.Second)
				must(t, e.Start(id))
			} else {
				must(t, e.Pause(id))
				time.Sleep(4 * time.Second)
				must(t, e.Resume(id))
			}
			time.Sleep(time.Until(begin.Add(time.Duration(minute) * time.Minute)))
		}
		all.Wait()
		for id := 1; id <= 3; id++ {
			d := restore(t, e.Dir(id), 64<<10)
			if err := contiguous(d.zxids); err != nil || len(d.paths) != workers+3 {
				t.Errorf("node %d: %d nodes, %v", id, len(d.paths), err)
			}
		}
	})
}
