package zookeeper

import (
	"strings"
	"testing"
	"time"

	"nightshift/soak/config"
	"nightshift/soak/target"
)

func parse(t *testing.T, src string) config.Node {
	t.Helper()
	n, ps := config.Parse([]byte(src))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func planEnv() Env {
	return Env{RunID: "r1", Cluster: target.Cluster{Name: "zk", Nodes: []target.Node{{Addrs: []string{"h1:2181"}}, {Addrs: []string{"h2:2181"}}}}}
}

func TestEveryKindWorksWithItsDefaults(t *testing.T) {
	for _, k := range Kinds() {
		wl, ps := New(k.Kind, parse(t, "{kind: "+k.Kind+", target: zk}"), planEnv())
		if len(ps) > 0 {
			t.Errorf("%s: %v", k.Kind, ps)
			continue
		}
		if want := strings.ReplaceAll(k.Kind, "/", "."); wl.Name() != want {
			t.Errorf("%s is named %q, want %q", k.Kind, wl.Name(), want)
		}
		if r := Require(wl); r.Connections == 0 || r.Nodes == 0 || r.Rate == 0 || r.Closed {
			t.Errorf("%s requires %+v", k.Kind, r)
		}
		if err := wl.Close(); err != nil {
			t.Errorf("%s: close before setup: %v", k.Kind, err)
		}
		known := map[string]bool{}
		for _, p := range k.Params {
			if p.Help == "" || known[p.Name] {
				t.Errorf("%s: parameter %+v has no help or stands twice", k.Kind, p)
			}
			known[p.Name] = true
		}
		for _, name := range []string{"target", "name", "paths", "size", "rate", "timeout", "session", "count", "max_late"} {
			if !known[name] {
				t.Errorf("%s does not list %s", k.Kind, name)
			}
		}
	}
}

func TestEveryMistakeIsToldWithItsPlace(t *testing.T) {
	for _, c := range []struct{ plan, want string }{
		{"kind: zookeeper/ephemeral\nsize: 31", "2:7: size: must be at least 32 bytes"},
		{"kind: zookeeper/ephemeral\nsize: 2MiB", "2:7: size: must be at most"},
		{"kind: zookeeper/ephemeral\nname: a/b", "2:7: name: \"a/b\" can't be a directory"},
		{"kind: zookeeper/ephemeral\npaths: 0", "2:8: paths: must be from 1"},
		{"kind: zookeeper/ephemeral\nconnections: 0", "2:14: connections: must be from 1"},
		{"kind: zookeeper/ephemeral\nconections: 5", "2:1: conections: unknown key"},
		{"kind: zookeeper/ephemeral\nrate: 5", "2:7: rate: \"5\" is not a rate"},
		{"kind: zookeeper/setdata\ntimeout: 0s", "2:10: timeout: must be at least 1ms"},
		{"kind: zookeeper/setdata\nsession: 10ms", "2:10: session: must be at least 1s"},
		{"kind: zookeeper/setdata\nmax_late: -1s", "2:11: max_late: must not be negative"},
		{"kind: zookeeper/setdata\ncount: -1", "2:8: count:"},
		{"kind: zookeeper/pubsub\npublishers: -3", "2:13: publishers: must be from 1"},
		{"kind: zookeeper/pubsub\nconnections: 3", "2:1: connections: unknown key"},
		{"kind: zookeeper/pubsub\nevent_timeout: -1s", "2:16: event_timeout: must not be negative"},
		{"kind: zookeeper/nothing", "1:7: kind: unknown workload \"zookeeper/nothing\""},
	} {
		n := parse(t, c.plan)
		var kind string
		n.Field("kind").Decode(&kind)
		_, ps := New(kind, n, planEnv())
		if len(ps) != 1 || !strings.HasPrefix(ps[0].String(), c.want) {
			t.Errorf("%q: got %v, want %s", c.plan, ps, c.want)
		}
	}
	_, ps := New(KindPubSub, parse(t, "{size: 1, paths: 0, publishers: 0, timeout: 0s}"), planEnv())
	if len(ps) != 4 {
		t.Errorf("four mistakes at once, told are: %v", ps)
	}
}

func TestTargetsThatCanNotBeUsed(t *testing.T) {
	for name, edit := range map[string]func(*Env){
		"no addresses":           func(e *Env) { e.Cluster.Nodes = nil },
		"prefix without a slash": func(e *Env) { e.Cluster.Prefix = "abc" },
		"ZooKeeper's own prefix": func(e *Env) { e.Cluster.Prefix = "/zookeeper/x" },
		"prefix with dots":       func(e *Env) { e.Cluster.Prefix = "/a/../b" },
		"run id that is a path":  func(e *Env) { e.RunID = "a/b" },
		"no run id":              func(e *Env) { e.RunID = "" },
	} {
		e := planEnv()
		edit(&e)
		if _, ps := New(KindSetData, parse(t, "{kind: zookeeper/setdata}"), e); len(ps) == 0 {
			t.Errorf("%s: no problem was told", name)
		}
	}
}

func TestRequirements(t *testing.T) {
	wl, _ := New(KindPubSub, parse(t, "{publishers: 1000, paths: 200, size: 1000, rate: 2000/s}"), planEnv())
	r := Require(wl)
	if r.Connections != 4000 || r.Nodes != 1000*201 || r.Rate < 1_000_000 || r.Rate > 1_500_000 {
		t.Errorf("%+v", r)
	}
	wl, _ = New(KindSetData, parse(t, "{connections: 7, rate: max}"), planEnv())
	if r := Require(wl); r.Connections != 7 || !r.Closed || r.Rate != 0 {
		t.Errorf("%+v", r)
	}
}

// The request that sets all watches of a session again must fit into its buffer.
func TestWatchBuffer(t *testing.T) {
	for paths, large := range map[string]bool{"5": false, "2000": true} {
		wl, _ := New(KindPubSub, parse(t, "{paths: "+paths+"}"), planEnv())
		if got := wl.(*pubSub).watchBuffer() >= 132<<10; got != large {
			t.Errorf("%s paths: large buffer %v, want %v", paths, got, large)
		}
	}
}

func TestDefaultsOfTimes(t *testing.T) {
	wl, _ := New(KindPubSub, parse(t, "{timeout: 2s, session: 7s}"), planEnv())
	if p := wl.(*pubSub); p.overdue != 9*time.Second || p.spec.maxLate != 4*time.Second {
		t.Errorf("event timeout %v, max_late %v", p.overdue, p.spec.maxLate)
	}
}
