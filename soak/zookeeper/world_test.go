package zookeeper

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	zkclient "nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"

	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// lostAnswer is an error of a write in doubt, as the client makes it.
func lostAnswer(t *testing.T) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { err = lostAnswerNow(t) })
	return err
}

func lostAnswerNow(t *testing.T) error {
	conn, err := zkclient.Connect(zkclient.Options{
		Servers: []string{"n1:2181"}, OpTimeout: time.Millisecond,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Create(context.Background(), "/p", nil, 0)
	if cerr := conn.Close(closeLimit); cerr != nil {
		t.Fatal(cerr)
	}
	if !zkclient.InDoubt(err) {
		t.Fatalf("%v is not in doubt", err)
	}
	return err
}

// world is a stub ensemble with one workload on it, in a bubble of virtual time.
type world struct {
	t   *testing.T
	zk  *zkstub.Ensemble
	env Env
	wl  soak.Workload
	rec *soak.Recorder

	mu     sync.Mutex
	events []record.Event
}

func (w *world) emit(e record.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// inBubble runs f with an ensemble of three nodes and a workload made from plan.
func inBubble(t *testing.T, plan string, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		zk, err := zkstub.New(zkstub.Options{Latency: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, zk: zk}
		w.env = testEnv(zk)
		w.env.Emit = w.emit
		w.make(plan)
		defer func() {
			if err := w.wl.Close(); err != nil {
				t.Error(err)
			}
			if err := zk.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(w)
	})
}

func testEnv(zk *zkstub.Ensemble) Env {
	c := target.Cluster{Name: "zk", System: system}
	for _, a := range zk.Addrs() {
		c.Nodes = append(c.Nodes, target.Node{ID: a, Addrs: []string{a}})
	}
	return Env{Cluster: c, Clock: record.NewClock(), Seed: 7, RunID: "run1", Dial: zk.Dial}
}

func (w *world) make(plan string) {
	w.t.Helper()
	n, ps := config.Parse([]byte(plan))
	if err := ps.Err(); err != nil {
		w.t.Fatal(err)
	}
	var kind string
	if err := n.Field("kind").Decode(&kind).Err(); err != nil {
		w.t.Fatal(err)
	}
	w.wl, ps = New(kind, n, w.env)
	if err := ps.Err(); err != nil {
		w.t.Fatal(err)
	}
	w.rec = soak.NewRecorder(w.wl.Name(), w.env.Clock, w.env.Seed)
}

func (w *world) setup() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := w.wl.Setup(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// run runs the workload for d while during acts, and flushes its recorder like the runner does.
// What is due at the very end is not: which of two timers of one instant comes first is chance.
func (w *world) run(d time.Duration, during func()) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d-time.Nanosecond)
	defer cancel()
	var wg sync.WaitGroup
	fctx, stop := context.WithCancel(context.Background())
	wg.Go(func() {
		for sleep(fctx, time.Second) {
			w.rec.Flush(w.emit)
		}
	})
	if during != nil {
		wg.Go(during)
	}
	if err := w.wl.Run(ctx, w.rec); err != nil {
		w.t.Errorf("run: %v", err)
	}
	stop()
	wg.Wait()
	w.rec.Flush(w.emit)
}

func (w *world) check() []record.Finding {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	fs, err := w.wl.Check(ctx)
	if err != nil {
		w.t.Fatalf("check: %v", err)
	}
	return fs
}

func (w *world) clean() []record.Finding {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	fs, err := w.wl.(soak.Cleaner).Clean(ctx)
	if err != nil {
		w.t.Fatalf("clean: %v", err)
	}
	return fs
}

// op sums up an operation over all sizes.
func (w *world) op(name string) (p soak.Progress) {
	for _, o := range w.rec.Progress() {
		if o.Op == name {
			return o
		}
	}
	w.t.Fatalf("operation %q was not recorded", name)
	return p
}

// longest is the longest time of an operation by pick.
func (w *world) longest(name string, pick func(record.Window) *record.Hist) (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if win, ok := e.(record.Window); ok && win.Op == name {
			longest = max(longest, pick(win).Max())
		}
	}
	return longest
}

func (w *world) leader() int {
	w.t.Helper()
	for id := 1; id <= 3; id++ {
		if w.zk.Role(id) == "leader" {
			return id
		}
	}
	w.t.Fatal("no leader")
	return 0
}

// tree lists everything on the ensemble but ZooKeeper's own nodes.
func (w *world) tree() []string {
	w.t.Helper()
	ctx := context.Background()
	conn, err := connectAdmin(ctx, w.env, 10*time.Second, 5*time.Second, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	defer dismiss(conn)
	names, err := conn.Children(ctx, "/")
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, n := range names {
		if n == "zookeeper" {
			continue
		}
		sub, err := below(ctx, conn, "/"+n)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, sub...)
	}
	return all
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Error(err)
	}
}

// codes of the findings that fail a run.
func failing(fs []record.Finding) (codes []string) {
	for _, f := range fs {
		if f.Severity == record.Fail {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

func wantNone(t *testing.T, fs []record.Finding) {
	t.Helper()
	for _, f := range fs {
		t.Errorf("finding in an undamaged run: %s: %s: %q", f.Code, f.Text, f.Evidence)
	}
}

func wantOnly(t *testing.T, fs []record.Finding, code string) {
	t.Helper()
	got := failing(fs)
	if len(got) != 1 || got[0] != code {
		t.Errorf("got failing findings %q, want only %s: %+v", got, code, fs)
	}
}
