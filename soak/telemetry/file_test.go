package telemetry

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	analysis "nightshift/soak/attribute"
	"nightshift/soak/record"
)

// one finds the span of a name and, where ref is not empty, of a reference.
func one(t *testing.T, spans []*tracepb.Span, name, ref string) *tracepb.Span {
	t.Helper()
	var found *tracepb.Span
	for _, s := range spans {
		if s.Name != name || ref != "" && attrs(s.Attributes)["soak.ref"] != ref {
			continue
		}
		if found != nil {
			t.Fatalf("two spans %s %s", name, ref)
		}
		found = s
	}
	if found == nil {
		t.Fatalf("no span %s %s", name, ref)
	}
	return found
}

func (c check) time(s *tracepb.Span, from, to time.Duration) {
	c.Helper()
	if s.StartTimeUnixNano != uint64(began.Add(from).UnixNano()) || s.EndTimeUnixNano != uint64(began.Add(to).UnixNano()) {
		c.Errorf("%s runs from %s to %s, want %s to %s", s.Name, time.Unix(0, int64(s.StartTimeUnixNano)).Sub(began), time.Unix(0, int64(s.EndTimeUnixNano)).Sub(began), from, to)
	}
}

func (c check) attr(kvs []*commonpb.KeyValue, key string, want any) {
	c.Helper()
	if got := attrs(kvs)[key]; !reflect.DeepEqual(got, want) {
		c.Errorf("%s is %#v, want %#v", key, got, want)
	}
}

type check struct{ *testing.T }

func TestFileHasTheRunItsPhasesAndWhatItIsOf(t *testing.T) {
	a, v := night()
	lines, _ := exported(t, a, v)
	c, spans := check{t}, spansOf(lines)
	for _, l := range lines {
		c.attr(l.ResourceSpans[0].Resource.Attributes, "service.name", "nightshift")
		c.attr(l.ResourceSpans[0].Resource.Attributes, "service.version", "v1")
		c.attr(l.ResourceSpans[0].Resource.Attributes, "nightshift.run.id", "run-1")
		if l.ResourceSpans[0].ScopeSpans[0].Scope.Name != "nightshift" {
			t.Errorf("scope %v", l.ResourceSpans[0].ScopeSpans[0].Scope)
		}
	}
	run := one(t, spans, "soak.run", "")
	c.time(run, 0, 100*sec)
	c.attr(run.Attributes, "soak.seed", "18446744073709551615")
	c.attr(run.Attributes, "soak.verdict", "fail")
	if len(run.ParentSpanId) != 0 || run.Kind != tracepb.Span_SPAN_KIND_INTERNAL {
		t.Errorf("the run: parent %x, kind %v", run.ParentSpanId, run.Kind)
	}
	c.time(one(t, spans, "soak.phase warmup", ""), 0, 10*sec)
	c.time(one(t, spans, "soak.phase load", ""), 10*sec, 100*sec)
	end := one(t, spans, "soak.phase end", "")
	c.time(end, 100*sec, 100*sec)
	c.attr(end.Attributes, "soak.text", "done")
	for _, s := range spans {
		under := strings.HasPrefix(s.Name, "soak.phase") || strings.HasPrefix(s.Name, "soak.fault") || s.Name == "soak.purge" || strings.HasPrefix(s.Name, "soak.evidence")
		if under && (!bytes.Equal(s.ParentSpanId, run.SpanId) || !bytes.Equal(s.TraceId, run.TraceId)) {
			t.Errorf("%s is not below the run", s.Name)
		}
	}
}

func TestFaultsOfEveryFate(t *testing.T) {
	a, v := night()
	lines, _ := exported(t, a, v)
	c, spans := check{t}, spansOf(lines)
	healed := one(t, spans, "soak.fault kill", "f1")
	c.time(healed, 20*sec, 30*sec)
	c.attr(healed.Attributes, "soak.fault.bit", true)
	c.attr(healed.Attributes, "soak.fault.healed", true)
	c.attr(healed.Attributes, "soak.fault.proof", []string{"process 7 is gone", "serves again"})
	c.attr(healed.Attributes, "soak.fault.first_success_s", 1.175)
	c.attr(healed.Attributes, "soak.fault.recovered_s", nil) // not seen
	c.attr(healed.Attributes, "soak.fault.skipped", nil)
	c.attr(healed.Attributes, "soak.role", "leader")
	unhealed := one(t, spans, "soak.fault pause", "f2")
	c.time(unhealed, 60*sec, 100*sec) // in effect until the record ends
	skipped := one(t, spans, "soak.fault pause", "f3")
	c.time(skipped, 70*sec, 70*sec)
	c.attr(skipped.Attributes, "soak.fault.skipped", "no follower now")
	toothless := one(t, spans, "soak.fault kill", "f4")
	c.time(toothless, 75*sec, 80*sec)
	for s, want := range map[*tracepb.Span]string{healed: "", unhealed: "did not heal within 30s", skipped: "", toothless: "not seen to bite"} {
		if s.Status.GetMessage() != want || (want != "") != (s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR) {
			t.Errorf("%v: status %v, want %q", attrs(s.Attributes)["soak.ref"], s.Status, want)
		}
	}
}

func TestPurgesAndEvidence(t *testing.T) {
	a, v := night()
	lines, _ := exported(t, a, v)
	c, spans := check{t}, spansOf(lines)
	p := one(t, spans, "soak.purge", "purge-1")
	c.time(p, 25*sec, 25200*ms)
	c.attr(p.Attributes, "soak.purge.removed", int64(3))
	c.attr(p.Attributes, "soak.purge.freed", int64(3<<20))
	c.attr(p.Attributes, "soak.purge.restorable", true)
	c.attr(one(t, spans, "soak.purge", "purge-2").Attributes, "soak.purge.refused", "a snapshot is being written")
	if st := one(t, spans, "soak.purge", "purge-3").Status; st.GetCode() != tracepb.Status_STATUS_CODE_ERROR || !strings.Contains(st.Message, "input/output") {
		t.Errorf("a failed purge has status %v", st)
	}
	e := one(t, spans, "soak.evidence fsync", "fsync-2")
	c.time(e, 20200*ms, 20900*ms)
	c.attr(e.Attributes, "soak.magnitude", .7)
	c.attr(e.Attributes, "soak.uncertainty_ns", int64(2*time.Millisecond))
	for _, s := range spans {
		if s.Name == "soak.evidence gc" {
			t.Error("evidence that nobody links to is in the traces")
		}
	}
}

func TestSpikes(t *testing.T) {
	a, v := night()
	lines, _ := exported(t, a, v)
	c, spans := check{t}, spansOf(lines)
	run, spike := one(t, spans, "soak.run", ""), one(t, spans, "soak.spike", "spike-1")
	if len(spike.ParentSpanId) != 0 || bytes.Equal(spike.TraceId, run.TraceId) {
		t.Error("a spike is not a trace of its own")
	}
	c.time(spike, 20*sec, 24*sec)
	c.attr(spike.Attributes, "soak.cause", "fault kill of n3 (leader)")
	c.attr(spike.Attributes, "soak.share", .97)
	c.attr(spike.Attributes, "soak.unknown", nil)
	c.attr(spike.Attributes, "soak.links.left_out", int64(0))
	links := map[any]*tracepb.Span_Link{}
	for _, l := range spike.Links {
		links[attrs(l.Attributes)["soak.ref"]] = l
	}
	for ref, name := range map[string]string{"f1": "soak.fault kill", "fsync-2": "soak.evidence fsync", "purge-1": "soak.purge"} {
		if l, to := links[ref], one(t, spans, name, ref); l == nil || !bytes.Equal(l.SpanId, to.SpanId) || !bytes.Equal(l.TraceId, to.TraceId) {
			t.Errorf("the link to %s leads elsewhere: %v", ref, l)
		}
	}
	cause := links["f1"].Attributes
	for key, want := range map[string]any{"soak.role": "cause", "soak.share": .97, "soak.like": int64(2), "soak.like_without_spike": int64(1),
		"soak.score": 4.5, "soak.score.base": 4.0, "soak.score.onset": .7, "soak.class": "fault", "soak.reason": "explains 97 %"} {
		c.attr(cause, key, want)
	}
	c.attr(links["purge-1"].Attributes, "soak.score", math.Inf(-1)) // JSON has no number for it
	other := one(t, spans, "soak.spike", "spike-2")
	c.attr(other.Attributes, "soak.unknown", "none")
	c.attr(other.Attributes, "soak.cause", "unknown")
	c.attr(other.Attributes, "soak.links.left_out", int64(4))
	if bytes.Equal(other.TraceId, spike.TraceId) {
		t.Error("two spikes share a trace")
	}
}

func TestOperationsOfASpike(t *testing.T) {
	a, v := night()
	lines, _ := exported(t, a, v)
	c, spans := check{t}, spansOf(lines)
	spike := one(t, spans, "soak.spike", "spike-1")
	byWhy := map[any]*tracepb.Span{}
	for _, s := range spans {
		if s.Name == "zookeeper.setdata set" {
			byWhy[attrs(s.Attributes)["soak.why"]] = s
			if !bytes.Equal(s.ParentSpanId, spike.SpanId) || !bytes.Equal(s.TraceId, spike.TraceId) || s.Kind != tracepb.Span_SPAN_KIND_CLIENT {
				t.Errorf("operation %v: kind %v, parent %x", attrs(s.Attributes), s.Kind, s.ParentSpanId)
			}
		}
	}
	failed := byWhy[record.WhyFailed]
	c.time(failed, 20*sec, 24*sec)
	c.attr(failed.Attributes, "error.type", "timeout")
	c.attr(failed.Attributes, "soak.in_doubt", true)
	c.attr(failed.Attributes, "soak.sequence", int64(9))
	c.attr(failed.Attributes, "zk.path", "/a/\uFFFD") // any bytes may be in a path, not in a trace
	if failed.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || failed.Status.Message != "timeout" {
		t.Errorf("failed operation has status %v", failed.Status)
	}
	slow, control := byWhy[record.WhySlow], byWhy[record.WhyControl]
	c.attr(slow.Attributes, "error.type", nil)
	if slow.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET || control == nil {
		t.Errorf("slow %v, control %v", slow.Status, control)
	}
	stages := map[string]*tracepb.Span{}
	for _, s := range spans {
		if bytes.Equal(s.ParentSpanId, failed.SpanId) {
			stages[s.Name] = s
		}
	}
	c.time(stages["delay"], 20*sec, 20500*ms)
	c.time(stages["service"], 20500*ms, 24*sec)
}

func TestBoundsAreCounted(t *testing.T) {
	a, v := crowded()
	lines, _ := exported(t, a, v)
	spike, ops := one(t, spansOf(lines), "soak.spike", ""), 0
	if len(spike.Links) != maxLinks || spike.DroppedLinksCount != 0 {
		t.Errorf("%d links, %d dropped in silence", len(spike.Links), spike.DroppedLinksCount)
	}
	check{t}.attr(spike.Attributes, "soak.links.left_out", int64(3+1+7)) // beyond the bound, without a span, beyond the candidates
	check{t}.attr(spike.Attributes, "soak.operations.left_out", int64(5))
	for _, s := range spansOf(lines) {
		if s.Name == "w o" {
			ops++
		}
	}
	if ops != maxSlowOps {
		t.Errorf("%d operations", ops)
	}
}

func TestSameRecordSameFile(t *testing.T) {
	a, v := night()
	_, first := exported(t, a, v)
	_, again := exported(t, a, v)
	if !bytes.Equal(first, again) {
		t.Error("two exports of one analysis differ")
	}
	a.Run.ID = "run-2"
	_, other := exported(t, a, v)
	ids := func(raw []byte) (out []string) {
		for _, s := range spansOf(parse(t, raw)) {
			out = append(out, string(s.SpanId))
		}
		return out
	}
	known := ids(first)
	for _, id := range ids(other) {
		if slices.Contains(known, id) {
			t.Fatal("two runs share a span id")
		}
	}
}

// TestEnvironmentDoesNotThinTheFile: what a collector wants is no reason to lose spans on disk.
func TestEnvironmentDoesNotThinTheFile(t *testing.T) {
	a, v := night()
	lines, _ := exported(t, a, v)
	for name, value := range map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_SAMPLER": "always_off", "OTEL_SPAN_LINK_COUNT_LIMIT": "1",
		"OTEL_RESOURCE_ATTRIBUTES": "team=storage,host.name=other,service.name=mine"} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	st, err := Export(t.Context(), dir, a, v)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(st.File)
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, raw)
	if want := len(spansOf(lines)); len(spansOf(got)) != want || len(one(t, spansOf(got), "soak.spike", "spike-1").Links) != 3 {
		t.Errorf("%d spans, want %d", len(spansOf(got)), want)
	}
	res := got[0].ResourceSpans[0].Resource.Attributes
	check{t}.attr(res, "team", "storage")
	check{t}.attr(res, "service.name", "mine")
	check{t}.attr(res, "host.name", "h")
}

func TestEmptyRun(t *testing.T) {
	lines, _ := exported(t, analysis.Analysis{Run: record.Run{ID: "r", Started: began}}, verdictNone)
	if n := len(spansOf(lines)); n != 1 {
		t.Errorf("%d spans, want the run alone", n)
	}
}

// TestFailedWriteLeavesNothing: the file appears whole or not at all, and an older one stays.
func TestFailedWriteLeavesNothing(t *testing.T) {
	alone(t)
	a, v := night()
	t.Run("no directory", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "gone")
		if _, err := Export(t.Context(), dir, a, v); err == nil || !strings.Contains(err.Error(), "write traces") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("disk full", func(t *testing.T) {
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("no /dev/full here")
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte("older"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/full", filepath.Join(dir, FileName+".tmp")); err != nil {
			t.Fatal(err)
		}
		_, err := Export(t.Context(), dir, a, v)
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("error %v", err)
		}
		only(t, dir, FileName)
		if b, err := os.ReadFile(filepath.Join(dir, FileName)); err != nil || string(b) != "older" {
			t.Errorf("the older file: %q, %v", b, err)
		}
	})
	t.Run("name taken", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, FileName, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Export(t.Context(), dir, a, v); err == nil {
			t.Error("no error")
		}
		only(t, dir, FileName)
	})
}

// only says that the directory holds nothing else.
func only(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != name {
			t.Errorf("%s is left", e.Name())
		}
	}
}
