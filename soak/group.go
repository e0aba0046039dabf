package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nightshift/soak/record"
)

// group is a set of lanes that run at once.
type group struct {
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once
	left   func(names []string)
	mu     sync.Mutex
	open   map[string]bool
}

// start runs lanes until stop. A lane that returns before that has died: its name and reason are recorded.
func (r *Runner) start(parent context.Context, lanes []Lane) *group {
	ctx, cancel := context.WithCancel(parent)
	g := &group{cancel: cancel, done: make(chan struct{}), open: map[string]bool{}}
	g.left = func(names []string) {
		r.note(record.Note{Lane: "runner", Level: "error", Code: record.NoteLaneDied,
			Text: fmt.Sprintf("lanes did not stop within %s: %v", laneLimit, names)})
	}
	var wg sync.WaitGroup
	for _, l := range lanes {
		g.open[l.Name()] = true
	}
	for _, l := range lanes {
		wg.Go(func() {
			err := guard(func() error { return l.Run(ctx, r.Emit) })
			stopped := ctx.Err() != nil
			g.ended(l.Name())
			if err == nil && !stopped {
				err = errors.New("ended before the run did")
			}
			if err != nil && !(stopped && errors.Is(err, context.Canceled)) {
				r.note(record.Note{Lane: l.Name(), Level: "error", Code: record.NoteLaneDied, Text: err.Error()})
			}
		})
	}
	go func() { wg.Wait(); close(g.done) }()
	return g
}

func (g *group) ended(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, name)
}

// stop ends the lanes and waits for them, at most laneLimit, or until hard ends.
func (g *group) stop(hard context.Context) {
	g.once.Do(func() {
		g.cancel()
		t := time.NewTimer(laneLimit)
		defer t.Stop()
		select {
		case <-g.done:
		case <-hard.Done():
		case <-t.C:
			g.mu.Lock()
			var names []string
			for n := range g.open {
				names = append(names, n)
			}
			g.mu.Unlock()
			g.left(names)
		}
	})
}

// work is the workloads while they run.
type work struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when all have returned; nil when there are none
}

func (r *Runner) work(hard context.Context) *work {
	ctx, cancel := context.WithCancel(hard)
	w := &work{cancel: cancel}
	if len(r.Parts) == 0 {
		return w
	}
	w.done = make(chan struct{})
	var wg sync.WaitGroup
	for _, p := range r.Parts {
		wg.Go(func() {
			err := guard(func() error { return p.Workload.Run(ctx, p.Recorder) })
			if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
				r.note(record.Note{Lane: p.Workload.Name(), Level: "error", Code: record.NoteLaneDied, Text: err.Error()})
			}
		})
	}
	go func() { wg.Wait(); close(w.done) }()
	return w
}

// drain tells the workloads to send nothing new and waits until outstanding operations have ended.
func (w *work) drain(hard context.Context, limit time.Duration) error {
	w.cancel()
	if w.done == nil {
		return nil
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-w.done:
		return nil
	case <-hard.Done():
		return fmt.Errorf("drain: %w", context.Cause(hard))
	case <-t.C:
		return fmt.Errorf("drain: workloads did not end within %s", limit)
	}
}

// flushAfter is how long after a whole second its windows are written, so that what ended in it is in.
const flushAfter = 20 * time.Millisecond

// flush writes the recorders' windows each second, until the func it returns is called; that writes the last ones.
func (r *Runner) flush(hard context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(hard)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			now := r.Clock.Now()
			t := time.NewTimer(now.Truncate(time.Second) + time.Second + flushAfter - now)
			select {
			case <-ctx.Done():
				t.Stop()
				r.flushAll()
				return
			case <-t.C:
				r.flushAll()
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (r *Runner) flushAll() {
	for _, p := range r.Parts {
		p.Recorder.Flush(r.Emit)
	}
}
