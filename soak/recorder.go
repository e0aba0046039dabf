package soak

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"

	"nightshift/soak/record"
)

// maxShards bounds the memory of an operation: each shard holds three histograms of 188 KB per open second.
const maxShards = 16

// Recorder collects what the workers of one workload did. Its hot path does not allocate and takes no
// lock that another core holds: histograms are sharded per core, never per worker.
//
//	worker -> shard (lock) -> second -> 3 histograms, counters, kept operations
//	                            |
//	          Flush swaps the seconds out, adds up the shards, emits windows and slow operations
type Recorder struct {
	workload string
	clock    record.Clock
	seed     Seed
	shards   int

	mu      sync.Mutex // never held while emitting or waiting
	ops     []*Op
	flushed time.Duration // when Flush was called last
}

// NewRecorder makes the recorder of one workload.
func NewRecorder(workload string, clock record.Clock, seed Seed) *Recorder {
	return &Recorder{workload: workload, clock: clock, seed: seed, shards: min(runtime.GOMAXPROCS(0), maxShards)}
}

// Clock is the run's time line; workers take intended, start and end from it.
func (r *Recorder) Clock() record.Clock { return r.clock }

// Op registers an operation of a payload size (0 where it has none) and returns its handle.
// Calling it again with the same name and size returns the same handle.
func (r *Recorder) Op(name string, size int) *Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.ops {
		if o.name == name && o.size == size {
			return o
		}
	}
	o := newOp(r, name, size)
	r.ops = append(r.ops, o)
	return o
}

// Flush closes the open second and hands its windows and slow operations to emit.
// The runner calls it each second, and once more after the drain.
//
// What was recorded before the call is in what it emits, the begun second too. An operation that ends
// later in that second makes another window of the same second and operation at the next Flush: the record
// adds the two up. Call it shortly after each whole second, so that this is rare.
func (r *Recorder) Flush(emit record.Emit) {
	var windows []record.Window
	var slow []record.SlowOp
	r.mu.Lock()
	r.flushed = r.clock.Now()
	for _, o := range r.ops {
		windows, slow = o.flush(windows, slow)
	}
	r.mu.Unlock()
	slices.SortStableFunc(windows, func(a, b record.Window) int { return cmp.Compare(a.At, b.At) })
	for _, w := range windows {
		emit(w)
	}
	for _, s := range slow {
		emit(s)
	}
}

// Progress is what live progress shows of one operation.
type Progress struct {
	Op                              string
	Size                            int
	OK, Failed, InDoubt, Shed, Late uint64        // since the begin
	RecentTPS                       float64       // OK per second, last 10 s
	RecentMean, RecentP99           time.Duration // response time, last 10 s
}

// Progress is a snapshot of every operation, in order of their registration. The totals hold everything
// recorded so far; what is recent is as of the last Flush.
func (r *Recorder) Progress() []Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Progress, 0, len(r.ops))
	for _, o := range r.ops {
		all = append(all, o.progress(r.flushed))
	}
	return all
}
