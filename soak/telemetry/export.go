package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
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
	Endpoint string // where spans went by network; empty: nowhere
}

// remoteLimit bounds how long a collector may hold up the end of a run.
const remoteLimit = 20 * time.Second

// Export writes the traces of an analysed run into its directory and to the endpoint of the environment.
// The file comes first: a collector that does not answer costs its own error and nothing else.
func Export(ctx context.Context, dir string, a analysis.Analysis, v verdict.Verdict) (Stats, error) {
	s := Stats{File: filepath.Join(dir, FileName)}
	file, err := newFileExporter(s.File)
	if err != nil {
		return s, err
	}
	if s.Spans, err = render(ctx, a, v, sdktrace.WithSyncer(file)); err != nil {
		return s, fmt.Errorf("write traces: %w", err)
	}
	remote, endpoint, err := fromEnvironment(ctx)
	if err != nil || remote == nil {
		return s, err
	}
	s.Endpoint = endpoint
	ctx, cancel := context.WithTimeout(ctx, remoteLimit)
	defer cancel()
	// Blocking, and after the load: no span is dropped for want of room in a queue.
	if _, err := render(ctx, a, v, sdktrace.WithBatcher(remote, sdktrace.WithBlocking())); err != nil {
		return s, fmt.Errorf("send traces to %s: %w", endpoint, err)
	}
	return s, nil
}

// render makes all spans once, in one provider.
func render(ctx context.Context, a analysis.Analysis, v verdict.Verdict, to sdktrace.TracerProviderOption) (int, error) {
	res := resource.NewSchemaless(attribute.String("service.name", serviceName()), attribute.String("service.version", a.Run.Tool),
		attribute.String("host.name", a.Run.Host), attribute.String("nightshift.run.id", a.Run.ID))
	limits := sdktrace.NewSpanLimits()
	limits.LinkCountLimit = maxLinks
	p := sdktrace.NewTracerProvider(to, sdktrace.WithResource(res), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithIDGenerator(newIDs(a.Run.ID)), sdktrace.WithRawSpanLimits(limits))
	n := newScribe(p.Tracer("nightshift"), a, v).write(ctx)
	err := errors.Join(p.ForceFlush(ctx), p.Shutdown(ctx))
	return n, err
}

func serviceName() string {
	if n := os.Getenv("OTEL_SERVICE_NAME"); n != "" {
		return n
	}
	return "nightshift"
}

// fromEnvironment makes the exporter that the standard variables ask for; nil when they ask for none.
func fromEnvironment(ctx context.Context) (sdktrace.SpanExporter, string, error) {
	endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	kind := os.Getenv("OTEL_TRACES_EXPORTER")
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || kind == "none" || endpoint == "" && kind != "otlp" {
		return nil, "", nil
	}
	if kind != "" && kind != "otlp" {
		return nil, "", fmt.Errorf("OTEL_TRACES_EXPORTER=%s: this build exports otlp, or none", kind)
	}
	if endpoint == "" {
		endpoint = "the default OTLP endpoint"
	}
	protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	var e sdktrace.SpanExporter
	var err error
	switch {
	case protocol == "grpc":
		e, err = otlptracegrpc.New(ctx)
	case protocol == "" || strings.HasPrefix(protocol, "http/"):
		e, err = otlptracehttp.New(ctx)
	default:
		err = fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL=%s: it is grpc, http/protobuf or http/json", protocol)
	}
	if err != nil {
		return nil, "", fmt.Errorf("send traces to %s: %w", endpoint, err)
	}
	return e, endpoint, nil
}

func first(names ...string) string {
	for _, n := range names {
		if v := os.Getenv(n); v != "" {
			return v
		}
	}
	return ""
}
