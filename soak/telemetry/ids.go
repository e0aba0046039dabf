package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// ids draws trace and span ids from the run's own id, so that the same record always gives the same traces.
type ids struct{ r *rand.Rand }

func newIDs(runID string) *ids {
	return &ids{rand.New(rand.NewChaCha8(sha256.Sum256([]byte("nightshift traces " + runID))))}
}

// NewIDs implements the SDK's id generator. Spans are made by one goroutine.
func (g *ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var t trace.TraceID
	for !t.IsValid() {
		binary.BigEndian.PutUint64(t[:8], g.r.Uint64())
		binary.BigEndian.PutUint64(t[8:], g.r.Uint64())
	}
	return t, g.NewSpanID(ctx, t)
}

// NewSpanID implements the SDK's id generator.
func (g *ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var s trace.SpanID
	for !s.IsValid() {
		binary.BigEndian.PutUint64(s[:], g.r.Uint64())
	}
	return s
}
