package faults

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"nightshift/soak/target"
)

// Fault is one kind of fault. Undo is data, so that another process can revert what this one injected.
type Fault interface {
	Prepare(ctx context.Context, s Scope, p Params) (Undo, error)    // reads only; ErrUnavailable is a recorded skip
	Inject(ctx context.Context, u Undo) error                        // after u is on disk, synced
	Revert(ctx context.Context, u Undo) error                        // idempotent, from any process
	Observe(ctx context.Context, u Undo, ph Phase) (Evidence, error) // did it bite? did it heal? never optional
}

// Scope is what a fault may touch.
type Scope struct {
	Target string      `json:"target"`
	System string      `json:"system"`
	Node   target.Node `json:"node"`
}

// Params of a fault as JSON: its own struct, decoded and validated by the fault.
type Params json.RawMessage

// Undo is all that is needed to revert, by any process of this boot.
type Undo struct {
	ID      string          `json:"id"`
	Kind    string          `json:"kind"`
	BootID  string          `json:"boot_id"`
	Scope   Scope           `json:"scope"`
	MaxLife time.Duration   `json:"max_life"`
	Data    json.RawMessage `json:"data"`
}

// Phase of an observation.
type Phase int

// Phases.
const (
	Biting Phase = iota
	Healed
)

// Evidence is what Observe saw. Seen is false while the effect is not there (yet).
type Evidence struct {
	Seen bool
	Text string
}

// ErrUnavailable says that a fault can't run here; the wrapped text is the reason.
var ErrUnavailable = errors.New("fault is not available here")

// BeforeStart is implemented by faults that wrap the start of a server.
type BeforeStart interface {
	PrepareNode(ctx context.Context, l *target.Launch) error
}
