package night

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/lab/zkstub"
	"nightshift/soak/verdict"
)

// sixHours is a whole night: all three workloads in open loop, both faults again and again with quiet
// windows, and the janitor on the files that the stub writes in ZooKeeper's own format.
const sixHours = `
nightshift: 1
seed: 11
for: 6h
warmup: 1m
targets:
  zk: {system: zookeeper, lab: {nodes: 3}}
workloads:
  - {kind: zookeeper/ephemeral, target: zk, connections: 2, paths: 2, size: 64, rate: 2/s}
  - {kind: zookeeper/setdata, target: zk, connections: 2, paths: 2, size: 64, rate: 2/s}
  - {kind: zookeeper/pubsub, target: zk, publishers: 1, paths: 4, size: 64, rate: 1/s, get_after_notify: true}
faults:
  schedule: {first: 2m, every: 5m, jitter: 20%, quiet: 1m}
  mix:
    - {kind: kill, nodes: leader, hold: 10s}
    - {kind: pause, nodes: follower, hold: 5s}
probes:
  - {kind: zookeeper/files, every: 10s}
janitor:
  - {target: zk, keep: 3, every: 5m}
expect:
  - {expr: zookeeper.setdata.error_rate < 0.01, except: [faults], over: 10m, after: warmup}
  - {expr: 'zookeeper.ephemeral.create.p99 < duration("100ms")', except: [faults]}
`

// TestSixVirtualHours runs the night in virtual time. It says how much it did and how long that really took.
func TestSixVirtualHours(t *testing.T) {
	began := time.Now() // outside the bubble: real time
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newStubWard(t, zkstub.Options{Nodes: 3, Dir: filepath.Join(dir, "zk"), SnapCount: 400, Seed: 1})
		rep := stubRun(t, w, sixHours)
		var ops uint64
		for _, o := range rep.Analysis.Operations {
			ops += o.Count
		}
		faults, purges := 0, 0
		for _, f := range rep.Analysis.Faults {
			if f.Bit && f.Healed {
				faults++
			}
		}
		for _, p := range rep.Analysis.Purges {
			if p.Removed > 0 {
				purges++
			}
		}
		t.Logf("%s of load, %d operations, %d faults bit and healed, %d purges removed files: %s",
			rep.Analysis.Load.Len(), ops, faults, purges, rep.Verdict.Line())
		if rep.Verdict.Verdict != verdict.Pass {
			show(t, rep)
			t.Errorf("the verdict is %s", rep.Verdict.Line())
		}
		if ops < 5*6*3600 || faults < 50 || purges < 50 {
			t.Errorf("only %d operations, %d faults, %d purges", ops, faults, purges)
		}
	})
	t.Logf("six virtual hours took %s of real time", time.Since(began).Round(time.Millisecond))
}
