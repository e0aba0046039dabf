package zookeeper_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func TestWatchFiresOnce(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c, writer := connect(t, e, zookeeper.Options{}), connect(t, e, zookeeper.Options{})
		defer mustClose(t, c)
		defer mustClose(t, writer)
		steps := []struct {
			do   func() error
			want zookeeper.EventType
		}{
			{func() error { _, err := writer.Create(ctx(), "/w", nil, 0); return err }, zookeeper.NodeCreated},
			{func() error { _, err := writer.Set(ctx(), "/w", nil, -1); return err }, zookeeper.DataChanged},
			{func() error { return writer.Delete(ctx(), "/w", -1) }, zookeeper.NodeDeleted},
		}
		for _, s := range steps {
			_, _, w, err := c.ExistsW(ctx(), "/w")
			if err != nil {
				t.Fatal(err)
			}
			if n := c.Counts().Watches; n != 1 {
				t.Errorf("%d watches", n)
			}
			if err := s.do(); err != nil {
				t.Fatal(err)
			}
			ev := <-w
			if ev.Type != s.want || ev.Path != "/w" || ev.Err != nil || !ev.At.Equal(time.Now()) {
				t.Errorf("event %+v, want %v", ev, s.want)
			}
			synctest.Wait()
			if n := c.Counts().Watches; n != 0 {
				t.Errorf("%d watches after the event", n)
			}
		}
		if _, err := writer.Create(ctx(), "/w", nil, 0); err != nil {
			t.Fatal(err)
		}
		if n := c.Counts().Notices; n != 3 {
			t.Errorf("%d notices for 3 watches", n)
		}
	})
}

func TestWatchSurvivesReconnects(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c, writer := connect(t, e, zookeeper.Options{Order: 1}), connect(t, e, zookeeper.Options{Order: 2})
		defer mustClose(t, c)
		defer mustClose(t, writer)
		_, _, during, err := c.ExistsW(ctx(), "/during")
		if err != nil {
			t.Fatal(err)
		}
		_, _, after, err := c.ExistsW(ctx(), "/after")
		if err != nil {
			t.Fatal(err)
		}
		ready(t, writer)
		e.Stop(1)
		if _, err := writer.Create(ctx(), "/during", nil, 0); err != nil {
			t.Fatal(err)
		}
		if ev := <-during; ev.Type != zookeeper.NodeCreated {
			t.Errorf("change while the client was away: %+v", ev)
		}
		ready(t, c)
		if _, err := writer.Create(ctx(), "/after", nil, 0); err != nil {
			t.Fatal(err)
		}
		if ev := <-after; ev.Type != zookeeper.NodeCreated {
			t.Errorf("change after the client came back: %+v", ev)
		}
	})
}

// The library tells the server with which transaction it was last in step when it sets its watches again. Requests
// that were queued meanwhile must not be answered before that.
func TestChangeWhileAwayIsNotHiddenByQueuedRequests(t *testing.T) {
	inBubble(t, zkstub.Options{Latency: time.Microsecond}, func(t *testing.T, e *zkstub.Ensemble) {
		c, writer := connect(t, e, zookeeper.Options{Servers: []string{"n1:2181", "n2:2181"}}), connect(t, e, zookeeper.Options{Servers: []string{"n3:2181"}})
		defer mustClose(t, c)
		defer mustClose(t, writer)
		for round := range 10 {
			p := fmt.Sprintf("/round%02d", round)
			_, _, w, err := c.ExistsW(ctx(), p)
			if err != nil {
				t.Fatal(err)
			}
			ready(t, writer)
			on := int(c.Server()[1] - '0')
			e.Stop(on)
			if _, err := writer.Create(ctx(), p, nil, 0); err != nil {
				t.Fatal(err)
			}
			var queued sync.WaitGroup
			for range 10 {
				queued.Go(func() { c.Exists(ctx(), "/") })
			}
			queued.Wait()
			select {
			case <-w:
			case <-time.After(3 * time.Second):
				t.Fatalf("round %d: the change was never told", round)
			}
			e.Start(on)
			time.Sleep(time.Second)
		}
	})
}

func TestWatchIsLostWithItsSession(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{})
		defer mustClose(t, c)
		_, _, w, err := c.ExistsW(ctx(), "/w")
		if err != nil {
			t.Fatal(err)
		}
		e.Expire(c.SessionID())
		if ev := <-w; ev.Type != zookeeper.WatchLost || !errors.Is(ev.Err, zookeeper.ErrExpired) {
			t.Errorf("event %+v", ev)
		}
	})
}

func TestWatchEndsWithClose(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{})
		_, _, w, err := c.ExistsW(ctx(), "/w")
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, c)
		select {
		case ev := <-w:
			if ev.Type != zookeeper.WatchLost || !errors.Is(ev.Err, zookeeper.ErrClosed) {
				t.Errorf("event %+v", ev)
			}
		default:
			t.Error("no event after close")
		}
	})
}

// The library re-arms watches with one request per 128 KiB. What does not fit into the send buffer it drops, with
// all watches in it, and only logs it; so the watch that would not fit is refused.
func TestWatchesFitIntoOneRequest(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c, writer := connect(t, e, zookeeper.Options{Order: 1, Buffer: 4 << 10}), connect(t, e, zookeeper.Options{Order: 2})
		defer mustClose(t, c)
		defer mustClose(t, writer)
		paths := map[string]<-chan zookeeper.Event{}
		for i := 0; ; i++ {
			p := fmt.Sprintf("/%s%03d", strings.Repeat("p", 100), i)
			_, _, w, err := c.ExistsW(ctx(), p)
			if err != nil {
				if !strings.Contains(err.Error(), "Options.Buffer") || i < 30 || i > 40 {
					t.Errorf("watch %d: %v", i, err)
				}
				break
			}
			paths[p] = w
		}
		ready(t, writer)
		e.Stop(1)
		ready(t, c)
		for p, w := range paths {
			if _, err := writer.Create(ctx(), p, nil, 0); err != nil {
				t.Fatal(err)
			}
			if ev := <-w; ev.Type != zookeeper.NodeCreated {
				t.Errorf("event %+v", ev)
			}
		}
		if _, _, _, err := c.ExistsW(ctx(), "/room/again"); err != nil {
			t.Error(err)
		}
	})
}

// A caller that leaves before the answer gets no channel; the watch must end all the same.
func TestAbandonedWatch(t *testing.T) {
	inBubble(t, zkstub.Options{Nodes: 1}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{OpTimeout: time.Second})
		ready(t, c)
		e.Pause(1)
		if _, _, _, err := c.ExistsW(ctx(), "/w"); !errors.Is(err, zookeeper.ErrTimeout) {
			t.Fatal(err)
		}
		e.Resume(1)
		time.Sleep(time.Second)
		if n := c.Counts().Watches; n != 1 {
			t.Errorf("%d watches armed, want the abandoned one", n)
		}
		if _, err := c.Create(ctx(), "/w", nil, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := c.Counts().Watches; n != 0 {
			t.Errorf("%d watches armed after the event", n)
		}
		mustClose(t, c)
	})
}
