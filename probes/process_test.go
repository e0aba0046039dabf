package probes

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

func TestProcessFollowsAServerThroughItsLives(t *testing.T) {
	t.Parallel()
	start := func() (*exec.Cmd, target.ProcRef) {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Skipf("start sleep: %v", err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it may have ended already
		ref, err := target.Resolve(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return cmd, ref
	}
	first, ref := start()
	node := target.Node{ID: "n1", Proc: ref}
	env := Env{Clock: record.NewClock(), Lookup: map[string]target.Lookup{"zk": func(context.Context) (target.Cluster, error) {
		return target.Cluster{System: "zookeeper", Nodes: []target.Node{node}}, nil
	}}}
	made, err := New(Spec{Kind: "process"}, env)
	if err != nil {
		t.Fatal(err)
	}
	p := made.(*process)
	sample := func() map[string]float64 {
		t.Helper()
		for _, s := range p.nodes.all {
			s.at -= 2e9 // as if two seconds had passed
		}
		rs, err := p.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return valuesOf(rs)
	}
	vs := sample()
	if vs["n1/process.up"] != 1 || vs["n1/process.threads"] != 1 || vs["n1/process.fds"] < 1 {
		t.Errorf("alive: %v", vs)
	}
	if vs["self.rss"] <= 0 || vs["self.threads"] < 1 {
		t.Errorf("self: %v", vs)
	}
	if vs = sample(); vs["self.cpu"] < 0 {
		t.Errorf("self: %v", vs)
	}
	if _, ok := vs["n1/process.cpu"]; !ok {
		t.Errorf("no processor share at the second sample: %v", vs)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed
	if vs = sample(); vs["n1/process.up"] != 0 || vs["n1/process.threads"] != 0 {
		t.Errorf("killed: %v", vs)
	}
	_, node.Proc = start()
	if vs = sample(); vs["n1/process.up"] != 1 || vs["n1/process.threads"] != 1 {
		t.Errorf("started again: %v", vs)
	}
	node.Proc.Ticks++ // the pid belongs to another process now
	p.nodes.all[0].tried = false
	if vs = sample(); vs["n1/process.up"] != 0 {
		t.Errorf("another process of that pid: %v", vs)
	}
}

func TestProcessThatIsNotKnown(t *testing.T) {
	t.Parallel()
	env := Env{Clock: record.NewClock(), Lookup: oneNode(target.Node{ID: "n1"})}
	p, err := New(Spec{Kind: "process"}, env)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := p.Sample(t.Context())
	if gs := gaps(err); len(gs) != 1 || gs[0].Node != "n1" || !errors.Is(gs[0], ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if valuesOf(rs)["self.rss"] <= 0 {
		t.Error("nightshift itself is not seen")
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	u, err := parseStat([]byte("7 (a) (b c) T 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 33 0 123456 9000000 2000 18446744073709551615 0 0"))
	if err != nil || u.state != 'T' || u.cpu.Seconds() != 3 || u.threads != 33 || u.ticks != 123456 || u.rss != 2000*int64(os.Getpagesize()) {
		t.Errorf("%+v, %v", u, err)
	}
	for _, bad := range []string{"", "7 (x", "7 (x) S 1", "7 (x) S 1 7 7 0 -1 0 0 0 0 0 x 50 0 0 20 0 33 0 1 9 2"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestParseIO(t *testing.T) {
	t.Parallel()
	r, w := parseIO([]byte("rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n"))
	if r != 4096 || w != 8192 {
		t.Errorf("%d %d", r, w)
	}
}

func BenchmarkProcessSample(b *testing.B) {
	p, err := New(Spec{Kind: "process"}, Env{Clock: record.NewClock()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Sample(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSelfWithoutChildren: what a child of ours wrote is not ours, also after it was waited for.
func TestSelfWithoutChildren(t *testing.T) {
	env := Env{}
	pid := strconv.Itoa(os.Getpid())
	_, before := threadIO(env, pid)
	if before < 0 {
		t.Skip("this kernel does not count the input and output of threads")
	}
	out := filepath.Join(t.TempDir(), "big")
	if b, err := exec.Command("dd", "if=/dev/zero", "of="+out, "bs=1M", "count=64").CombinedOutput(); err != nil {
		t.Fatalf("dd: %v %s", err, b)
	}
	if _, after := threadIO(env, pid); after-before > 32<<20 {
		t.Errorf("%d bytes are booked on us, a child wrote them", after-before)
	}
}
