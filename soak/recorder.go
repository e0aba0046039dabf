package soak

import (
	"time"

	"nightshift/soak/record"
)

// Recorder collects what the workers of one workload did. Its hot path does not allocate and takes no
// lock that another core holds: histograms are sharded per core, never per worker.
type Recorder struct{}

// NewRecorder makes the recorder of one workload.
func NewRecorder(workload string, clock record.Clock, seed Seed) *Recorder { panic("contract") }

// Clock is the run's time line; workers take intended, start and end from it.
func (r *Recorder) Clock() record.Clock { panic("contract") }

// Op registers an operation of a payload size (0 where it has none) and returns its handle.
// Calling it again with the same name and size returns the same handle.
func (r *Recorder) Op(name string, size int) *Op { panic("contract") }

// Flush closes the open second and hands its windows and slow operations to emit.
// The runner calls it each second, and once more after the drain.
func (r *Recorder) Flush(emit record.Emit) { panic("contract") }

// Progress is what live progress shows of one operation.
type Progress struct {
	Op                              string
	Size                            int
	OK, Failed, InDoubt, Shed, Late uint64        // since the begin
	RecentTPS                       float64       // last 10 s
	RecentMean, RecentP99           time.Duration // response time, last 10 s
}

// Progress is a snapshot of every operation.
func (r *Recorder) Progress() []Progress { panic("contract") }

// Op is the handle of one operation of one workload. Safe for concurrent use.
type Op struct{}

// Sample is one finished operation. A timeout is a sample too: End is when the worker gave up.
type Sample struct {
	Worker               int
	Path                 string
	Seq                  uint64
	Intended, Start, End time.Duration // offsets by Recorder.Clock; a closed loop sets Intended = Start
	Outcome              record.Outcome
	Err                  string // short class, from a fixed set; "" when OK
	Node                 string // address of the server it went to
}

// Record counts one operation.
func (o *Op) Record(s Sample) { panic("contract") }

// Shed counts n operations that were due and never sent.
func (o *Op) Shed(n uint64) { panic("contract") }
