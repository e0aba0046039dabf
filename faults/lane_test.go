package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/faults"
	"nightshift/faults/faulttest"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// ward is a lane on a double of three nodes, in virtual time.
type ward struct {
	*testing.T
	host *faulttest.Double
	o    faults.Options
	path string

	mu    sync.Mutex
	last  map[string]record.Fault
	order []string // of first events
	notes []record.Note
}

func newWard(t *testing.T, length time.Duration) *ward {
	t.Helper()
	w := &ward{T: t, host: faulttest.NewDouble("n1", "n2", "n3"), last: map[string]record.Fault{}, path: filepath.Join(t.TempDir(), faults.JournalName)}
	w.host.Boots = 3 * time.Second
	j, err := faults.OpenJournal(w.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	w.o = faults.Options{Target: "zk", Lookup: w.host.Cluster, Host: w.host, Journal: j, Rand: seeded(), Clock: record.NewClock(), Length: length,
		Spec: faults.Spec{MaxNodes: 1, Order: faults.Rotate,
			Schedule: faults.Schedule{First: 20 * time.Second, Every: 30 * time.Second, Jitter: 0.2, Quiet: 20 * time.Second},
			Mix: []faults.Item{
				{Kind: "kill", Nodes: "leader", Hold: 5 * time.Second, Recover: 30 * time.Second},
				{Kind: "pause", Nodes: "follower", Hold: 3 * time.Second, Recover: 30 * time.Second},
			}}}
	return w
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(42, 1)) }

func (w *ward) emit(e record.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case record.Fault:
		if _, ok := w.last[e.ID]; !ok {
			w.order = append(w.order, e.ID)
		}
		w.last[e.ID] = e
	case record.Note:
		w.notes = append(w.notes, e)
	}
}

// run runs the lane for d.
func (w *ward) run(d time.Duration) error {
	ctx, cancel := context.WithTimeout(w.Context(), d)
	defer cancel()
	err := faults.NewLane(w.o).Run(ctx, w.emit)
	if ctx.Err() == nil {
		w.Errorf("the lane returned before its time: %v", err)
	}
	return err
}

func (w *ward) allWell() {
	w.Helper()
	c, _ := w.host.Cluster(w.Context())
	for _, n := range c.Nodes {
		if n.Role == target.Unknown {
			w.Errorf("%s does not serve", n.ID)
		}
	}
	if ps := pending(w.T, w.path); len(ps) > 0 {
		w.Errorf("journal: %d pending", len(ps))
	}
}

func TestLaneForSixHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = 6 * time.Hour
		w := newWard(t, length)
		down := map[string]bool{}
		w.host.On = func(node string, state byte) {
			down[node] = state != 'S'
			if down["n1"] && down["n2"] || down["n2"] && down["n3"] || down["n1"] && down["n3"] {
				t.Error("two nodes are under a fault at once")
			}
		}
		if err := w.run(length); err != nil {
			t.Fatal(err)
		}
		plan := w.o.Spec.Preview(seeded(), length)
		if len(plan) < 400 || len(w.order) != len(plan) {
			t.Fatalf("%d planned, %d lived", len(plan), len(w.order))
		}
		for i, id := range w.order {
			f, p := w.last[id], plan[i]
			if f.Step != record.StepHealed || !f.Bit || !f.Healed {
				t.Fatalf("%+v", f)
			}
			if f.Fault != w.o.Spec.Mix[p.Item].Kind || f.Injected-p.At < 0 || f.Injected-p.At > time.Second {
				t.Fatalf("%s injected at %s, planned %+v", f.Fault, f.Injected, p)
			}
			if want := map[string]string{"kill": "leader", "pause": "follower"}[f.Fault]; f.Role != want {
				t.Fatalf("%s on a %s", f.Fault, f.Role)
			}
		}
		w.allWell()
	})
}

// A load that ends before its time, as one of workloads with a quota does, leaves faults out: that is said.
func TestLaneSaysWhatTheLoadLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t, time.Hour)
		if err := w.run(40 * time.Second); err != nil {
			t.Fatal(err)
		}
		if len(w.order) != 2 || w.last[w.order[0]].Step != record.StepHealed || w.last[w.order[0]].Item != 1 {
			t.Fatalf("%+v", w.last)
		}
		if f := w.last[w.order[1]]; f.Item != 2 || f.Fault != "pause" || !strings.Contains(f.Skipped, "the load ended before it was due") {
			t.Errorf("%+v", f)
		}
	})
}

// The load ends in the middle of a fault.
func TestLaneEndsDuringAFault(t *testing.T) {
	for _, after := range []time.Duration{20 * time.Second, 21 * time.Second, 24 * time.Second, 26 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWard(t, time.Hour)
			if err := w.run(after + time.Millisecond); err != nil {
				t.Error(err)
			}
			w.allWell()
		})
	}
}

func TestLaneSkips(t *testing.T) {
	for _, c := range []struct {
		want  string
		plant func(*ward)
	}{
		{"was not healthy within 30s: planted", func(w *ward) { w.o.Healthy = func(context.Context) error { return errors.New("planted") } }},
		{"was not healthy within 30s: n2 does not serve", func(w *ward) { w.host.Kill("n2") }},
		{"does not allow faults", func(w *ward) {
			w.o.Lookup = func(ctx context.Context) (target.Cluster, error) {
				c, err := w.host.Cluster(ctx)
				c.Lab = false
				return c, err
			}
		}},
		{"no node is called", func(w *ward) { w.o.Spec.Mix[0].Nodes = "n9" }},
		{"3 nodes at once, and max_nodes is 1", func(w *ward) { w.o.Spec.Mix[0].Nodes = "all" }},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWard(t, 40*time.Minute)
			c.plant(w)
			w.host.On = func(node string, state byte) { t.Errorf("%s came to state %c", node, state) }
			w.o.Spec.Mix = w.o.Spec.Mix[:1]
			if err := w.run(2 * time.Minute); err != nil {
				t.Error(err)
			}
			if len(w.order) == 0 {
				t.Fatal("no fault at all")
			}
			if f := w.last[w.order[0]]; f.Step != record.StepSkipped || !strings.Contains(f.Skipped, c.want) {
				t.Errorf("want %q: %+v", c.want, f)
			}
		})
	}
}

// What begins too late to end within the load phase is a skip with its reason.
func TestLaneTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t, 60*time.Second)
		from := time.Now()
		w.o.Healthy = func(context.Context) error {
			if time.Since(from) < 30*time.Second {
				return errors.New("not yet")
			}
			return nil
		}
		if err := w.run(time.Minute); err != nil {
			t.Error(err)
		}
		if len(w.order) != 1 || !strings.Contains(w.last[w.order[0]].Skipped, "too late to end") {
			t.Errorf("%+v", w.last)
		}
	})
}

func TestLaneWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t, 30*time.Second)
		if err := w.run(30 * time.Second); err != nil {
			t.Error(err)
		}
		if len(w.notes) != 1 || w.notes[0].Code != record.NoteNotJudged {
			t.Errorf("notes: %+v", w.notes)
		}
	})
}

// Several nodes at once, where the plan allows it.
func TestLaneAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t, time.Minute)
		w.o.Spec.MaxNodes = 3
		w.o.Spec.Mix = []faults.Item{{Kind: "pause", Nodes: "all", Hold: 3 * time.Second, Recover: 30 * time.Second}}
		if err := w.run(time.Minute); err != nil {
			t.Error(err)
		}
		slices.Sort(w.order)
		if !slices.Equal(w.order, []string{"zk-1-pause-n1", "zk-1-pause-n2", "zk-1-pause-n3"}) {
			t.Errorf("%v", w.order)
		}
		w.allWell()
	})
}

// What did not heal within its limit keeps the next faults out until it has.
func TestLaneWaitsForWhatDidNotHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t, 10*time.Minute)
		w.host.Stuck = true
		w.o.Healthy = func(context.Context) error { return nil } // says so although it is not
		go func() {
			time.Sleep(4 * time.Minute)
			w.host.Unstick()
		}()
		if err := w.run(10 * time.Minute); err != nil {
			t.Error(err)
		}
		first := w.last[w.order[0]]
		if first.Step != record.StepFailed || first.Healed || !strings.Contains(first.Error, "did not heal") {
			t.Errorf("first: %+v", first)
		}
		if next := w.last[w.order[1]]; next.Step != record.StepSkipped || !strings.Contains(next.Skipped, "an earlier fault is not undone: kill on n1") {
			t.Errorf("next: %+v", next)
		}
		if last := w.last[w.order[len(w.order)-1]]; last.Step != record.StepHealed {
			t.Errorf("last: %+v", last)
		}
		if len(w.notes) != 1 || !strings.Contains(w.notes[0].Text, "undone later than its limit") {
			t.Errorf("notes: %+v", w.notes)
		}
		w.allWell()
	})
}

// A lane that ends with something in effect says so.
func TestLaneEndsWithAFaultInEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t, time.Hour)
		w.host.Stuck = true
		err := w.run(90 * time.Second)
		if err == nil || !strings.Contains(err.Error(), "kill on n1 may still be in effect") {
			t.Errorf("%v", err)
		}
		if len(pending(t, w.path)) != 1 {
			t.Error("not in the journal")
		}
	})
}

// A broken journal ends the lane.
func TestLaneJournalBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t, time.Hour)
		w.host.On = func(string, byte) { _ = w.o.Journal.Close() }
		err := faults.NewLane(w.o).Run(t.Context(), w.emit)
		if err == nil || !strings.Contains(err.Error(), "journal") {
			t.Errorf("%v", err)
		}
		c, _ := w.host.Cluster(t.Context())
		for _, n := range c.Nodes {
			if n.Role == target.Unknown {
				t.Errorf("%s does not serve", n.ID)
			}
		}
	})
}
