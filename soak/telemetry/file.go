package telemetry

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// fileExporter writes spans as the OpenTelemetry file exporter specification says: JSON lines, one
// TracesData each, ids in hex, enumerations as numbers, 64-bit integers as strings. (protojson writes ids
// in base64, which the specification forbids.)
type fileExporter struct {
	f *os.File
	w *bufio.Writer
}

// newFileExporter replaces what an earlier analysis of the same run wrote, when it is complete.
func newFileExporter(path string) (*fileExporter, error) {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return nil, fmt.Errorf("write traces: %w", err)
	}
	return &fileExporter{f: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

// ExportSpans implements the SDK's exporter.
func (e *fileExporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	data := tracesData{ResourceSpans: []resourceSpans{{
		Resource:   resourceJSON{Attributes: keyValues(spans[0].Resource().Attributes())},
		ScopeSpans: []scopeSpans{{Scope: scopeJSON{Name: spans[0].InstrumentationScope().Name}}},
	}}}
	for _, s := range spans {
		data.ResourceSpans[0].ScopeSpans[0].Spans = append(data.ResourceSpans[0].ScopeSpans[0].Spans, spanOf(s))
	}
	return json.NewEncoder(e.w).Encode(data)
}

// Shutdown implements the SDK's exporter: the file appears whole or not at all.
func (e *fileExporter) Shutdown(context.Context) error {
	tmp := e.f.Name()
	if err := errors.Join(e.w.Flush(), e.f.Close()); err != nil {
		return fmt.Errorf("write traces: %w", err)
	}
	return os.Rename(tmp, tmp[:len(tmp)-len(".tmp")])
}

type tracesData struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resourceJSON `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resourceJSON struct {
	Attributes []keyValue `json:"attributes"`
}

type scopeSpans struct {
	Scope scopeJSON  `json:"scope"`
	Spans []spanJSON `json:"spans"`
}

type scopeJSON struct {
	Name string `json:"name"`
}

type spanJSON struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []keyValue  `json:"attributes,omitempty"`
	DroppedLinks int         `json:"droppedLinksCount,omitempty"`
	Links        []linkJSON  `json:"links,omitempty"`
	Status       *statusJSON `json:"status,omitempty"`
}

type linkJSON struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	Attributes []keyValue `json:"attributes,omitempty"`
}

type statusJSON struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

type keyValue struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

func spanOf(s sdktrace.ReadOnlySpan) spanJSON {
	out := spanJSON{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
		Attributes: keyValues(s.Attributes()), DroppedLinks: s.DroppedLinks(),
	}
	if s.Parent().IsValid() {
		out.ParentSpanID = s.Parent().SpanID().String()
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, linkJSON{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String(), keyValues(l.Attributes)})
	}
	// The protocol numbers them 1 ok and 2 error, the SDK the other way round.
	if st := s.Status(); st.Code == codes.Error {
		out.Status = &statusJSON{Message: st.Description, Code: 2}
	}
	return out
}

func keyValues(attrs []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, keyValue{string(a.Key), anyValue(a.Value)})
	}
	return out
}

func anyValue(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": v.AsFloat64()}
	case attribute.STRINGSLICE:
		values := []any{}
		for _, s := range v.AsStringSlice() {
			values = append(values, map[string]any{"stringValue": s})
		}
		return map[string]any{"arrayValue": map[string]any{"values": values}}
	}
	return map[string]any{"stringValue": v.Emit()}
}
