package zookeeper

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/target"
)

func (w *world) put(path, data string) {
	w.t.Helper()
	ctx := context.Background()
	conn, err := connectAdmin(ctx, w.env, 10*time.Second, 5*time.Second, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	defer dismiss(conn)
	if _, err := conn.Create(ctx, path, []byte(data), 0); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sweep(run string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return Sweep(ctx, w.env.Cluster, run, w.env.Dial)
}

// A killed run is swept; another run under the same prefix stays, and so does the prefix.
func TestSweepRemovesOneRun(t *testing.T) {
	inBubble(t, setDataPlan, func(w *world) {
		w.setup()
		w.run(time.Second, nil)
		first := w.wl
		w.env.RunID = "run2"
		w.make(ephemeralPlan)
		w.setup()
		before := w.tree()
		removed, err := w.sweep("run1")
		if err != nil {
			t.Fatal(err)
		}
		after := w.tree()
		if removed != 22 || len(before)-len(after) != removed { // 15 paths, 5 workers, workload, run
			t.Errorf("%d nodes removed, %d before, %d after", removed, len(before), len(after))
		}
		for _, p := range after {
			if p != "/nightshift" && !strings.HasPrefix(p, "/nightshift/run2") {
				t.Errorf("%s is still there", p)
			}
		}
		if n, err := w.sweep("run1"); n != 0 || err != nil {
			t.Errorf("swept again: %d, %v", n, err)
		}
		wantNone(t, w.clean())
		// run1 made the prefix, so only run1 may remove it.
		if rest := w.tree(); !slices.Equal(rest, []string{"/nightshift"}) {
			t.Errorf("left: %q", rest)
		}
		if n, err := w.sweep("run1"); n != 1 || err != nil {
			t.Errorf("swept the prefix: %d, %v", n, err)
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestForeignNodesStay(t *testing.T) {
	inBubble(t, setDataPlan, func(w *world) {
		w.env.Cluster.Prefix = "/team/soak/deep"
		w.put("/team", "the team's")
		w.make(setDataPlan)
		w.setup()
		w.put("/team/soak/other", "someone else's")
		w.run(time.Second, nil)
		wantNone(t, w.check())
		wantNone(t, w.clean())
		if rest, want := w.tree(), []string{"/team", "/team/soak", "/team/soak/other"}; !slices.Equal(rest, want) {
			t.Errorf("left: %q, want %q", rest, want)
		}
	})
}

func TestSweepRefuses(t *testing.T) {
	inBubble(t, setDataPlan, func(w *world) {
		w.put("/nightshift", "someone else's")
		w.put("/nightshift/mine", "not made by a run")
		w.put("/nightshift/mine/x", "")
		for _, id := range []string{"", "..", ".", "a/b", "/", "*", "mine"} {
			if n, err := w.sweep(id); err == nil || n != 0 {
				t.Errorf("sweep %q: %d, %v", id, n, err)
			}
		}
		if n, err := w.sweep("unknown"); err != nil || n != 0 {
			t.Errorf("sweep of a run that left nothing: %d, %v", n, err)
		}
		if len(w.tree()) != 3 {
			t.Errorf("left: %q", w.tree())
		}
	})
}

func TestSetupWithoutServersSaysWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, env: planEnv()}
		w.env.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
		for _, plan := range []string{setDataPlan, pubSubPlan, ephemeralPlan} {
			w.make(plan)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			err := w.wl.Setup(ctx)
			cancel()
			for _, part := range []string{`"zk"`, "h1:2181", "h2:2181", "start the ensemble"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			if err := w.wl.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := Sweep(t.Context(), w.env.Cluster, "run1", w.env.Dial); err == nil || !strings.Contains(err.Error(), "h1:2181") {
			t.Errorf("sweep: %v", err)
		}
	})
}

func TestSetupWithTooFewConnectionsSaysWhy(t *testing.T) {
	inBubble(t, setDataPlan, func(w *world) {
		var open atomic.Int64
		w.env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if open.Add(1) > 4 { // one of them the session that makes the directory
				return nil, errors.New("planted: too many")
			}
			return w.zk.Dial(ctx, network, addr)
		}
		w.make(setDataPlan)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		err := w.wl.Setup(ctx)
		if err == nil || !strings.Contains(err.Error(), "only 3 of 5 sessions") || !strings.Contains(err.Error(), "maxClientCnxns") {
			t.Errorf("got: %v", err)
		}
		// Once there is room, the same workload can be set up.
		open.Store(-100)
		w.setup()
		w.run(time.Second, nil)
		wantNone(t, w.check())
	})
}

func TestRootOfTheTree(t *testing.T) {
	for prefix, want := range map[string][]string{"": nil, "/": nil, "/a": {"/a"}, "/a/b/": {"/a", "/a/b"}} {
		r, err := newRoot(prefix, "run")
		if err != nil || !slices.Equal(r.above(), want) || r.dir() != strings.TrimRight(prefix, "/")+"/run" {
			t.Errorf("%q: %+v, %v", prefix, r, err)
		}
	}
	if p := prefixOf(target.Cluster{}); p != "/nightshift" {
		t.Errorf("default prefix %q", p)
	}
}
