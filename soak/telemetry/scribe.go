package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	ctx, span := s.start(ctx, "soak.run", 0, trace.SpanKindInternal, text("soak.plan", s.a.Run.Plan),
		text("soak.seed", strconv.FormatUint(s.a.Run.Seed, 10)), text("soak.verdict", string(s.v.Verdict)), text("soak.ended", s.a.Ended))
	for _, p := range s.a.Phases {
		s.span(ctx, "soak.phase "+p.Name, p.From, p.To, trace.SpanKindInternal, text("soak.phase", p.Name), text("soak.text", p.Text))
	}
	for _, f := range s.a.Faults {
		s.fault(ctx, f)
	}
	for i, p := range s.a.Purges {
		s.purge(ctx, fmt.Sprintf("purge-%d", i+1), p)
	}
	s.evidence(ctx)
	for _, sp := range s.a.Spikes {
		s.spike(sp)
	}
	s.end(span, s.a.End)
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
		s.refs[ref] = s.span(ctx, "soak.evidence "+e.Class, e.At, e.To, trace.SpanKindInternal, text("soak.ref", ref),
			text("soak.node", e.Node), attribute.Float64("soak.magnitude", e.Magnitude), text("soak.unit", e.Unit),
			text("soak.text", e.Text), attribute.Int64("soak.uncertainty_ns", int64(e.Uncertainty)))
	}
}

// purge of one directory; one that failed is an error, one that the janitor refused is not.
func (s *scribe) purge(ctx context.Context, ref string, p record.Purge) {
	ctx, span := s.start(ctx, "soak.purge", p.At, trace.SpanKindInternal, text("soak.ref", ref), text("soak.node", p.Node),
		attribute.Int("soak.purge.removed", p.Removed), attribute.Int64("soak.purge.freed", p.Freed), attribute.Int("soak.purge.kept", p.Kept),
		attribute.Bool("soak.purge.restorable", p.Restorable), text("soak.purge.refused", p.Refused))
	if p.Error != "" {
		span.SetStatus(codes.Error, clean(p.Error))
	}
	s.refs[ref] = trace.SpanContextFromContext(ctx)
	s.end(span, max(p.At, p.To))
}

// fault from the injection until it was seen healed, or to the end of the record when it was not.
func (s *scribe) fault(ctx context.Context, f analysis.Recovery) {
	from, to := f.At, f.At
	if f.Injected > 0 {
		if from, to = f.Injected, f.To; to == 0 {
			to = s.a.End
		}
	}
	ctx, span := s.start(ctx, "soak.fault "+f.Fault.Fault, from, trace.SpanKindInternal, text("soak.ref", f.ID), text("soak.node", f.Node),
		text("soak.role", f.Role), attribute.Bool("soak.fault.bit", f.Bit), attribute.Bool("soak.fault.healed", f.Healed),
		text("soak.fault.skipped", f.Skipped), attribute.StringSlice("soak.fault.proof", f.Proof),
		seconds("soak.fault.detect_s", f.Detect), seconds("soak.fault.first_success_s", f.FirstSuccess), seconds("soak.fault.recovered_s", f.Recovered))
	switch {
	case f.Error != "":
		span.SetStatus(codes.Error, clean(f.Error))
	case f.Injected > 0 && !f.Bit:
		span.SetStatus(codes.Error, "not seen to bite")
	case f.Injected > 0 && !f.Healed:
		span.SetStatus(codes.Error, "not seen healed")
	}
	s.refs[f.ID] = trace.SpanContextFromContext(ctx)
	s.end(span, max(from, to))
}

// spike is a trace of its own: the root, its slow operations with their stages, and links to the evidence.
func (s *scribe) spike(sp analysis.Spike) {
	links, suppressed := s.links(sp)
	ctx, span := s.tracer.Start(context.Background(), "soak.spike", trace.WithNewRoot(), trace.WithTimestamp(s.at(sp.From)),
		trace.WithLinks(links...), trace.WithAttributes(some(
			text("soak.ref", sp.ID), text("soak.system", sp.System), attribute.Int64("soak.spike.ops", int64(sp.Ops)),
			attribute.Float64("soak.spike.excess_s", sp.Excess.Seconds()), attribute.Float64("soak.spike.longest_s", sp.Longest.Seconds()),
			text("soak.cause", sp.Cause), text("soak.mechanism", sp.Mechanism), attribute.Float64("soak.share", sp.Share),
			attribute.Float64("soak.margin", sp.Margin), text("soak.unknown", string(sp.Unknown)),
			attribute.StringSlice("soak.workloads", sp.Workloads), attribute.Int("soak.links.left_out", suppressed+sp.Left),
			attribute.Int("soak.operations.left_out", max(0, len(sp.Slow)-maxSlowOps)))...))
	s.n++
	for _, op := range sp.Slow[:min(len(sp.Slow), maxSlowOps)] {
		s.operation(ctx, op)
	}
	for _, op := range sp.Controls {
		s.operation(ctx, op)
	}
	s.end(span, sp.To)
}

func (s *scribe) links(sp analysis.Spike) (links []trace.Link, suppressed int) {
	for _, c := range sp.Candidates {
		to, ok := s.refs[c.Ref]
		if !ok || len(links) == maxLinks {
			suppressed++
			continue
		}
		links = append(links, trace.Link{SpanContext: to, Attributes: some(
			text("soak.ref", c.Ref), text("soak.role", string(c.Role)), text("soak.class", c.Class), attribute.Float64("soak.share", c.Share),
			attribute.Int("soak.like", c.Like), attribute.Int("soak.like_without_spike", c.Without), attribute.Float64("soak.score", c.Score),
			attribute.Float64("soak.score.base", c.Terms.Base), attribute.Float64("soak.score.share", c.Terms.Share),
			attribute.Float64("soak.score.onset", c.Terms.Onset), attribute.Float64("soak.score.scope", c.Terms.Scope),
			attribute.Float64("soak.score.away", c.Terms.Away), text("soak.reason", c.Reason))})
	}
	return links, suppressed
}

// operation is one kept operation with its two stages: waiting for its turn, and in the hands of the server.
func (s *scribe) operation(ctx context.Context, op record.SlowOp) {
	ctx, span := s.start(ctx, op.Workload+" "+op.Op, op.At, trace.SpanKindClient, text("server.address", op.Node), text("zk.path", op.Path),
		attribute.Int("soak.worker", op.Worker), attribute.Int64("soak.sequence", int64(op.Seq)), attribute.Int("soak.size", op.Size),
		text("soak.why", op.Why), text("error.type", op.Err), attribute.Bool("soak.in_doubt", op.Outcome == record.InDoubt))
	s.span(ctx, "delay", op.At, op.Start, trace.SpanKindInternal)
	s.span(ctx, "service", op.Start, op.End, trace.SpanKindInternal)
	if op.Outcome != record.OK {
		span.SetStatus(codes.Error, clean(op.Err))
	}
	s.end(span, op.End)
}

func (s *scribe) start(ctx context.Context, name string, from time.Duration, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	s.n++
	return s.tracer.Start(ctx, clean(name), trace.WithTimestamp(s.at(from)), trace.WithSpanKind(kind), trace.WithAttributes(some(attrs...)...))
}

func (s *scribe) end(span trace.Span, to time.Duration) { span.End(trace.WithTimestamp(s.at(to))) }

func (s *scribe) span(ctx context.Context, name string, from, to time.Duration, kind trace.SpanKind, attrs ...attribute.KeyValue) trace.SpanContext {
	ctx, span := s.start(ctx, name, from, kind, attrs...)
	s.end(span, max(from, to))
	return trace.SpanContextFromContext(ctx)
}

// at maps an offset to wall clock: the run's begin plus what its monotonic clock counted.
func (s *scribe) at(d time.Duration) time.Time { return s.a.Run.Started.Add(d) }

// text is an attribute that some leaves out when it is empty.
func text(key, value string) attribute.KeyValue {
	if value == "" {
		return attribute.KeyValue{}
	}
	return attribute.String(key, clean(value))
}

// seconds is an attribute that some leaves out when it was not seen.
func seconds(key string, d *time.Duration) attribute.KeyValue {
	if d == nil {
		return attribute.KeyValue{}
	}
	return attribute.Float64(key, d.Seconds())
}

func some(attrs ...attribute.KeyValue) []attribute.KeyValue {
	return slices.DeleteFunc(attrs, func(a attribute.KeyValue) bool { return a.Key == "" })
}

// clean makes text that a protocol buffer may hold: paths and server logs can be any bytes.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
