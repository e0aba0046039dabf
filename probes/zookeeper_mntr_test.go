package probes

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

func mntrProbe(t *testing.T, word func(addr string) (string, error), nodes ...target.Node) *mntr {
	t.Helper()
	lookup := map[string]target.Lookup{"zk": func(context.Context) (target.Cluster, error) {
		return target.Cluster{Name: "zk", System: "zookeeper", Nodes: nodes}, nil
	}}
	p, err := New(Spec{Kind: "zookeeper/mntr", Target: "zk"}, Env{Clock: record.NewClock(), Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	p.(*mntr).word = func(_ context.Context, addr, w string) (string, error) {
		if w != "mntr" {
			t.Errorf("asked %q", w)
		}
		return word(addr)
	}
	return p.(*mntr)
}

func TestMntrTakesSelectedFigures(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/mntr-leader.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	node := target.Node{ID: "n3", Addrs: []string{"127.0.0.1:1"}, Role: target.Leader, DataDirs: []string{"/d"}}
	p := mntrProbe(t, func(string) (string, error) { return text, nil }, node)
	rs, err := p.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vs := valuesOf(rs)
	for name, want := range map[string]float64{
		"znodes": 1505, "fsync.count": 1510, "fsync.sum": 304, "fsync.max": 25, "outstanding": 0, "connections": 1,
		"synced_followers": 2, "fds": 61, "watches": 0, "latency.avg": 0, "snapshot.sum": 48, "data": 1544072,
	} {
		if got, ok := vs["n3/zookeeper."+name]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", name, got, ok, want)
		}
	}
	if ns := all[record.Node](rs); len(ns) != 0 {
		t.Errorf("a role that is known already: %v", ns)
	}
	text = strings.Replace(text, "zk_server_state\tleader", "zk_server_state\tfollower", 1)
	for range 2 {
		if rs, err = p.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
		ns := all[record.Node](rs)
		if text != "" && len(ns) == 1 {
			if n := ns[0]; n.Role != "follower" || !n.Up || n.Version != "3.9.5" || n.Target != "zk" || n.ID != "n3" || n.DataDir != "/d" {
				t.Errorf("%+v", n)
			}
			text += "\n"
			continue
		}
		if !strings.HasSuffix(text, "\n\n") || len(ns) != 0 {
			t.Errorf("said %d times: %v", len(ns), ns)
		}
	}
}

func TestMntrSaysWhoGaveNothing(t *testing.T) {
	t.Parallel()
	nodes := []target.Node{
		{ID: "ok", Addrs: []string{"ok"}}, {ID: "closed", Addrs: []string{"closed"}}, {ID: "down", Addrs: []string{"down"}},
		{ID: "alone", Addrs: []string{"alone"}}, {ID: "unknown"},
	}
	p := mntrProbe(t, func(addr string) (string, error) {
		switch addr {
		case "closed":
			return "", zookeeper.ErrNotWhitelisted
		case "down":
			return "", errors.New("connection refused")
		case "alone":
			return "This ZooKeeper instance is not currently serving requests\n", nil
		}
		return "zk_znode_count\t7\nzk_watch_count\tnonsense\nrubbish\n", nil
	}, nodes...)
	rs, err := p.Sample(t.Context())
	if vs := valuesOf(rs); len(vs) != 1 || vs["ok/zookeeper.znodes"] != 7 {
		t.Errorf("%v", vs)
	}
	said := map[string]error{}
	for _, g := range gaps(err) {
		said[g.Node] = g.Err
	}
	if len(said) != 4 || !errors.Is(said["closed"], ErrUnavailable) || !strings.Contains(said["closed"].Error(), "4lw.commands.whitelist") ||
		errors.Is(said["down"], ErrUnavailable) || !strings.Contains(said["alone"].Error(), "not currently serving") ||
		!errors.Is(said["unknown"], ErrUnavailable) {
		t.Errorf("%v", said)
	}
}

func FuzzMntr(f *testing.F) {
	f.Add("zk_znode_count\t7\n")
	f.Fuzz(func(_ *testing.T, text string) {
		vs := parseMntr(text)
		vs.series("n", record.Stamp{})
		(&mntr{role: map[string]string{}}).roleOf(member{Node: target.Node{Addrs: []string{"a"}}}, vs, record.Stamp{})
	})
}

// TestPidOfAReplacedServer: the pid of a process that has ended is not told as that of the server that came after it.
func TestPidOfAReplacedServer(t *testing.T) {
	self, err := target.Resolve(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	gone := self
	gone.Ticks++ // the pid belongs to another process now
	if got := pidOf(target.Node{Proc: self}); got != self.Pid {
		t.Errorf("pid of a live process: %d", got)
	}
	if got := pidOf(target.Node{Proc: gone}); got != 0 {
		t.Errorf("pid of a process that is gone: %d", got)
	}
}
