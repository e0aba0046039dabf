package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	analysis "nightshift/soak/attribute"
	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

// Bounds of one trace.
const (
	maxLinks   = 16 // evidence a spike links to
	maxSlowOps = 16 // slow operations below a spike
)

// scribe turns an analysis into spans. Evidence comes first, because spikes link to it.
type scribe struct {
	tracer trace.Tracer
	a      analysis.Analysis
	v      verdict.Verdict
	refs   map[string]trace.SpanContext // candidate reference -> its span
	n      int
}

func newScribe(t trace.Tracer, a analysis.Analysis, v verdict.Verdict) *scribe {
	return &scribe{tracer: t, a: a, v: v, refs: map[string]trace.SpanContext{}}
}

// write makes all spans and says how many.
func (s *scribe) write(ctx context.Context) int {
	ctx, end := s.open(ctx, "soak.run", 0, trace.SpanKindInternal, attribute.String("soak.plan", s.a.Run.Plan),
		attribute.Int64("soak.seed", int64(s.a.Run.Seed)), attribute.String("soak.verdict", string(s.v.Verdict)))
	for _, p := range s.a.Phases {
		s.span(ctx, "soak.phase "+p.Name, p.From, p.To, trace.SpanKindInternal, attribute.String("soak.phase", p.Name))
	}
	for _, f := range s.a.Faults {
		s.fault(ctx, f)
	}
	for i, p := range s.a.Purges {
		ref := fmt.Sprintf("purge-%d", i+1)
		s.refs[ref] = s.span(ctx, "soak.purge", p.At, p.To, trace.SpanKindInternal, attribute.String("soak.ref", ref),
			attribute.String("soak.node", p.Node), attribute.Int("soak.purge.removed", p.Removed), attribute.Int64("soak.purge.freed", p.Freed))
	}
	s.evidence(ctx)
	for _, sp := range s.a.Spikes {
		s.spike(sp)
	}
	end(s.a.End)
	return s.n
}

func (s *scribe) evidence(ctx context.Context) {
	linked := map[string]bool{}
	for _, sp := range s.a.Spikes {
		for _, c := range sp.Candidates {
			linked[c.Ref] = true
		}
	}
	for i, e := range s.a.Evidence {
		ref := fmt.Sprintf("%s-%d", e.Class, i+1)
		// A night holds far more evidence than spikes; what no spike is near stays in the record only.
		if !linked[ref] {
			continue
		}
		s.refs[ref] = s.span(ctx, "soak.evidence "+e.Class, e.At, e.To, trace.SpanKindInternal, attribute.String("soak.ref", ref),
			attribute.String("soak.node", e.Node), attribute.Float64("soak.magnitude", e.Magnitude), attribute.String("soak.unit", e.Unit),
			attribute.String("soak.text", e.Text), attribute.Int64("soak.uncertainty_ns", int64(e.Uncertainty)))
	}
}

func (s *scribe) fault(ctx context.Context, f analysis.Recovery) {
	from, to := f.Injected, f.To
	if f.Skipped != "" || to == 0 {
		from, to = f.At, f.At
	}
	if f.Injected > 0 && f.To == 0 {
		from, to = f.Injected, s.a.End
	}
	s.refs[f.ID] = s.span(ctx, "soak.fault "+f.Fault.Fault, from, to, trace.SpanKindInternal, attribute.String("soak.ref", f.ID),
		attribute.String("soak.node", f.Node), attribute.String("soak.role", f.Role), attribute.Bool("soak.fault.bit", f.Bit),
		attribute.Bool("soak.fault.healed", f.Healed), attribute.String("soak.fault.skipped", f.Skipped), attribute.StringSlice("soak.fault.proof", f.Proof))
}

// spike is a trace of its own: the root, its slow operations with their stages, and links to the evidence.
func (s *scribe) spike(sp analysis.Spike) {
	links, suppressed := s.links(sp)
	ctx, span := s.tracer.Start(context.Background(), "soak.spike", trace.WithNewRoot(), trace.WithTimestamp(s.at(sp.From)),
		trace.WithLinks(links...), trace.WithAttributes(
			attribute.String("soak.ref", sp.ID), attribute.String("soak.system", sp.System), attribute.Int64("soak.spike.ops", int64(sp.Ops)),
			attribute.Float64("soak.spike.excess_s", sp.Excess.Seconds()), attribute.Float64("soak.spike.longest_s", sp.Longest.Seconds()),
			attribute.String("soak.cause", sp.Cause), attribute.String("soak.mechanism", sp.Mechanism), attribute.Float64("soak.share", sp.Share),
			attribute.Float64("soak.margin", sp.Margin), attribute.String("soak.unknown", string(sp.Unknown)),
			attribute.StringSlice("soak.workloads", sp.Workloads), attribute.Int("soak.links.left_out", suppressed+sp.Left)))
	s.n++
	for i, op := range sp.Slow {
		if i == maxSlowOps {
			break
		}
		s.operation(ctx, op)
	}
	for _, op := range sp.Controls {
		s.operation(ctx, op)
	}
	span.End(trace.WithTimestamp(s.at(sp.To)))
}

func (s *scribe) links(sp analysis.Spike) (links []trace.Link, suppressed int) {
	for _, c := range sp.Candidates {
		to, ok := s.refs[c.Ref]
		if !ok || len(links) == maxLinks {
			suppressed++
			continue
		}
		links = append(links, trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{
			attribute.String("soak.ref", c.Ref), attribute.String("soak.role", string(c.Role)), attribute.String("soak.class", c.Class),
			attribute.Float64("soak.share", c.Share), attribute.Int("soak.like", c.Like), attribute.Int("soak.like_without_spike", c.Without),
			attribute.Float64("soak.score", c.Score), attribute.String("soak.reason", c.Reason)}})
	}
	return links, suppressed
}

// operation is one slow operation with its two stages: waiting for its turn, and in the hands of the server.
func (s *scribe) operation(ctx context.Context, op record.SlowOp) {
	kind := attribute.String("soak.why", op.Why)
	ctx, span := s.tracer.Start(ctx, op.Workload+" "+op.Op, trace.WithTimestamp(s.at(op.At)), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("server.address", op.Node), attribute.String("zk.path", op.Path), attribute.Int("soak.worker", op.Worker),
			attribute.Int64("soak.sequence", int64(op.Seq)), attribute.Int("soak.size", op.Size), kind, attribute.String("error.type", op.Err)))
	s.n++
	s.span(ctx, "delay", op.At, op.Start, trace.SpanKindInternal)
	s.span(ctx, "service", op.Start, op.End, trace.SpanKindInternal)
	if op.Outcome != record.OK {
		span.SetStatus(codes.Error, op.Err)
	}
	span.End(trace.WithTimestamp(s.at(op.End)))
}

func (s *scribe) open(ctx context.Context, name string, from time.Duration, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, func(time.Duration)) {
	ctx, span := s.tracer.Start(ctx, name, trace.WithTimestamp(s.at(from)), trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	s.n++
	return ctx, func(to time.Duration) { span.End(trace.WithTimestamp(s.at(to))) }
}

func (s *scribe) span(ctx context.Context, name string, from, to time.Duration, kind trace.SpanKind, attrs ...attribute.KeyValue) trace.SpanContext {
	ctx, end := s.open(ctx, name, from, kind, attrs...)
	end(max(from, to))
	return trace.SpanContextFromContext(ctx)
}

// at maps an offset to wall clock: the run's begin plus what its monotonic clock counted.
func (s *scribe) at(d time.Duration) time.Time { return s.a.Run.Started.Add(d) }
