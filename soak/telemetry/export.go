package telemetry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	analysis "nightshift/soak/attribute"
	"nightshift/soak/verdict"
)

// FileName is the traces' file inside the run directory: OTLP in JSON, one TracesData a line.
const FileName = "traces.otlp.jsonl"

// Stats says what was written.
type Stats struct {
	Spans    int
	File     string
	Endpoint string // where all spans went by network; empty: nowhere
}

// remoteLimit bounds how long a collector may hold up the end of a run.
const remoteLimit = 20 * time.Second

// Export writes the traces of an analysed run into its directory and to the endpoint of the environment.
// The file comes first: a collector that does not answer costs its own error, remoteLimit, and nothing else.
func Export(ctx context.Context, dir string, a analysis.Analysis, v verdict.Verdict) (Stats, error) {
	return export(ctx, dir, a, v, remoteLimit)
}

func export(ctx context.Context, dir string, a analysis.Analysis, v verdict.Verdict, limit time.Duration) (Stats, error) {
	remote, rerr := fromEnvironment(ctx)
	s := Stats{File: filepath.Join(dir, FileName)}
	var kept keeper
	var err error
	if s.Spans, err = writeFile(ctx, s.File, a, v, remote, &kept); err != nil {
		return s, errors.Join(fmt.Errorf("write traces: %w", err), rerr)
	}
	if rerr != nil || remote == nil {
		return s, rerr
	}
	if err := remote.send(ctx, kept.spans, limit); err != nil {
		return s, err
	}
	s.Endpoint = remote.name
	return s, nil
}

// writeFile makes all spans once, into the file, and keeps them where they are to be sent as well.
func writeFile(ctx context.Context, path string, a analysis.Analysis, v verdict.Verdict, remote *collector, kept *keeper) (int, error) {
	file, err := newFileExporter(path)
	if err != nil {
		return 0, err
	}
	to := []sdktrace.TracerProviderOption{sdktrace.WithSyncer(file)}
	if remote != nil {
		to = append(to, sdktrace.WithSyncer(kept))
	}
	n, err := render(ctx, a, v, to...)
	return n, errors.Join(err, file.publish())
}

// render makes all spans in one provider and says how many.
func render(ctx context.Context, a analysis.Analysis, v verdict.Verdict, to ...sdktrace.TracerProviderOption) (int, error) {
	limits := sdktrace.NewSpanLimits()
	limits.LinkCountLimit = maxLinks
	p := sdktrace.NewTracerProvider(append(to, sdktrace.WithResource(source(a)), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithIDGenerator(newIDs(a.Run.ID)), sdktrace.WithRawSpanLimits(limits))...)
	n := newScribe(p.Tracer("nightshift"), a, v).write(ctx)
	return n, p.Shutdown(context.WithoutCancel(ctx))
}

// source is what the spans are of. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES may name the service; the
// SDK adds the other attributes of the latter.
func source(a analysis.Analysis) *resource.Resource {
	service := "nightshift"
	if name, ok := resource.Environment().Set().Value("service.name"); ok {
		service = name.AsString()
	}
	return resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", a.Run.Tool),
		attribute.String("host.name", a.Run.Host), attribute.String("nightshift.run.id", a.Run.ID))
}

// keeper holds spans until they are sent.
type keeper struct{ spans []sdktrace.ReadOnlySpan }

// ExportSpans implements the SDK's exporter.
func (k *keeper) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	k.spans = append(k.spans, spans...)
	return nil
}

// Shutdown implements the SDK's exporter.
func (k *keeper) Shutdown(context.Context) error { return nil }
