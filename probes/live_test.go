package probes_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/probes"
	zk "nightshift/soak/client/zookeeper"
	"nightshift/soak/lab"
	"nightshift/soak/record"
	"nightshift/soak/target"

	"golang.org/x/sys/unix"
)

// tally keeps what the lanes said, by a short word each.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	texts  []string
	bad    []string
	clock  record.Clock
}

func (r *tally) emit(e record.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case record.Series:
		r.counts[strings.TrimSpace(e.Name+" "+e.Node)]++
	case record.File:
		r.counts["file "+e.Type+" "+e.Change]++
	case record.Evidence:
		r.counts["evidence "+e.Class]++
		if now := r.clock.Now(); e.To > now+e.Uncertainty || e.At > e.To {
			r.bad = append(r.bad, fmt.Sprintf("at %v: %+v", now, e))
		}
	case record.Note:
		r.texts = append(r.texts, e.Text)
		if e.Code != "" {
			r.bad = append(r.bad, e.Code+": "+e.Text)
		}
	}
}

// lacks says what has not been heard yet.
func (r *tally) lacks(words ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var missing []string
	for _, w := range words {
		if r.counts[w] == 0 {
			missing = append(missing, w)
		}
	}
	return missing
}

func (r *tally) anchors() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, text := range r.texts {
		if strings.Contains(text, "uptime zero of process") && strings.Contains(text, "createVmBeginTime") {
			n++
		}
	}
	return n
}

func TestProbesOfARealServer(t *testing.T) {
	lab.Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	l, err := lab.Up(ctx, lab.Spec{
		Nodes: 1, Dir: dir, Name: "zk", RunID: "probes",
		Settings: map[string]string{"snapCount": "50", "preAllocSize": "64", "fsync.warningthresholdms": "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		down, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := l.Down(down); err != nil {
			t.Error(err)
		}
	})

	clock := record.NewClock()
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		t.Fatal(err)
	}
	env := probes.Env{
		Clock: clock, Run: record.Run{BootBase: boot.Nano()}, RunDir: dir,
		Lookup: map[string]target.Lookup{"zk": func(context.Context) (target.Cluster, error) { return l.Cluster(), nil }},
	}
	heard := &tally{counts: map[string]int{}, clock: clock}
	lanes, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for _, s := range probes.Default() {
		s.Every, s.Optional = 200*time.Millisecond, false
		if s.Kind == "jvm/gc" {
			s.Params = []byte(`{"min": 0}`) // every safepoint: one comes each second or so
		}
		p, err := probes.New(s, env)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := probes.NewLane(p, s, clock).Run(lanes, heard.emit); err != nil {
				t.Error(err)
			}
		})
	}

	conn, err := zk.Connect(zk.Options{Servers: l.Cluster().Nodes[0].Addrs})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	until := func(done func() bool) {
		t.Helper()
		for !done() {
			if _, err := conn.Create(ctx, fmt.Sprintf("/n%d", n), []byte("x"), 0); err != nil && ctx.Err() != nil {
				t.Fatalf("%v; not heard: %v; notes: %q", err, heard.lacks(everything()...), heard.texts)
			}
			n++
		}
	}
	until(func() bool { return len(heard.lacks(everything()...)) == 0 && heard.anchors() == 1 })

	if err := l.Stop(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	until(func() bool { return heard.anchors() == 2 })
	_ = conn.Close(5 * time.Second) // the server goes down next: a session that is left does not matter
	stop()
	wg.Wait()
	for _, b := range heard.bad {
		t.Error(b)
	}
	for _, text := range heard.texts {
		t.Log(text)
	}
}

// everything is one word of each thing that a probe says of a healthy server.
func everything() []string {
	return []string{
		"zookeeper.files.log.allocated n1", "zookeeper.files.snapshot.zxid n1", "file log created", "file snapshot created",
		"filesystem.free n1", "host.cpu", "host.memory.available", "process.up n1", "process.cpu n1", "process.written n1", "self.rss",
		"self.cpu", "zookeeper.znodes n1", "zookeeper.fsync.count n1", "evidence fsync", "evidence snapshot", "evidence gc",
		"self.sched.p99",
	}
}
