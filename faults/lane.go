package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

// Options of a lane of faults.
type Options struct {
	Spec    Spec
	Target  string                          // name of the cluster
	Lookup  target.Lookup                   // the cluster as it is now
	Healthy func(ctx context.Context) error // nil: every node has a role
	Guard   func() error                    // says why nobody would undo a fault if this process died; nil: not asked
	Host    Host
	Journal *Journal
	Rand    *rand.Rand // Seed.Stream(StreamName(Target))
	Clock   record.Clock
	Length  time.Duration // of the load phase
	Kinds   []Info        // nil: Kinds()
}

// healthWithin is how long a fault waits for the cluster to be healthy before it is skipped.
const healthWithin = 30 * time.Second

// Lane injects the faults of a plan into one cluster, one after the other.
type Lane struct {
	o    Options
	life Life
	left []Undo // may still be in effect
}

// NewLane makes the lane. Its Run is to begin with the load phase: from there the times of the schedule count.
func NewLane(o Options) *Lane {
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	l := &Lane{o: o, life: Life{Host: o.Host, Journal: o.Journal, Clock: o.Clock, Guard: o.Guard}}
	if o.Healthy == nil {
		l.o.Healthy = l.everyRole
	}
	return l
}

// Name is faults/TARGET.
func (l *Lane) Name() string { return StreamName(l.o.Target) }

// Run injects until the schedule is done, then waits for ctx. When ctx ends the fault under way is undone at once.
// On return nothing is in effect, or the error says what is.
func (l *Lane) Run(ctx context.Context, emit record.Emit) error {
	begin := l.o.Clock.Now()
	count := 0
	for p := range l.o.Spec.Plan(l.o.Rand, l.o.Length) {
		count++
		if sleep(ctx, begin+p.At-l.o.Clock.Now()) != nil {
			l.skip(p, fmt.Errorf("the load ended before it was due at %s, and before those after it", p.At.Round(time.Millisecond)), emit)
			break
		}
		if err := l.inject(ctx, begin, p, emit); err != nil {
			return errors.Join(err, l.undo(context.WithoutCancel(ctx), DefaultRecover, emit))
		}
	}
	if count == 0 && ctx.Err() == nil && !l.o.Spec.Empty() {
		emit(record.Note{Stamp: l.o.Clock.Stamp(), Lane: l.Name(), Level: "warn", Code: record.NoteNotJudged,
			Text: fmt.Sprintf("no fault fits into a load phase of %s", l.o.Length)})
	}
	<-ctx.Done()
	return l.undo(context.WithoutCancel(ctx), DefaultRecover, emit)
}

// inject lives through one planned fault, on each of its nodes.
func (l *Lane) inject(ctx context.Context, begin time.Duration, p Planned, emit record.Emit) error {
	item := l.o.Spec.Mix[p.Item]
	c := Case{ID: l.id(p), Params: item.Params,
		Item: p.Item + 1, Hold: item.Hold, Recover: item.Recover, Optional: item.Optional}
	var err error
	if c.Info, err = find(l.o.Kinds, item.Kind); err != nil {
		return err
	}
	nodes, system, err := l.ready(ctx, begin, item, p, emit)
	if err != nil {
		l.skip(p, err, emit)
		return nil
	}
	cases := make([]Case, len(nodes))
	for i, n := range nodes {
		cases[i] = c
		cases[i].ID += "-" + n.ID
		cases[i].Scope = Scope{Target: l.o.Target, System: system, Node: n}
	}
	return l.live(ctx, cases, emit)
}

func (l *Lane) id(p Planned) string {
	return fmt.Sprintf("%s-%d-%s", l.o.Target, p.Index+1, l.o.Spec.Mix[p.Item].Kind)
}

// skip records a planned fault that was not injected on any node.
func (l *Lane) skip(p Planned, why error, emit record.Emit) {
	item := l.o.Spec.Mix[p.Item]
	f := record.Fault{Stamp: l.o.Clock.Stamp(), ID: l.id(p), Item: p.Item + 1, Fault: item.Kind, Target: l.o.Target,
		Optional: item.Optional, Limit: item.Recover, Step: record.StepSkipped, Skipped: why.Error()}
	if info, err := find(l.o.Kinds, item.Kind); err == nil { // else inject says it
		f.Class = info.Class
	}
	emit(f)
}

// live leads the lives of one planned fault, at the same time.
func (l *Lane) live(ctx context.Context, cases []Case, emit record.Emit) error {
	results, errs := make([]Result, len(cases)), make([]error, len(cases))
	if len(cases) == 1 { // in this goroutine, so that a panic is the lane's and not the process's
		results[0], errs[0] = l.life.Run(ctx, cases[0], emit)
	} else {
		var wg sync.WaitGroup
		for i, c := range cases {
			wg.Go(func() { results[i], errs[i] = l.life.Run(ctx, c, emit) })
		}
		wg.Wait()
	}
	for _, r := range results {
		if r.Left != nil {
			l.left = append(l.left, *r.Left)
		}
	}
	return errors.Join(errs...)
}

// ready waits until the next fault may begin and chooses its nodes. The error is why it is skipped.
func (l *Lane) ready(ctx context.Context, begin time.Duration, item Item, p Planned, emit record.Emit) ([]target.Node, string, error) {
	hctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	if err := l.undo(hctx, healthWithin, emit); err != nil {
		return nil, "", fmt.Errorf("an earlier fault is not undone: %w", err)
	}
	if err := l.health(hctx); err != nil {
		if ctx.Err() != nil {
			return nil, "", fmt.Errorf("the load ended while it waited for the cluster to be healthy: %w", err)
		}
		return nil, "", fmt.Errorf("%s was not healthy within %s: %w", l.o.Target, healthWithin, err)
	}
	if now := l.o.Clock.Now() - begin; now+item.Hold+item.Recover > l.o.Length {
		return nil, "", fmt.Errorf("it was due at %s and could begin only at %s, too late to end before the load phase",
			p.At.Round(time.Millisecond), now.Round(time.Millisecond))
	}
	c, err := l.o.Lookup(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("look up %s: %w", l.o.Target, err)
	}
	if !c.Lab && !c.Consent.Faults {
		return nil, "", fmt.Errorf("the plan does not allow faults on %s", l.o.Target)
	}
	nodes, err := choose(item.Nodes, c, p.Pick, l.o.Spec.MaxNodes)
	return nodes, c.System, err
}

// health asks until the cluster is healthy; when ctx ends the error says what was wrong last.
func (l *Lane) health(ctx context.Context) error {
	last := errors.New("no answer")
	for {
		call, cancel := context.WithTimeout(ctx, observeCall)
		err := l.o.Healthy(call)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if sleep(ctx, observeMax) != nil {
			return last
		}
	}
}

// everyRole is the health check of a lane that was given none.
func (l *Lane) everyRole(ctx context.Context) error {
	c, err := l.o.Lookup(ctx)
	if err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if n.Role == target.Unknown {
			return fmt.Errorf("%s does not serve", n.ID)
		}
	}
	return nil
}

// undo tries once more what was not seen to heal. The error says what is still in effect.
func (l *Lane) undo(ctx context.Context, limit time.Duration, emit record.Emit) error {
	var still []Undo
	var errs []error
	for _, u := range l.left {
		text, err := l.undoOne(ctx, limit, u)
		if err != nil {
			still = append(still, u)
			errs = append(errs, fmt.Errorf("%s on %s may still be in effect: %w", u.Kind, u.Scope.Node.ID, err))
			continue
		}
		emit(record.Note{Stamp: l.o.Clock.Stamp(), Lane: l.Name(), Level: "warn",
			Text: fmt.Sprintf("%s was undone later than its limit: %s", u.ID, text)})
	}
	l.left = still
	return errors.Join(errs...)
}

func (l *Lane) undoOne(ctx context.Context, limit time.Duration, u Undo) (string, error) {
	info, err := find(l.o.Kinds, u.Kind)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ev, err := mend(ctx, info.New(l.o.Host), u, func() {})
	if err != nil {
		return "", err
	}
	return ev.Text, l.o.Journal.Mark(u.ID, MarkHealed, ev.Text)
}
