package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/record"
)

// diary collects what a run says, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
	notes []record.Note
	finds []record.Finding
}

func (d *diary) emit(e record.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch v := e.(type) {
	case record.Phase:
		d.lines = append(d.lines, v.Name+" "+v.At.Round(time.Second).String()+" "+v.Text)
	case record.Note:
		d.notes = append(d.notes, v)
	case record.Finding:
		d.finds = append(d.finds, v)
	}
}

func (d *diary) say(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, s)
}

func (d *diary) died(t *testing.T, lane, why string) {
	t.Helper()
	for _, n := range d.notes {
		if n.Code == record.NoteLaneDied && n.Lane == lane && strings.Contains(n.Text, why) {
			return
		}
	}
	t.Errorf("no note that %s died of %q: %+v", lane, why, d.notes)
}

// actor is a workload of which each step can be replaced.
type actor struct {
	d     *diary
	setup func(context.Context) error
	run   func(context.Context) error
	check func(context.Context) ([]record.Finding, error)
}

func (a actor) Name() string { return "actor" }

func (a actor) Setup(ctx context.Context) error {
	if a.setup != nil {
		return a.setup(ctx)
	}
	return nil
}

func (a actor) Run(ctx context.Context, _ *Recorder) error {
	if a.run != nil {
		return a.run(ctx)
	}
	<-ctx.Done()
	a.d.say("workload ended")
	return nil
}

func (a actor) Check(ctx context.Context) ([]record.Finding, error) {
	if a.check != nil {
		return a.check(ctx)
	}
	a.d.say("checked")
	return []record.Finding{{Code: "x", Text: "same each time"}}, nil
}

func (a actor) Close() error { return nil }

func (a actor) Clean(context.Context) ([]record.Finding, error) {
	a.d.say("cleaned")
	return nil, nil
}

// lane runs f.
type lane struct {
	name string
	f    func(context.Context) error
}

func (l lane) Name() string { return l.name }

func (l lane) Run(ctx context.Context, _ record.Emit) error { return l.f(ctx) }

// stage runs a runner in virtual time; change makes it special.
func stage(t *testing.T, change func(*Runner, *diary, context.CancelFunc)) (*diary, error) {
	t.Helper()
	d := &diary{}
	var err error
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		clock := record.NewClock()
		r := &Runner{Clock: clock, Emit: d.emit, Warmup: 10 * time.Second, Load: time.Minute, Drain: 5 * time.Second}
		r.Parts = []Part{{actor{d: d}, NewRecorder("actor", clock, 1)}}
		change(r, d, cancel)
		err = r.Run(ctx, t.Context())
		time.Sleep(2 * time.Hour) // virtual: what the run gave up on ends too
	})
	return d, err
}

func TestOrderOfARun(t *testing.T) {
	d, err := stage(t, func(r *Runner, d *diary, _ context.CancelFunc) {
		r.Probes = []Lane{lane{"probe", func(ctx context.Context) error { <-ctx.Done(); d.say("probe ended"); return nil }}}
		r.Loaded = []Lane{lane{"faults", func(ctx context.Context) error {
			d.say("faults begin")
			<-ctx.Done()
			d.say("faults undone")
			return nil
		}}}
		r.Restart = func(context.Context) error { d.say("restarted"); return nil }
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"setup 0s ", "warmup 0s ", "load 10s ", "faults begin", "faults undone", "drain 1m10s ", "workload ended", "check 1m10s ", "checked",
		"restart 1m10s ", "restarted", "checked", "cleaned", "probe ended", "end 1m10s done"}
	if strings.Join(d.lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("the run went\n%s", strings.Join(d.lines, "\n"))
	}
	if len(d.finds) != 1 {
		t.Errorf("a finding that both checks have was said %d times", len(d.finds))
	}
}

func TestInterruptedRun(t *testing.T) {
	d, err := stage(t, func(r *Runner, d *diary, cancel context.CancelFunc) {
		r.Loaded = []Lane{lane{"faults", func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			d.say("faults undone")
			return nil
		}}}
		r.Restart = func(context.Context) error { d.say("restarted"); return nil }
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	got := strings.Join(d.lines, "\n")
	if !strings.Contains(got, "faults undone\ndrain 10s") || !strings.Contains(got, "checked\ncleaned\nend 10s interrupted") || strings.Contains(got, "restarted") {
		t.Errorf("the run went\n%s", got)
	}
}

// hasty is a workload whose servers answer until the second interrupt.
type hasty struct{ actor }

func (h hasty) Check(ctx context.Context) ([]record.Finding, error) { return nil, ctx.Err() }
func (h hasty) Clean(ctx context.Context) ([]record.Finding, error) { return nil, ctx.Err() }

// That nobody waited for the clean-up is no failure of the cluster.
func TestQuitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, soft := context.WithCancel(t.Context())
		hard, quit := context.WithCancel(t.Context())
		d, clock := &diary{}, record.NewClock()
		r := &Runner{Clock: clock, Emit: d.emit, Load: time.Minute, Drain: 5 * time.Second, Parts: []Part{{hasty{actor{d: d}}, NewRecorder("actor", clock, 1)}}}
		r.Loaded = []Lane{lane{"interrupts", func(ctx context.Context) error { soft(); quit(); <-ctx.Done(); return nil }}}
		if err := r.Run(ctx, hard); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if len(d.finds) != 2 {
			t.Fatalf("findings %+v", d.finds)
		}
		for _, f := range d.finds {
			if f.Severity != record.Inconclusive || !strings.Contains(f.Text, "quit at once") {
				t.Errorf("%s %s: %s", f.Code, f.Severity, f.Text)
			}
		}
	})
}

func TestLanesThatDie(t *testing.T) {
	d, err := stage(t, func(r *Runner, _ *diary, _ context.CancelFunc) {
		r.Loaded = []Lane{
			lane{"early", func(context.Context) error { return nil }},
			lane{"broken", func(context.Context) error { return errors.New("planted") }},
			lane{"cancelled", func(context.Context) error { return fmt.Errorf("its own part: %w", context.Canceled) }},
			lane{"panics", func(context.Context) error { panic("planted panic") }},
		}
		r.Probes = []Lane{lane{"stubborn", func(ctx context.Context) error { <-ctx.Done(); <-time.After(time.Hour); return nil }}}
	})
	if err != nil {
		t.Fatal(err)
	}
	d.died(t, "early", "ended before")
	d.died(t, "broken", "planted")
	d.died(t, "cancelled", "its own part")
	d.died(t, "panics", "planted panic")
	d.died(t, "runner", "stubborn")
}

func TestWorkloadsThatFail(t *testing.T) {
	d, err := stage(t, func(r *Runner, d *diary, _ context.CancelFunc) {
		r.Parts[0].Workload = actor{d: d, setup: func(context.Context) error { return errors.New("no server") }}
	})
	if err == nil || !strings.Contains(d.lines[len(d.lines)-1], "failed: set up actor: no server") {
		t.Errorf("set-up failed: %v %v", err, d.lines)
	}
	d, err = stage(t, func(r *Runner, d *diary, _ context.CancelFunc) {
		r.Parts[0].Workload = actor{d: d, run: func(context.Context) error { return errors.New("planted") }}
	})
	if err != nil {
		t.Fatal(err)
	}
	d.died(t, "actor", "planted")
	d, _ = stage(t, func(r *Runner, d *diary, _ context.CancelFunc) {
		r.Parts[0].Workload = actor{d: d, run: func(ctx context.Context) error { <-ctx.Done(); <-time.After(time.Minute); return nil }}
	})
	d.died(t, "runner", "did not end within 5s")
	d, _ = stage(t, func(r *Runner, d *diary, _ context.CancelFunc) {
		r.Parts[0].Workload = actor{d: d, check: func(context.Context) ([]record.Finding, error) { return nil, errors.New("no server") }}
	})
	if len(d.finds) != 1 || d.finds[0].Severity != record.Inconclusive {
		t.Errorf("a check that could not be made: %+v", d.finds)
	}
}

func TestRestartThatFails(t *testing.T) {
	d, err := stage(t, func(r *Runner, _ *diary, _ context.CancelFunc) {
		r.Restart = func(context.Context) error { return errors.New("planted") }
	})
	if err != nil || len(d.notes) != 1 || d.notes[0].Code != record.NoteRestartFailed {
		t.Errorf("%v %+v", err, d.notes)
	}
}

func TestRecordThatBreaks(t *testing.T) {
	d, err := stage(t, func(r *Runner, _ *diary, _ context.CancelFunc) {
		broken := make(chan struct{})
		close(broken)
		r.Broken = broken
	})
	if !errors.Is(err, ErrRecord) || !strings.Contains(strings.Join(d.lines, "\n"), "checked") {
		t.Errorf("%v %v", err, d.lines)
	}
}
