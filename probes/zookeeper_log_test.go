package probes

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

// oneNode is a Lookup that knows one node.
func oneNode(n target.Node) map[string]target.Lookup {
	n.System = "zookeeper"
	return map[string]target.Lookup{"zk": func(context.Context) (target.Cluster, error) {
		return target.Cluster{Name: "zk", System: "zookeeper", Nodes: []target.Node{n}}, nil
	}}
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func TestServerLogSaysWhatTookTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	clock := record.NewClock()
	// The wall clock of the host: ten seconds after the begin of the log.
	wall := time.Date(2026, 11, 30, 21, 0, 10, 0, time.UTC)
	env := Env{Clock: clock, Lookup: oneNode(target.Node{ID: "n1", Log: path}), Wall: func() time.Time { return wall.Add(clock.Now()) }}
	p, err := New(Spec{Kind: "zookeeper/log"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if rs, err := p.Sample(t.Context()); err != nil || len(rs) != 0 {
		t.Fatalf("before the server starts: %v, %v", rs, err)
	}
	put(t, path, strings.Join(lines(t, "server.log"), "\n"), os.O_APPEND)
	rs, err := p.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := all[record.Evidence](rs)
	expect := []struct {
		class    string
		end      time.Duration // after 21:00:00
		took     time.Duration
		contains string
	}{
		{record.ClassElection, 1347 * time.Millisecond, 300 * time.Millisecond, "follower"},
		{record.ClassElection, 2359 * time.Millisecond, 308 * time.Millisecond, "leader"},
		{record.ClassSnapshot, 3806 * time.Millisecond, 5 * time.Millisecond, "snapshot.100000599"},
		{record.ClassFsync, 4828 * time.Millisecond, 1234 * time.Millisecond, "SyncThread:1"},
		{record.ClassFsync, 5017 * time.Millisecond, 6 * time.Millisecond, "SyncThread:3"},
	}
	if len(got) != len(expect) {
		t.Fatalf("%d pieces of evidence: %v", len(got), got)
	}
	for i, e := range expect {
		g := got[i]
		if g.Class != e.class || g.Node != "n1" || g.Source != "n1/server-log" || !strings.Contains(g.Text, e.contains) {
			t.Errorf("%d: %+v", i, g)
		}
		if off := (g.To - e.end + 10*time.Second).Abs(); off > time.Millisecond || g.To-g.At != e.took || g.Magnitude != e.took.Seconds() {
			t.Errorf("%d: from %v to %v, want %v before %v", i, g.At, g.To, e.took, e.end-10*time.Second)
		}
		if g.Uncertainty != stampUncertainty {
			t.Errorf("%d: uncertainty %v", i, g.Uncertainty)
		}
	}
}

func TestServerLogSurvivesASetWallClock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	clock := record.NewClock()
	wall := time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)
	env := Env{Clock: clock, Lookup: oneNode(target.Node{ID: "n1", Log: path}), Wall: func() time.Time { return wall.Add(clock.Now()) }}
	p, err := New(Spec{Kind: "zookeeper/log"}, env)
	if err != nil {
		t.Fatal(err)
	}
	line := func() record.Evidence {
		t.Helper()
		stamp := env.Wall().Format("2006-01-02T15:04:05.000Z")
		put(t, path, stamp+" INFO [x] y - Snapshot taken in 5 ms\n", os.O_APPEND)
		rs, err := p.Sample(t.Context())
		if err != nil || len(rs) != 1 {
			t.Fatalf("%v, %v", rs, err)
		}
		return rs[0].(record.Evidence)
	}
	if _, err := p.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	line()
	wall = wall.Add(-time.Hour) // someone sets the clock back
	e := line()
	if d := (clock.Now() - e.To).Abs(); d > e.Uncertainty {
		t.Errorf("off by %v, uncertainty %v", d, e.Uncertainty)
	}
	if e.Uncertainty < time.Hour {
		t.Errorf("uncertainty %v around the moment the clock was set", e.Uncertainty)
	}
	e = line()
	if d := (clock.Now() - e.To).Abs(); e.Uncertainty != stampUncertainty || d > time.Minute {
		t.Errorf("afterwards: off by %v ± %v", d, e.Uncertainty)
	}
}

func TestServerLogOfANodeElsewhere(t *testing.T) {
	t.Parallel()
	for _, n := range []target.Node{{ID: "n1", Host: "elsewhere.example", Log: "/x"}, {ID: "n1"}} {
		env := Env{Clock: record.NewClock(), Lookup: oneNode(n)}
		p, err := New(Spec{Kind: "zookeeper/log", Target: "zk"}, env)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Sample(t.Context())
		gs := gaps(err)
		if len(gs) != 1 || gs[0].Node != "n1" || !strings.Contains(gs[0].Error(), "not available") {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

func FuzzServerLine(f *testing.F) {
	b, err := os.ReadFile("testdata/server.log")
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range strings.Split(string(b), "\n") {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, line string) {
		l, ok := parseServerLine(line)
		if ok && (l.took < 0 || l.took > maxTook || l.class == "" || l.end.IsZero() || l.end.Year() < -1 || l.end.Year() > 10000) {
			t.Errorf("%q: %+v", line, l)
		}
		snapshotBegins(line)
	})
}
