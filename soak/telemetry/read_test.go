package telemetry

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	analysis "nightshift/soak/attribute"
	"nightshift/soak/verdict"
)

// alone takes the variables of the environment away that would change what is exported.
func alone(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}

// exported writes the file of an analysis and reads it back.
func exported(t *testing.T, a analysis.Analysis, v verdict.Verdict) ([]*tracepb.TracesData, []byte) {
	t.Helper()
	alone(t)
	dir := t.TempDir()
	st, err := Export(t.Context(), dir, a, v)
	if err != nil {
		t.Fatal(err)
	}
	if st.File != filepath.Join(dir, FileName) || st.Endpoint != "" {
		t.Errorf("stats %+v", st)
	}
	raw, err := os.ReadFile(st.File)
	if err != nil {
		t.Fatal(err)
	}
	lines := parse(t, raw)
	if n := len(spansOf(lines)); n != st.Spans || n == 0 {
		t.Errorf("stats say %d spans, the file has %d", st.Spans, n)
	}
	return lines, raw
}

// parse reads OTLP in JSON lines: every line is one TracesData of the protocol, ids in hex.
func parse(t *testing.T, raw []byte) []*tracepb.TracesData {
	t.Helper()
	if len(raw) == 0 || raw[len(raw)-1] != '\n' {
		t.Fatal("the last line is not ended")
	}
	var out []*tracepb.TracesData
	for _, line := range bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")) {
		var doc any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&doc); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		walk(t, "", doc)
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var data tracepb.TracesData
		if err := protojson.Unmarshal(text, &data); err != nil { // unknown keys are errors
			t.Fatalf("%v in %s", err, line)
		}
		out = append(out, &data)
	}
	return out
}

var (
	idForm      = map[string]*regexp.Regexp{"traceId": regexp.MustCompile(`^[0-9a-f]{32}$`), "spanId": regexp.MustCompile(`^[0-9a-f]{16}$`), "parentSpanId": regexp.MustCompile(`^[0-9a-f]{16}$`)}
	number      = regexp.MustCompile(`^-?\d+$`)
	longNumbers = map[string]bool{"startTimeUnixNano": true, "endTimeUnixNano": true, "intValue": true}
	enums       = map[string]bool{"kind": true, "code": true}
)

// walk checks the forms that the specification asks for, and turns ids into the form that protojson reads.
func walk(t *testing.T, key string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			walk(t, key, e)
		}
	case map[string]any:
		for k, e := range v {
			s, isText := e.(string)
			form := idForm[k]
			switch {
			case form != nil:
				if !form.MatchString(s) || strings.Trim(s, "0") == "" {
					t.Fatalf("%s is %v, not lower-case hex", k, e)
				}
				b, err := hex.DecodeString(s)
				if err != nil {
					t.Fatal(err)
				}
				v[k] = base64.StdEncoding.EncodeToString(b)
			case longNumbers[k] && (!isText || !number.MatchString(s)):
				t.Fatalf("%s is %v, not a decimal in a string", k, e)
			case enums[k]:
				if n, ok := e.(json.Number); !ok || !number.MatchString(n.String()) {
					t.Fatalf("%s is %v, not a number", k, e)
				}
			case e == nil:
				t.Fatalf("%s is null", k)
			}
			walk(t, k, e)
		}
	}
}

func spansOf(lines []*tracepb.TracesData) (out []*tracepb.Span) {
	for _, l := range lines {
		for _, r := range l.ResourceSpans {
			for _, s := range r.ScopeSpans {
				out = append(out, s.Spans...)
			}
		}
	}
	return out
}

// attrs are attributes in plain Go.
func attrs(kvs []*commonpb.KeyValue) map[string]any {
	out := map[string]any{}
	for _, kv := range kvs {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[kv.Key] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			out[kv.Key] = v.DoubleValue
		case *commonpb.AnyValue_BoolValue:
			out[kv.Key] = v.BoolValue
		case *commonpb.AnyValue_ArrayValue:
			list := []string{}
			for _, e := range v.ArrayValue.Values {
				list = append(list, e.GetStringValue())
			}
			out[kv.Key] = list
		}
	}
	return out
}
