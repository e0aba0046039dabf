package faults_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/faults"
	"nightshift/faults/faulttest"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// scene is a life on a double, in virtual time.
type scene struct {
	*testing.T
	host *faulttest.Double
	life faults.Life
	path string
	seen []record.Fault
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, host: faulttest.NewDouble("n1", "n2", "n3"), path: filepath.Join(t.TempDir(), faults.JournalName)}
	s.host.Boots = 2 * time.Second
	j, err := faults.OpenJournal(s.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	s.life = faults.Life{Host: s.host, Journal: j, Clock: record.NewClock()}
	return s
}

func (s *scene) run(ctx context.Context, name, node string) (faults.Result, error) {
	s.Helper()
	c, err := s.host.Cluster(ctx)
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(c.Nodes, func(n target.Node) bool { return n.ID == node })
	return s.life.Run(ctx, faults.Case{ID: "zk-1-" + name, Info: kind(s.T, name), Hold: 5 * time.Second, Recover: 30 * time.Second,
		Scope: faults.Scope{Target: "zk", System: "zookeeper", Node: c.Nodes[i]}}, s.emit)
}

func (s *scene) emit(e record.Event) {
	if f, ok := e.(record.Fault); ok {
		s.seen = append(s.seen, f)
	}
}

func (s *scene) steps() string {
	var steps []string
	for _, f := range s.seen {
		steps = append(steps, f.Step)
	}
	return strings.Join(steps, " ")
}

func (s *scene) last() record.Fault { return s.seen[len(s.seen)-1] }

// pending is how many faults the journal still has to undo.
func (s *scene) pending() int {
	s.Helper()
	r := faults.NewReader(s.path)
	if err := r.Refresh(); err != nil {
		s.Fatal(err)
	}
	return len(r.Pending())
}

func (s *scene) allServe() {
	s.Helper()
	c, _ := s.host.Cluster(s.Context())
	for _, n := range c.Nodes {
		if n.Role == target.Unknown {
			s.Errorf("%s does not serve", n.ID)
		}
	}
}

func TestLifeWhole(t *testing.T) {
	for _, name := range []string{"kill", "pause"} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			r, err := s.run(t.Context(), name, "n1")
			if err != nil || r.Left != nil {
				t.Fatalf("%s: left %v: %v", name, r.Left, err)
			}
			if s.steps() != "prepared injected bit reverted healed" {
				t.Errorf("%s: steps %s", name, s.steps())
			}
			f := s.last()
			if !f.Bit || !f.Healed || f.Error != "" || f.Skipped != "" || len(f.Proof) != 2 || f.Limit != 30*time.Second ||
				f.Role != "leader" || f.Node != "n1" || f.Class != faults.ClassProcess {
				t.Errorf("%s: %+v", name, f)
			}
			if f.Injected > f.From || f.Reverted-f.From < 5*time.Second || f.To < f.Reverted {
				t.Errorf("%s: times %s %s %s %s", name, f.Injected, f.From, f.Reverted, f.To)
			}
			if s.pending() != 0 {
				t.Errorf("%s: still in the journal", name)
			}
			s.allServe()
		})
	}
}

// Planted: a fault without effect must not count as one.
func TestLifeDoesNotBite(t *testing.T) {
	for _, name := range []string{"kill", "pause"} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.host.Deaf = true
			r, err := s.run(t.Context(), name, "n2")
			f := s.last()
			if err != nil || r.Left != nil || f.Step != record.StepFailed || f.Bit || !f.Healed || !strings.HasPrefix(f.Error, "did not bite within 5s") {
				t.Errorf("%s: %+v, left %v: %v", name, f, r.Left, err)
			}
			if s.pending() != 0 {
				t.Errorf("%s: still in the journal", name)
			}
			s.allServe()
		})
	}
}

// Planted: a fault that stays is said, and stays in the journal.
func TestLifeDoesNotHeal(t *testing.T) {
	for _, name := range []string{"kill", "pause"} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.host.Stuck = true
			r, err := s.run(t.Context(), name, "n2")
			f := s.last()
			if err != nil || r.Left == nil || f.Step != record.StepFailed || !f.Bit || f.Healed || !strings.Contains(f.Error, "did not heal within 30s") {
				t.Errorf("%s: %+v, left %v: %v", name, f, r.Left, err)
			}
			if s.pending() != 1 {
				t.Errorf("%s: not in the journal any more", name)
			}
			s.host.Stuck = false
			var said []string
			if err := faults.Heal(t.Context(), s.path, s.host, func(text string) { said = append(said, text) }); err != nil {
				t.Errorf("%s: heal: %v", name, err)
			}
			if s.pending() != 0 {
				t.Errorf("%s: not healed: %q", name, said)
			}
			s.allServe()
		})
	}
}

// A server that dies while it starts is started again within the limit.
func TestLifeStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		starts := 0
		s.host.On = func(node string, state byte) {
			if state == 'S' {
				if starts++; starts == 1 {
					s.host.Kill(node)
				}
			}
		}
		if _, err := s.run(t.Context(), "kill", "n1"); err != nil {
			t.Fatal(err)
		}
		if f := s.last(); f.Step != record.StepHealed || starts != 2 {
			t.Errorf("%d starts: %+v", starts, f)
		}
		s.allServe()
	})
}

// Planted: somebody else undoes the fault in the middle of its hold.
func TestLifeDoesNotLast(t *testing.T) {
	for name, undo := range map[string]func(s *scene, n target.Node){
		"kill":  func(s *scene, n target.Node) { _ = s.host.Start(s.Context(), n) },
		"pause": func(s *scene, n target.Node) { _ = s.host.Signal(n.Proc, syscall.SIGCONT) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			c, _ := s.host.Cluster(t.Context())
			go func() {
				time.Sleep(time.Second)
				undo(s, c.Nodes[0])
			}()
			r, err := s.run(t.Context(), name, "n1")
			if err != nil || r.Left != nil {
				t.Fatalf("%s: left %v: %v", name, r.Left, err)
			}
			f := s.last()
			if f.Bit || !f.Healed || f.Step != record.StepFailed || !strings.Contains(f.Error, "over before its hold of 5s") {
				t.Errorf("%s: %+v", name, f)
			}
			s.allServe()
		})
	}
}

func TestLifeCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.run(ctx, "pause", "n2"); err != nil {
			t.Fatal(err)
		}
		f := s.last()
		if f.Step != record.StepHealed || f.Reverted-f.From > 2*time.Second || !slices.ContainsFunc(f.Proof, func(p string) bool { return strings.HasPrefix(p, "hold cut short") }) {
			t.Errorf("%+v", f)
		}
		s.allServe()
	})
}

// Cut short at any of its steps, nothing stays.
func TestLifeCutShortAtEachStep(t *testing.T) {
	for _, step := range []string{record.StepPrepared, record.StepInjected, record.StepBit, record.StepReverted} {
		for _, name := range []string{"kill", "pause"} {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c, _ := s.host.Cluster(ctx)
				r, err := s.life.Run(ctx, faults.Case{ID: "x", Info: kind(t, name), Hold: time.Second, Recover: 30 * time.Second, Scope: faults.Scope{Node: c.Nodes[0]}},
					func(e record.Event) {
						s.emit(e)
						if s.last().Step == step {
							cancel()
						}
					})
				if err != nil || r.Left != nil || !s.last().Healed {
					t.Errorf("%s at %s: %+v: %v", name, step, s.last(), err)
				}
				if s.pending() != 0 {
					t.Errorf("%s at %s: still in the journal", name, step)
				}
				s.allServe()
			})
		}
	}
}

// A panic of whatever is called on the way does not leave a fault in effect.
func TestLifePanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		c, _ := s.host.Cluster(t.Context())
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
			s.allServe()
		}()
		_, _ = s.life.Run(t.Context(), faults.Case{ID: "x", Info: kind(t, "pause"), Hold: time.Second, Recover: time.Second, Scope: faults.Scope{Node: c.Nodes[0]}},
			func(e record.Event) {
				if e.(record.Fault).Step == record.StepBit {
					panic("planted")
				}
			})
	})
}

func TestLifeSkips(t *testing.T) {
	for want, plant := range map[string]func(*scene){
		"zk was not healthy: planted":                      func(s *scene) { s.life.Healthy = func(context.Context) error { return errors.New("planted") } },
		"nobody would undo it if nightshift died: planted": func(s *scene) { s.life.Guard = func() error { return errors.New("planted") } },
		"is not running":                                   func(s *scene) { s.host.Kill("n1") },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			plant(s)
			r, err := s.run(t.Context(), "pause", "n1")
			f := s.last()
			if err != nil || r.Left != nil || f.Step != record.StepSkipped || !strings.Contains(f.Skipped, want) || len(s.seen) != 1 {
				t.Errorf("want %q: %+v: %v", want, f, err)
			}
			if s.pending() != 0 {
				t.Error("in the journal")
			}
		})
	}
}

// Without an undo record on disk nothing is injected, and that ends the lane.
func TestLifeWithoutJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.host.On = func(node string, state byte) { t.Errorf("%s came to state %c", node, state) }
		if err := s.life.Journal.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := s.run(t.Context(), "kill", "n1")
		if !errors.Is(err, os.ErrClosed) || s.last().Step != record.StepSkipped {
			t.Errorf("%+v: %v", s.last(), err)
		}
	})
}

// A journal that can't be written any more while a fault is in effect: it is undone at once, and the lane ends.
func TestLifeJournalBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.host.On = func(string, byte) { _ = s.life.Journal.Close() }
		r, err := s.run(t.Context(), "pause", "n1")
		f := s.last()
		if !errors.Is(err, os.ErrClosed) || r.Left != nil || !f.Healed || f.Step != record.StepFailed || f.Reverted-f.Injected > time.Second {
			t.Errorf("%+v: %v", f, err)
		}
		s.allServe()
	})
}
