package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	sendTogether = 512             // spans in one request
	partLimit    = 2 * time.Second // for a collector's connection to close
)

// collector is an endpoint that takes spans.
type collector struct {
	sdktrace.SpanExporter
	name string // its endpoint, without a password
}

// fromEnvironment makes the exporter that the standard OTEL_* variables ask for; nil when they ask for none.
// It connects to nothing yet. The exporters read the rest of the variables themselves.
func fromEnvironment(ctx context.Context) (*collector, error) {
	endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	kind := os.Getenv("OTEL_TRACES_EXPORTER")
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || kind == "none" || endpoint == "" && kind == "" {
		return nil, nil
	}
	if kind != "" && kind != "otlp" {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: it is otlp, or none", kind)
	}
	c := &collector{name: shown(endpoint)}
	var err error
	switch protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "grpc":
		c.SpanExporter, err = otlptracegrpc.New(ctx)
	case "", "http/protobuf", "http/json":
		c.SpanExporter, err = otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL=%s: it is grpc, http/protobuf or http/json", protocol)
	}
	if err != nil {
		return nil, fmt.Errorf("send traces to %s: %w", c.name, err)
	}
	return c, nil
}

func first(names ...string) string {
	for _, n := range names {
		if v := os.Getenv(n); v != "" {
			return v
		}
	}
	return ""
}

func shown(endpoint string) string {
	if endpoint == "" {
		return "the default OTLP endpoint"
	}
	if u, err := url.Parse(endpoint); err == nil {
		return u.Redacted()
	}
	return endpoint
}

// send hands over all spans within limit, or says how far it came. It sends by itself, without a batch
// processor: that one has no limit over all batches, and tells of the errors of most of them to nobody.
func (c *collector) send(ctx context.Context, spans []sdktrace.ReadOnlySpan, limit time.Duration) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	sent := 0
	var err error
	for part := range slices.Chunk(spans, sendTogether) {
		if err = c.ExportSpans(within, part); err != nil {
			err = fmt.Errorf("%d of %d spans sent: %w", sent, len(spans), err)
			break
		}
		sent += len(part)
	}
	if err != nil && within.Err() != nil {
		err = fmt.Errorf("not done within %s: %w", limit, err)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), partLimit)
	defer cancel()
	if err = errors.Join(err, c.Shutdown(closing)); err != nil {
		return fmt.Errorf("send traces to %s: %w", c.name, err)
	}
	return nil
}
