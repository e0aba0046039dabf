package probes

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/record"
)

// heard collects what a lane emits.
type heard struct {
	mu     sync.Mutex
	events []record.Event
}

func (h *heard) emit(e record.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func all[E record.Event](events []record.Event) []E {
	var es []E
	for _, e := range events {
		if x, ok := e.(E); ok {
			es = append(es, x)
		}
	}
	return es
}

func (h *heard) gaps() []record.Evidence {
	var gs []record.Evidence
	for _, e := range all[record.Evidence](h.events) {
		if e.Class == record.ClassProbeGap {
			gs = append(gs, e)
		}
	}
	return gs
}

func (h *heard) note(code string) string {
	var texts []string
	for _, n := range all[record.Note](h.events) {
		if n.Code == code {
			texts = append(texts, n.Text)
		}
	}
	return strings.Join(texts, "|")
}

func (h *heard) series(name string) []float64 {
	var vs []float64
	for _, s := range all[record.Series](h.events) {
		if s.Name == name {
			vs = append(vs, s.Value)
		}
	}
	return vs
}

// script is a probe that does what the test says at each sample, counted from 1.
type script struct {
	n  int
	do func(ctx context.Context, n int) ([]Reading, error)
}

func (s *script) Name() string { return "script" }

func (s *script) Sample(ctx context.Context) ([]Reading, error) {
	s.n++
	return s.do(ctx, s.n)
}

// runLane runs a script for a virtual time in a bubble and gives what was heard.
func runLane(t *testing.T, spec Spec, long time.Duration, do func(ctx context.Context, n int) ([]Reading, error)) (*heard, *script, error) {
	t.Helper()
	h, s := &heard{}, &script{do: do}
	var err error
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		err = NewLane(s, spec, record.NewClock()).Run(ctx, h.emit)
	})
	return h, s, err
}

func fine(context.Context, int) ([]Reading, error) {
	return []Reading{record.Series{Name: "x", Value: 1}}, nil
}

func TestLaneKeepsItsSchedule(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	var clock record.Clock
	h, s, err := runLane(t, Spec{Every: time.Second}, 125*time.Second, func(ctx context.Context, n int) ([]Reading, error) {
		if n == 1 {
			clock = record.NewClock()
		}
		at = append(at, clock.Now())
		time.Sleep(100 * time.Millisecond) // a slow sample does not move the schedule
		return fine(ctx, n)
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.n < 125 || s.n > 127 { // one at once, one a second, one at the end
		t.Errorf("%d samples in 125 s", s.n)
	}
	for i := 2; i < len(at)-1; i++ {
		if d := at[i] - at[i-1]; d != time.Second {
			t.Fatalf("sample %d came %v after the one before", i, d)
		}
	}
	if len(h.gaps()) != 0 || h.note(record.NoteProbeMissing) != "" {
		t.Errorf("a healthy probe has gaps: %v", h.events)
	}
	// Costs: one each minute, and one at the end with the total.
	if wall := h.series("probe.script.wall"); len(wall) != 3 || wall[2] < 12.4 || wall[2] > 12.8 {
		t.Errorf("wall cost %v, want three samples up to 12.6", wall)
	}
	if n := h.series("probe.script.samples"); len(n) != 3 || n[2] != float64(s.n) {
		t.Errorf("samples %v, want %d at last", n, s.n)
	}
	if cpu := h.series("probe.script.cost"); len(cpu) != 3 {
		t.Errorf("cpu cost %v", cpu)
	}
}

func TestLaneRecordsALateSample(t *testing.T) {
	t.Parallel()
	h, s, err := runLane(t, Spec{Every: time.Second}, 20*time.Second, func(ctx context.Context, n int) ([]Reading, error) {
		if n == 3 {
			time.Sleep(7 * time.Second) // whatever ctx says, as a hung mount does
		}
		return fine(ctx, n)
	})
	if err != nil {
		t.Fatal(err)
	}
	gs := h.gaps()
	if len(gs) != 1 || gs[0].To-gs[0].At != 7*time.Second || gs[0].Magnitude != 7 || gs[0].Node != "" {
		t.Fatalf("gaps %v", gs)
	}
	if !strings.Contains(h.note(""), "has not come back") {
		t.Errorf("nothing was said while it hung: %v", h.note(""))
	}
	if s.n > 16 {
		t.Errorf("%d samples: the missed ones were caught up", s.n)
	}
}

func TestLaneOutlivesAFailingProbe(t *testing.T) {
	t.Parallel()
	h, s, err := runLane(t, Spec{Every: time.Second}, 30*time.Second, func(ctx context.Context, n int) ([]Reading, error) {
		if n >= 5 && n < 10 {
			return nil, errors.New("nope")
		}
		if n == 15 {
			panic("a bad line")
		}
		return fine(ctx, n)
	})
	if err != nil {
		t.Fatal(err)
	}
	gs := h.gaps()
	if len(gs) != 2 || gs[0].To-gs[0].At != 6*time.Second || !strings.Contains(gs[0].Text, "script: nope") {
		t.Errorf("gaps %v", gs)
	}
	if len(gs) == 2 && !strings.Contains(gs[1].Text, "a bad line") {
		t.Errorf("the panic was not said: %v", gs[1])
	}
	if s.n < 30 || h.note(record.NoteProbeMissing) != "" {
		t.Errorf("%d samples, missing %q", s.n, h.note(record.NoteProbeMissing))
	}
}

func TestLaneSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	never := func(context.Context, int) ([]Reading, error) { return nil, unavailable("no such thing here") }
	h, _, _ := runLane(t, Spec{Every: time.Second}, 10*time.Second, never)
	if got := h.note(record.NoteProbeMissing); !strings.Contains(got, "no such thing here") {
		t.Errorf("required: %q", got)
	}
	if len(h.gaps()) != 0 {
		t.Errorf("what can't be had is no gap: %v", h.gaps())
	}
	h, _, _ = runLane(t, Spec{Every: time.Second, Optional: true}, 10*time.Second, never)
	if h.note(record.NoteProbeMissing) != "" || !strings.Contains(h.note(record.NoteProbeOptional), "no such thing here") {
		t.Errorf("optional: %v", h.events)
	}
}

func TestLaneSaysThatANodeIsMissing(t *testing.T) {
	t.Parallel()
	h, _, _ := runLane(t, Spec{Every: time.Second}, 200*time.Second, func(ctx context.Context, n int) ([]Reading, error) {
		rs, _ := fine(ctx, n)
		errs := []error{Gap{Node: "n2", Err: errors.New("never answers")}}
		if n >= 10 && n < 20 {
			errs = append(errs, Gap{Node: "n3", Err: errors.New("is down")})
		}
		if n >= 190 { // it was seen before: it is down, not missing
			errs = append(errs, Gap{Node: "n4", Err: errors.New("is down")})
		}
		return rs, errors.Join(errs...)
	})
	missing := h.note(record.NoteProbeMissing)
	if !strings.Contains(missing, "of n2: never answers") || strings.Contains(missing, "n3") || strings.Contains(missing, "n4") {
		t.Errorf("missing %q", missing)
	}
	var n2, n3 time.Duration
	pieces := 0
	for _, g := range h.gaps() {
		switch g.Node {
		case "n2":
			n2 += g.To - g.At
			pieces++
		case "n3":
			n3 += g.To - g.At
		}
	}
	// Said in pieces while it is open, so that a killed run has it; the pieces join.
	if n2 != 200*time.Second || pieces < 3 {
		t.Errorf("gap of n2: %v in %d pieces", n2, pieces)
	}
	if n3 != 11*time.Second {
		t.Errorf("gap of n3: %v", n3)
	}
}

// A probe that gave something once and then nothing for most of the run is missing, too.
func TestLaneThatWentBlindIsMissing(t *testing.T) {
	t.Parallel()
	dies := func(at int) func(context.Context, int) ([]Reading, error) {
		return func(ctx context.Context, n int) ([]Reading, error) {
			if n >= at {
				return nil, errors.New("nope")
			}
			rs, _ := fine(ctx, n)
			if n >= at/2 {
				return rs, Gap{Node: "n3", Err: errors.New("is down")}
			}
			return rs, nil
		}
	}
	h, _, _ := runLane(t, Spec{Every: time.Second}, 200*time.Second, dies(20))
	if got := h.note(record.NoteProbeMissing); !strings.Contains(got, "script gave nothing for 3m") || !strings.Contains(got, "of n3 for 3m") {
		t.Errorf("required: %q", got)
	}
	h, _, _ = runLane(t, Spec{Every: time.Second, Optional: true}, 200*time.Second, dies(20))
	if got := h.note(record.NoteProbeOptional); h.note(record.NoteProbeMissing) != "" || !strings.Contains(got, "script gave nothing for 3m") {
		t.Errorf("optional: %q", got)
	}
	h, _, _ = runLane(t, Spec{Every: time.Second}, 200*time.Second, dies(150))
	if got := h.note(record.NoteProbeMissing); strings.Contains(got, "script gave nothing for") || !strings.Contains(got, "of n3 for") {
		t.Errorf("for a quarter of the run: %q", got)
	}
}

func TestLaneThatNeverSampledIsMissing(t *testing.T) {
	t.Parallel()
	h, _, _ := runLane(t, Spec{Every: time.Second}, time.Second, func(ctx context.Context, _ int) ([]Reading, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if h.note(record.NoteProbeMissing) == "" {
		t.Errorf("nothing was said: %v", h.events)
	}
}

func TestLaneLeavesAStuckSampleBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		h := &heard{}
		s := &script{do: func(_ context.Context, n int) ([]Reading, error) {
			if n == 3 {
				<-free
			}
			return nil, nil
		}}
		clock := record.NewClock()
		err := NewLane(s, Spec{Every: time.Second}, clock).Run(ctx, h.emit)
		if err == nil || !strings.Contains(err.Error(), "hangs in the kernel") {
			t.Errorf("error %v", err)
		}
		if clock.Now() > 10*time.Second {
			t.Errorf("the lane ended only at %v", clock.Now())
		}
		close(free)
		synctest.Wait()
	})
}

func TestLaneRunsAWatcherBesideItsSamples(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		env := Env{Clock: record.NewClock()}
		p, err := New(Spec{Kind: "tester"}, env)
		if err != nil {
			t.Fatal(err)
		}
		turns := 0
		p.(*tester).sleep = func(ctx context.Context, d time.Duration) bool {
			if turns++; turns == 100 {
				d += 300 * time.Millisecond // the host gave the processor to others
			}
			return record.Wait(ctx, d)
		}
		h := &heard{}
		if err := NewLane(p, Spec{Kind: "tester", Every: time.Second}, env.Clock).Run(ctx, h.emit); err != nil {
			t.Fatal(err)
		}
		es := all[record.Evidence](h.events)
		if len(es) != 1 || es[0].Class != record.ClassTester || es[0].To-es[0].At != 300*time.Millisecond {
			t.Errorf("evidence %v", es)
		}
		if len(h.series("self.goroutines")) < 10 {
			t.Errorf("no samples beside it")
		}
	})
}
