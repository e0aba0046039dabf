package telemetry

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

var verdictNone = verdict.Verdict{Verdict: verdict.Inconclusive}

// sink is a collector that keeps what it gets.
type sink struct {
	collectorpb.UnimplementedTraceServiceServer
	mu    sync.Mutex
	got   []*tracepb.TracesData
	calls int
	types []string
}

func (s *sink) keep(kind string, req *collectorpb.ExportTraceServiceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.types = append(s.types, kind)
	s.got = append(s.got, &tracepb.TracesData{ResourceSpans: req.ResourceSpans})
}

func (s *sink) spans() []*tracepb.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return spansOf(s.got)
}

func (s *sink) Export(_ context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	s.keep("grpc", req)
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		gz, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = gz
	}
	raw, err := io.ReadAll(body)
	var req collectorpb.ExportTraceServiceRequest
	kind := r.Header.Get("Content-Type")
	if err == nil && kind == "application/x-protobuf" {
		err = proto.Unmarshal(raw, &req)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "not what a collector takes", http.StatusBadRequest)
		return
	}
	s.keep(kind, &req)
}

// file reads the traces' file of a directory.
func file(t *testing.T, dir string) []*tracepb.Span {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return spansOf(parse(t, raw))
}

// same says that what was sent is what stands in the file.
func same(t *testing.T, sent, written []*tracepb.Span) {
	t.Helper()
	if len(sent) != len(written) || len(sent) == 0 {
		t.Fatalf("%d spans sent, %d written", len(sent), len(written))
	}
	for i, w := range written {
		s := sent[i]
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_UNSET {
			s.Status = nil // the file leaves an unset status out
		}
		if !proto.Equal(s, w) {
			t.Fatalf("sent\n%v\nwritten\n%v", s, w)
		}
	}
}

func TestSendsOverHTTP(t *testing.T) {
	alone(t)
	got := &sink{}
	srv := httptest.NewServer(got)
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", strings.Replace(srv.URL, "//", "//user:secret@", 1))
	a, v := night()
	dir := t.TempDir()
	st, err := Export(t.Context(), dir, a, v)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got.spans(), file(t, dir))
	if !strings.HasPrefix(st.Endpoint, "http://user:xxxxx@127.0.0.1:") {
		t.Errorf("endpoint %s", st.Endpoint)
	}
}

func TestSendsInParts(t *testing.T) {
	alone(t)
	got := &sink{}
	srv := httptest.NewServer(got)
	defer srv.Close()
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", srv.URL+"/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	a, v := night()
	for range 2*sendTogether + 1 {
		a.Purges = append(a.Purges, record.Purge{Node: "n1"})
	}
	dir := t.TempDir()
	if _, err := Export(t.Context(), dir, a, v); err != nil {
		t.Fatal(err)
	}
	same(t, got.spans(), file(t, dir))
	if got.calls != 3 {
		t.Errorf("%d requests", got.calls)
	}
}

func TestSendsOverGRPC(t *testing.T) {
	alone(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got, srv := &sink{}, grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(srv, got)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	a, v := night()
	dir := t.TempDir()
	_, err = Export(t.Context(), dir, a, v)
	srv.Stop()
	if err = errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	same(t, got.spans(), file(t, dir))
	if got.types[0] != "grpc" {
		t.Errorf("sent as %v", got.types)
	}
}

func TestProtocolsAndRefusals(t *testing.T) {
	got := &sink{}
	srv := httptest.NewServer(got)
	defer srv.Close()
	for _, c := range []struct {
		name  string
		env   map[string]string
		sends string // content type; "-" nothing
		err   string
	}{
		{"nothing asked", nil, "-", ""},
		{"json", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "application/json", ""},
		{"own protocol wins", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, "application/x-protobuf", ""},
		{"unknown protocol", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/xml"}, "-", "http/protobuf or http/json"},
		{"none", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_TRACES_EXPORTER": "none"}, "-", ""},
		{"disabled", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_SDK_DISABLED": "TRUE"}, "-", ""},
		{"another exporter", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, "-", "otlp, or none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone(t)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			before := got.calls
			a, v := night()
			dir := t.TempDir()
			st, err := Export(t.Context(), dir, a, v)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if sent := got.calls > before; sent != (c.sends != "-") || sent && got.types[len(got.types)-1] != c.sends || sent != (st.Endpoint != "") {
				t.Errorf("sent %v as %v, endpoint %q; want %s", sent, got.types, st.Endpoint, c.sends)
			}
			if len(file(t, dir)) == 0 {
				t.Error("no file")
			}
		})
	}
}

// TestCollectorInTrouble: whatever it does, the file is there, and the error says how far sending came.
func TestCollectorInTrouble(t *testing.T) {
	quit := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-quit }))
	defer hang.Close()
	defer close(quit)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer busy.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	wrong := httptest.NewServer(http.NotFoundHandler())
	defer wrong.Close()
	for _, c := range []struct{ name, url, protocol, err string }{
		{"hangs", hang.URL, "", "not done within 100ms"},
		{"is busy", busy.URL, "", "not done within 100ms"},
		{"refuses", closed.URL, "", "connection refused"},
		{"refuses grpc", closed.URL, "grpc", "not done within 100ms"},
		{"is none", wrong.URL, "", "404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.url)
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", c.protocol)
			a, v := night()
			dir := t.TempDir()
			st, err := export(t.Context(), dir, a, v, 100*time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "send traces to "+c.url) || !strings.Contains(err.Error(), "0 of ") {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if st.Endpoint != "" || len(file(t, dir)) != st.Spans {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

// TestHaltsAtTheFirstError: a collector that takes the first part only is not said to have taken all.
func TestHaltsAtTheFirstError(t *testing.T) {
	alone(t)
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n++; n > 1 {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	a, v := night()
	for range 3 * sendTogether {
		a.Purges = append(a.Purges, record.Purge{})
	}
	_, err := Export(t.Context(), t.TempDir(), a, v)
	if err == nil || !strings.Contains(err.Error(), "512 of ") || n != 2 {
		t.Errorf("%d requests, error %v", n, err)
	}
}
