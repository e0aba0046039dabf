package lab_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	zk "nightshift/soak/client/zookeeper"
	"nightshift/soak/lab"
	"nightshift/soak/target"
)

// up brings a small lab up and takes it down at the end of the test.
func up(t *testing.T, s lab.Spec) *lab.Lab {
	t.Helper()
	lab.Require(t)
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if s.Name == "" {
		s.Name = "zk"
	}
	s.RunID = "test-" + randomID(t)
	if s.Settings == nil {
		s.Settings = map[string]string{"preAllocSize": "1024"}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	t0 := time.Now()
	l, err := lab.Up(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("up after %v %v", time.Since(t0), l.Notes())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		t0 := time.Now()
		c := l.Cluster()
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
		t.Logf("down after %v", time.Since(t0))
		nothingLeft(t, c)
	})
	return l
}

func nothingLeft(t *testing.T, c target.Cluster) {
	t.Helper()
	for _, n := range c.Nodes {
		if n.Proc.Alive() {
			t.Errorf("%s, process %d, is still alive", n.ID, n.Proc.Pid)
		}
		if n.Cgroup != "" && exists(n.Cgroup) {
			t.Errorf("cgroup %s is still there", n.Cgroup)
		}
		if exists(n.Start.Owner) {
			t.Errorf("socket %s is still there", n.Start.Owner)
		}
	}
}

func connect(t *testing.T, c target.Cluster) *zk.Conn {
	t.Helper()
	var addrs []string
	for _, n := range c.Nodes {
		addrs = append(addrs, n.Addrs...)
	}
	conn, err := zk.Connect(zk.Options{Servers: addrs, OpTimeout: 20 * time.Second, Buffer: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(5 * time.Second) }) // the lab goes down anyway
	return conn
}

func mustWrite(t *testing.T, c target.Cluster, path, data string) {
	t.Helper()
	if _, err := connect(t, c).Create(t.Context(), path, []byte(data), 0); err != nil {
		t.Fatal(err)
	}
}

// mustRead reads what the whole ensemble agrees on.
func mustRead(t *testing.T, c target.Cluster, path, want string) {
	t.Helper()
	conn := connect(t, c)
	for err := conn.Sync(t.Context(), path); err != nil; err = conn.Sync(t.Context(), path) {
		if !errors.Is(err, zk.ErrConnection) { // a server that has just been started may not listen yet
			t.Fatal(err)
		}
	}
	if got, _, err := conn.Get(t.Context(), path); err != nil || string(got) != want {
		t.Fatalf("%s holds %q, %v; want %q", path, got, err, want)
	}
}

// role asks the nodes until one has the role.
func role(t *testing.T, c target.Cluster, want string) target.Node {
	t.Helper()
	for _, n := range c.Nodes {
		if st, err := zk.Status(t.Context(), n.Addrs[0]); err == nil && st.Mode == want {
			return n
		}
	}
	t.Fatalf("no %s", want)
	return target.Node{}
}

// The life of an ensemble: a server is killed and started again, all are stopped and started, nothing is lost and no
// address changes.
func TestEnsemble(t *testing.T) {
	l := up(t, lab.Spec{Nodes: 3})
	c := l.Cluster()
	for _, n := range c.Nodes {
		if n.Cgroup == "" {
			continue // Notes says why
		}
		in, err := os.ReadFile("/proc/" + strconv.Itoa(n.Proc.Pid) + "/cgroup")
		if err != nil || !strings.Contains(string(in), "/"+filepath.Base(filepath.Dir(n.Cgroup))+"/"+n.ID) {
			t.Errorf("%s is in cgroups %s %v, want %s", n.ID, in, err, n.Cgroup)
		}
	}
	if len(l.Notes()) == 0 && c.Nodes[0].Cgroup == "" {
		t.Error("no cgroup, and no note says why")
	}
	mustWrite(t, c, "/a", "1")

	victim := role(t, c, "follower")
	if err := syscall.Kill(victim.Proc.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for victim.Proc.Alive() {
		time.Sleep(5 * time.Millisecond)
	}
	mustWrite(t, c, "/b", "2")
	if err := l.Start(t.Context(), victim.ID); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context(), victim.ID); err != nil { // does nothing
		t.Fatal(err)
	}
	if err := l.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(victim.GCLog), "gc.1.log")); err != nil {
		t.Error("the GC log of the first life is gone: ", err)
	}

	if err := l.StopAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range l.Cluster().Nodes {
		if n.Proc.Alive() {
			t.Errorf("%s is alive after StopAll", n.ID)
		}
		if e, ok := l.Exit(n.ID); !ok || !e.Asked || e.Last == "" {
			t.Errorf("%s: exit is %+v, %v", n.ID, e, ok)
		}
	}
	if err := l.StartAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := l.Cluster()
	for i, n := range now.Nodes {
		if n.Addrs[0] != c.Nodes[i].Addrs[0] || n.Proc == c.Nodes[i].Proc || !n.Proc.Alive() {
			t.Errorf("after restart: %+v, before %+v", n, c.Nodes[i])
		}
	}
	mustRead(t, now, "/a", "1")
	mustRead(t, now, "/b", "2")
}

// Logs apart from snapshots, all of it on another disk, below a path that is neither short nor ASCII.
func TestSplit(t *testing.T) {
	root := filepath.Join(t.TempDir(), "räum e")
	dir := filepath.Join(t.TempDir(), strings.Repeat("lang und längst ", 8))
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	l := up(t, lab.Spec{Nodes: 1, Split: true, DataRoot: root, Dir: dir, Settings: map[string]string{"admin.enableServer": "true", "jute.maxbuffer": "2000000"}})
	c := l.Cluster()
	n := c.Nodes[0]
	mustWrite(t, c, "/a", strings.Repeat("x", 1<<20+1<<19)) // more than jute.maxbuffer's default lets in
	for dir, want := range map[string]string{n.DataDirs[0]: "snapshot.", n.LogDirs[0]: "log."} {
		if !strings.HasPrefix(dir, root+"/") {
			t.Errorf("%s is not below %s", dir, root)
		}
		fs, err := os.ReadDir(filepath.Join(dir, "version-2"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fs {
			if !strings.HasPrefix(f.Name(), want) {
				t.Errorf("%s holds %s", dir, f.Name())
			}
		}
		if len(fs) == 0 {
			t.Errorf("%s is empty", dir)
		}
	}
	for _, f := range []string{n.Log, n.GCLog} {
		if fi, err := os.Stat(f); err != nil || fi.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	conf, err := zk.Word(t.Context(), n.Addrs[0], "conf")
	if err != nil || !strings.Contains(conf, n.LogDirs[0]) {
		t.Errorf("conf says %s %v", conf, err)
	}
	if err := l.RemoveData(); err == nil {
		t.Error("data was removed below a running server")
	}
	if len(n.Start.Owner) > 107 || strings.HasPrefix(n.Start.Owner, dir) {
		t.Errorf("socket path is %s", n.Start.Owner)
	}
	if a, err := target.Ask(t.Context(), n.Start.Owner, target.Request{Op: "status"}); err != nil || a.Cluster.Nodes[0].Proc != n.Proc {
		t.Errorf("owner says %+v, %v", a, err)
	}
	if err := l.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.RemoveData(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left on the other disk: %v %v", left, err)
	}
}

// A server that does not come up is told with the end of its log, and nothing stays.
func TestUpFails(t *testing.T) {
	lab.Require(t)
	dir := t.TempDir()
	_, err := lab.Up(t.Context(), lab.Spec{Nodes: 3, Dir: dir, RunID: "test-" + randomID(t), Settings: map[string]string{"serverCnxnFactory": "no.such.Factory"}})
	var e *lab.Error
	if !errors.As(err, &e) || !errors.Is(err, lab.ErrUnavailable) {
		t.Fatalf("error is %v", err)
	}
	if !strings.Contains(err.Error(), "no.such.Factory") || !strings.Contains(err.Error(), "exited with code 1") || !exists(e.Path) {
		t.Errorf("error is %v", err)
	}
	if exists(filepath.Join(dir, "owner.sock")) {
		t.Error("socket is left")
	}
}

// An interrupted start ends what it has started, and says that it was interrupted.
func TestUpInterrupted(t *testing.T) {
	lab.Require(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, context.Canceled)
	defer cancel()
	_, err := lab.Up(ctx, lab.Spec{Nodes: 3, Dir: t.TempDir(), RunID: "test-" + randomID(t)})
	if !errors.Is(err, context.Canceled) || errors.Is(err, lab.ErrUnavailable) {
		t.Errorf("error is %v", err)
	}
}

// A second lab in the same directory is refused while the first runs; afterwards it goes on with its data.
func TestSameDirectory(t *testing.T) {
	dir := t.TempDir()
	l := up(t, lab.Spec{Nodes: 1, Dir: dir})
	mustWrite(t, l.Cluster(), "/a", "1")
	if _, err := lab.Up(t.Context(), lab.Spec{Nodes: 1, Dir: dir}); !errors.Is(err, lab.ErrUnavailable) {
		t.Errorf("a second lab in one directory: %v", err)
	}
	if err := l.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context(), "n1"); err == nil {
		t.Error("a server was started after Down")
	}
	if _, err := lab.Up(t.Context(), lab.Spec{Nodes: 3, Dir: dir}); err == nil || !strings.Contains(err.Error(), "1 zookeeper node") {
		t.Errorf("three nodes on the data of one: %v", err)
	}
	mustRead(t, up(t, lab.Spec{Nodes: 1, Dir: dir}).Cluster(), "/a", "1")
}
