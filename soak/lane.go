package soak

import (
	"context"
	"time"

	"nightshift/soak/record"
)

// Lane is anything that runs beside the others and emits events: the fault schedule, a probe poller,
// the janitor, a workload. Run returns when ctx ends; an error, or a return before that, is a lane that died.
type Lane interface {
	Name() string
	Run(ctx context.Context, emit record.Emit) error
}

// Workload loads a target. The runner calls Setup, Run, Check (again after a restart of the lab), Close, in this order.
type Workload interface {
	Name() string
	Setup(ctx context.Context) error                     // idempotent
	Run(ctx context.Context, rec *Recorder) error        // own quota, or until ctx ends; then no new operations, outstanding ones end within their deadline
	Check(ctx context.Context) ([]record.Finding, error) // loss, duplicates, order, missed watches, left-overs; idempotent
	Close() error
}

// Pacer decides when the next operation is due. It is a pure value: elapsed since the begin, operations done so far.
type Pacer interface {
	Next(elapsed time.Duration, done uint64) (wait time.Duration, stop bool)
}

// Cleaner is implemented by workloads that leave something on the target until the last check.
// Clean removes it and returns a finding for each thing it could not remove.
type Cleaner interface {
	Clean(ctx context.Context) ([]record.Finding, error)
}
