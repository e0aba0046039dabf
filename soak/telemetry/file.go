package telemetry

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// fileExporter writes spans as the OpenTelemetry file exporter specification says: JSON lines, one
// TracesData each, ids in hex, enumerations as numbers, 64-bit integers as strings. (protojson writes ids
// in base64, which the specification forbids.) One span a line keeps lines short enough for any reader.
type fileExporter struct {
	path string
	f    *os.File
	w    *bufio.Writer
	err  error // the first one; publish returns it, as the SDK would only log it
}

// newFileExporter starts a file that replaces, when it is complete, what an earlier analysis of the same run wrote.
func newFileExporter(path string) (*fileExporter, error) {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return nil, err
	}
	return &fileExporter{path: path, f: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

// ExportSpans implements the SDK's exporter.
func (e *fileExporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	out := json.NewEncoder(e.w)
	out.SetEscapeHTML(false)
	for _, s := range spans {
		if e.err == nil {
			e.err = out.Encode(dataOf(s))
		}
	}
	return nil
}

// Shutdown implements the SDK's exporter. Nothing is published here: the SDK may give up waiting for it.
func (e *fileExporter) Shutdown(context.Context) error { return nil }

// publish ends the file: it appears whole or not at all.
func (e *fileExporter) publish() error {
	err := errors.Join(e.err, e.w.Flush())
	if err == nil {
		err = e.f.Sync()
	}
	err = errors.Join(err, e.f.Close())
	if err == nil {
		err = os.Rename(e.f.Name(), e.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(e.f.Name()))
	}
	return nil
}

type tracesData struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resourceJSON `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
	SchemaURL  string       `json:"schemaUrl,omitempty"`
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
	Flags        uint32      `json:"flags,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []keyValue  `json:"attributes,omitempty"`
	Dropped      int         `json:"droppedAttributesCount,omitempty"`
	DroppedLinks int         `json:"droppedLinksCount,omitempty"`
	Links        []linkJSON  `json:"links,omitempty"`
	Status       *statusJSON `json:"status,omitempty"`
}

type linkJSON struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	Attributes []keyValue `json:"attributes,omitempty"`
	Dropped    int        `json:"droppedAttributesCount,omitempty"`
	Flags      uint32     `json:"flags,omitempty"`
}

type statusJSON struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code"`
}

type keyValue struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

func dataOf(s sdktrace.ReadOnlySpan) tracesData {
	return tracesData{ResourceSpans: []resourceSpans{{
		Resource:   resourceJSON{Attributes: keyValues(s.Resource().Attributes())},
		ScopeSpans: []scopeSpans{{Scope: scopeJSON{Name: s.InstrumentationScope().Name}, Spans: []spanJSON{spanOf(s)}}},
		SchemaURL:  s.Resource().SchemaURL(),
	}}}
}

func spanOf(s sdktrace.ReadOnlySpan) spanJSON {
	out := spanJSON{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Flags: flags(s.SpanContext()),
		Name: s.Name(), Kind: int(s.SpanKind()), Start: nano(s.StartTime()), End: nano(s.EndTime()),
		Attributes: keyValues(s.Attributes()), Dropped: s.DroppedAttributes(), DroppedLinks: s.DroppedLinks(),
	}
	if s.Parent().IsValid() {
		out.ParentSpanID = s.Parent().SpanID().String()
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, linkJSON{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String(), keyValues(l.Attributes),
			l.DroppedAttributeCount, flags(l.SpanContext)})
	}
	// The protocol numbers them 1 ok and 2 error, the SDK the other way round.
	if st := s.Status(); st.Code == codes.Error {
		out.Status = &statusJSON{Message: st.Description, Code: 2}
	}
	return out
}

// knownLocal is the protocol's flag for "whether the parent is remote is known"; here none is.
const knownLocal = 0x100

func flags(c trace.SpanContext) uint32 { return uint32(c.TraceFlags()) | knownLocal }

func nano(t time.Time) string { return strconv.FormatInt(max(0, t.UnixNano()), 10) }

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
		return map[string]any{"doubleValue": double(v.AsFloat64())}
	case attribute.STRINGSLICE:
		values := []any{}
		for _, s := range v.AsStringSlice() {
			values = append(values, map[string]any{"stringValue": s})
		}
		return map[string]any{"arrayValue": map[string]any{"values": values}}
	}
	return map[string]any{"stringValue": v.String()}
}

// double writes what JSON has no number for as the protocol's JSON mapping does.
func double(v float64) any {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return v
}
