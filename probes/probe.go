package probes

import (
	"context"

	"nightshift/soak/record"
)

// Reading is what a probe says: Series, File, Evidence or Node events.
type Reading = record.Event

// Probe looks at one thing. Sample must return within its ctx and must not load what it looks at.
type Probe interface {
	Name() string
	Sample(ctx context.Context) ([]Reading, error)
}
