package night

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/soak/lab/zkstub"
	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

const shortNight = `
nightshift: 1
seed: 5
for: 5m
warmup: 20s
params: {every: 1m, mix: "[{kind: kill, nodes: leader, hold: 5s}, {kind: pause, nodes: follower, hold: 3s}]"}
targets:
  zk: {system: zookeeper, lab: {nodes: 3}}
workloads:
  - {kind: zookeeper/ephemeral, target: zk, connections: 2, paths: 2, size: 64, rate: 10/s}
  - {kind: zookeeper/setdata, target: zk, connections: 2, paths: 2, size: 64, rate: 10/s}
  - {kind: zookeeper/pubsub, target: zk, publishers: 1, paths: 4, size: 64, rate: 2/s}
faults:
  schedule: {first: 30s, every: "${every}", jitter: 10%}
  mix: ${mix}
probes:
  - {kind: zookeeper/files, every: 5s}
janitor:
  - {target: zk, keep: 3, every: 30s}
`

// planted runs a short night with something planted in it, and returns the verdict's report.
func planted(t *testing.T, plant func(*stubWard), plan string, set ...string) (rep judged) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newStubWard(t, zkstub.Options{Nodes: 3, Dir: filepath.Join(dir, "zk"), SnapCount: 200, Seed: 1})
		if plant != nil {
			plant(w)
		}
		rep = stubRun(t, w, plan, set...)
	})
	return rep
}

func wantVerdict(t *testing.T, rep judged, want verdict.Outcome, code string) {
	t.Helper()
	if rep.Verdict.Verdict != want {
		show(t, rep)
		t.Fatalf("the verdict is %q, want %q", rep.Verdict.Verdict, want)
	}
	if code == "" {
		return
	}
	for _, r := range rep.Verdict.Reasons {
		if strings.Contains(r.Code, code) || strings.Contains(r.Text, code) {
			return
		}
	}
	t.Fatalf("no reason speaks of %q: %+v", code, rep.Verdict.Reasons)
}

// TestNothingPlanted is the control of all tests below: without a defect the same night passes.
func TestNothingPlanted(t *testing.T) {
	wantVerdict(t, planted(t, nil, shortNight), verdict.Pass, "")
}

func TestPlantedDefects(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(*stubWard)
		want  verdict.Outcome
		code  string
	}{
		{"an acknowledged write is lost", func(w *stubWard) { after3m(w, func() { w.e.LoseAcknowledged(7) }) }, verdict.Fail, "write-lost"},
		{"a notification is dropped", func(w *stubWard) { after3m(w, func() { w.e.DropNotification(3) }) }, verdict.Fail, "watch-missed"},
		{"a node is left over", func(w *stubWard) { w.e.KeepEphemeral("zookeeper.pubsub") }, verdict.Fail, "left-over"},
		{"a fault does not bite", func(w *stubWard) { w.deadPid = 3 }, verdict.Inconclusive, "bite"},
		{"a fault does not heal", func(w *stubWard) { w.noHeal = true }, verdict.Fail, "heal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantVerdict(t, planted(t, c.plant, shortNight), c.want, c.code)
		})
	}
}

// after3m plants something in the middle of the load.
func after3m(w *stubWard, plant func()) {
	w.later = func(ctx context.Context) {
		if record.Wait(ctx, 3*time.Minute) {
			plant()
		}
	}
}

// TestPlantedDeadLane lets a lane die in the middle of the load.
func TestPlantedDeadLane(t *testing.T) {
	rep := planted(t, func(w *stubWard) { w.lane = dying{} }, shortNight)
	wantVerdict(t, rep, verdict.Inconclusive, "lane")
}

type dying struct{}

func (dying) Name() string { return "dying" }

func (dying) Run(ctx context.Context, _ record.Emit) error {
	record.Wait(ctx, time.Minute)
	return errors.New("planted")
}

// TestPlantedDeadServer: a server that dies at the end of the load is not hidden by the restart that follows.
func TestPlantedDeadServer(t *testing.T) {
	rep := planted(t, func(w *stubWard) {
		w.later = func(ctx context.Context) {
			if record.Wait(ctx, 290*time.Second) {
				_ = w.e.Stop(2) // that it is down shows below
			}
		}
	}, shortNight)
	wantVerdict(t, rep, verdict.Fail, "n2 (")
}

// TestPlantedOutage: the whole ensemble is away for a while and comes back by itself, with nothing lost.
func TestPlantedOutage(t *testing.T) {
	const calm = "mix=[{kind: pause, nodes: follower, hold: 3s, optional: true}]"
	outage := func(long time.Duration) func(*stubWard) {
		return func(w *stubWard) {
			w.later = func(ctx context.Context) {
				if !record.Wait(ctx, 2*time.Minute) {
					return
				}
				for id := 1; id <= 3; id++ {
					_ = w.e.Stop(id) // what it does not do shows below
				}
				record.Wait(ctx, long)
				for id := 1; id <= 3; id++ {
					_ = w.e.Start(id)
				}
			}
		}
	}
	wantVerdict(t, planted(t, outage(10*time.Second), shortNight, calm), verdict.Pass, "")
	wantVerdict(t, planted(t, outage(90*time.Second), shortNight, calm), verdict.Inconclusive, "load-gap")
}

// TestPlantedSlowAnswer: servers that need a while to serve again after the restart did not fail it.
func TestPlantedSlowAnswer(t *testing.T) {
	rep := planted(t, func(w *stubWard) { w.slow = true }, shortNight)
	wantVerdict(t, rep, verdict.Pass, "")
}

// TestPurgedNothing: a janitor that never had anything to do has proven nothing.
func TestPurgedNothing(t *testing.T) {
	rep := planted(t, nil, shortNight, "janitor[0].keep=1000")
	wantVerdict(t, rep, verdict.Inconclusive, "purge")
	rep = planted(t, nil, shortNight, "janitor[0].keep=1000", "janitor[0].optional=true")
	wantVerdict(t, rep, verdict.Pass, "")
}

func TestBrokenExpectation(t *testing.T) {
	plan := shortNight + "expect:\n  - {name: impossible, expr: 'zookeeper.setdata.tps > 1000'}\n"
	wantVerdict(t, planted(t, nil, plan), verdict.Fail, "impossible")
}

func TestWithoutConsent(t *testing.T) {
	plan := strings.Replace(shortNight, "lab: {nodes: 3}", "servers: ['n1:2181', 'n2:2181', 'n3:2181'], allow: [load]", 1)
	rep := planted(t, nil, plan)
	wantVerdict(t, rep, verdict.Pass, "")
	if rep.Verdict.Line() != "pass, without faults and purges" {
		t.Errorf("the verdict line is %q", rep.Verdict.Line())
	}
	if len(rep.Analysis.Faults)+len(rep.Analysis.Purges) > 0 {
		t.Errorf("%d faults and %d purges without consent", len(rep.Analysis.Faults), len(rep.Analysis.Purges))
	}
}

// TestRunDirectoryFull: the run stops, says why, and what was recorded until then is judged as aborted.
func TestRunDirectoryFull(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=1m"); err != nil {
		if os.Getenv("NIGHTSHIFT_LAB") == "require" {
			t.Fatalf("mount a small file system: %v", err)
		}
		t.Skipf("a small file system can't be mounted here: %v", err)
	}
	defer func() {
		if err := unix.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	}()
	said := &strings.Builder{}
	var rep judged
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newStubWard(t, zkstub.Options{Nodes: 3, Dir: filepath.Join(dir, "zk"), SnapCount: 200, Seed: 1})
		w.out, w.said = filepath.Join(small, "run"), said
		rep = stubRun(t, w, shortNight, "for=6h")
	})
	wantVerdict(t, rep, verdict.Aborted, "")
	if !strings.Contains(said.String(), "disk is full") && !strings.Contains(said.String(), "no space left") {
		t.Errorf("nothing says why:\n%s", said)
	}
	if rep.Analysis.End < 30*time.Second || len(rep.Analysis.Operations) == 0 {
		t.Errorf("what was recorded can't be read: %v", rep.Analysis.End)
	}
}

// TestInterrupted: a fault under way is undone, the run drains and is reported as aborted.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	var rep judged
	synctest.Test(t, func(t *testing.T) {
		w := newStubWard(t, zkstub.Options{Nodes: 3, Dir: filepath.Join(dir, "zk"), SnapCount: 200, Seed: 1})
		w.interrupt = 20*time.Second + 32*time.Second // the first fault has just begun
		rep = stubRun(t, w, shortNight)
		for id := 1; id <= 3; id++ {
			if w.e.Role(id) == "" {
				t.Errorf("node %d was left down", id)
			}
		}
	})
	wantVerdict(t, rep, verdict.Aborted, "")
	if fs := rep.Analysis.Faults; len(fs) != 2 || !fs[0].Healed || fs[1].Skipped == "" {
		t.Errorf("the fault under way was not healed: %+v", rep.Analysis.Faults)
	}
}
