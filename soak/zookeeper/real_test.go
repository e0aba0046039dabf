package zookeeper

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	zkclient "nightshift/soak/client/zookeeper"
	"nightshift/soak/lab"

	"nightshift/soak"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// realPlans run side by side on a real ensemble.
var realPlans = []string{
	`{kind: zookeeper/ephemeral, connections: 6, paths: 3, size: 512, rate: 100/s}`,
	`{kind: zookeeper/setdata, connections: 6, paths: 3, size: 512, rate: 100/s}`,
	`{kind: zookeeper/pubsub, publishers: 4, paths: 5, size: 512, rate: 100/s, get_after_notify: true, event_timeout: 6s}`,
	`{kind: zookeeper/pubsub, name: closed, publishers: 2, paths: 10, size: 64, rate: max, event_timeout: 6s}`,
}

func startLab(t *testing.T) *lab.Lab {
	t.Helper()
	lab.Require(t)
	l, err := lab.Up(t.Context(), lab.Spec{System: system, Nodes: 3, Dir: t.TempDir(), Name: "zk", RunID: "real"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	return l
}

// leaderOf asks the servers; -1 when none says that it leads.
func leaderOf(ctx context.Context, c target.Cluster) int {
	for i, n := range c.Nodes {
		if s, err := zkclient.Status(ctx, n.Addrs[0]); err == nil && s.Mode == string(target.Leader) {
			return i
		}
	}
	return -1
}

// On real servers, with followers that are behind and a leader that is lost: no damage, no findings,
// also after all servers were restarted, and nothing is left.
func TestWorkloadsOnRealServers(t *testing.T) {
	l := startLab(t)
	env := Env{Cluster: l.Cluster(), Clock: record.NewClock(), Seed: 3, RunID: "real", Dials: zkclient.NewDialGate(200)}
	var all []soak.Workload
	for _, src := range realPlans {
		n := parse(t, src)
		var kind string
		n.Field("kind").Decode(&kind)
		wl, ps := New(kind, n, env)
		if err := ps.Err(); err != nil {
			t.Fatal(err)
		}
		all = append(all, wl)
	}
	each := func(what string, f func(soak.Workload) error) {
		t.Helper()
		var wg sync.WaitGroup
		for _, wl := range all {
			wg.Go(func() {
				if err := f(wl); err != nil {
					t.Errorf("%s %s: %v", what, wl.Name(), err)
				}
			})
		}
		wg.Wait()
		t.Logf("%8.1fs %s", env.Clock.Now().Seconds(), what)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	each("set up", func(wl soak.Workload) error { return wl.Setup(ctx) })
	if t.Failed() {
		t.FailNow()
	}
	rctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		each("run", func(wl soak.Workload) error {
			rec := soak.NewRecorder(wl.Name(), env.Clock, env.Seed)
			err := wl.Run(rctx, rec)
			for _, p := range rec.Progress() {
				t.Logf("%-20s %-10s %6d ok %4d failed %4d in doubt %4d shed", wl.Name(), p.Op, p.OK, p.Failed, p.InDoubt, p.Shed)
				if p.OK == 0 && p.Op != "data" {
					err = fmt.Errorf("no %s succeeded", p.Op)
				}
			}
			return err
		})
	})
	trouble(ctx, t, l)
	stop()
	wg.Wait()
	check := func(wl soak.Workload) error {
		fs, err := wl.Check(ctx)
		for _, f := range fs {
			t.Logf("%s: %s: %s %q", wl.Name(), f.Code, f.Text, f.Evidence)
			if f.Severity == record.Fail {
				t.Errorf("%s found %s on undamaged servers", wl.Name(), f.Code)
			}
		}
		return err
	}
	each("check", check)
	if err := l.StopAll(ctx); err != nil {
		t.Fatal(err)
	}
	if err := l.StartAll(ctx); err != nil {
		t.Fatal(err)
	}
	each("check again", check)
	each("clean", func(wl soak.Workload) error {
		fs, err := wl.(soak.Cleaner).Clean(ctx)
		if len(fs) > 0 {
			t.Errorf("left over: %+v", fs)
		}
		return err
	})
	w := &world{t: t, env: env}
	if rest := w.tree(); len(rest) > 0 {
		t.Errorf("left on the ensemble: %q", rest)
	}
	each("close", func(wl soak.Workload) error { return wl.Close() })
}

// trouble loses the leader once, and lets a follower stand still once for so long that its sessions move.
func trouble(ctx context.Context, t *testing.T, l *lab.Lab) {
	sleep(ctx, 5*time.Second)
	i := leaderOf(ctx, l.Cluster())
	if i < 0 {
		t.Error("no server says that it leads")
		return
	}
	if err := l.Stop(ctx, l.Cluster().Nodes[i].ID); err != nil {
		t.Error(err)
	}
	sleep(ctx, 4*time.Second)
	if err := l.StartAll(ctx); err != nil {
		t.Error(err)
	}
	sleep(ctx, 5*time.Second)
	node := l.Cluster().Nodes[(leaderOf(ctx, l.Cluster())+1)%3]
	if err := unix.Kill(node.Proc.Pid, unix.SIGSTOP); err != nil {
		t.Error(err)
	}
	sleep(ctx, 9*time.Second)
	if err := unix.Kill(node.Proc.Pid, unix.SIGCONT); err != nil {
		t.Error(err)
	}
	sleep(ctx, 6*time.Second)
}
