package probes

import (
	"context"

	"nightshift/soak/record"
)

// Reading is what a probe says: Series, File, Evidence, Node or Note events.
type Reading = record.Event

// Probe looks at one thing. Sample must return within its ctx and must not load what it looks at.
// Readings and an error may come together: the error then says which nodes gave nothing, see Gap.
// Sample is never called by two goroutines at once.
type Probe interface {
	Name() string
	Sample(ctx context.Context) ([]Reading, error)
}

// Watcher is a probe that also looks between its samples. Watch returns when ctx ends.
type Watcher interface {
	Probe
	Watch(ctx context.Context, emit record.Emit) error
}
