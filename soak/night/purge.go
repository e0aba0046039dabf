package night

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/janitor"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// purgeLane lets the janitor clean every node of a target, again and again.
type purgeLane struct {
	spec   purgeSpec
	lookup target.Lookup
	clock  record.Clock
}

// maxFilesNamed bounds the names in one purge event.
const maxFilesNamed = 100

func (l *purgeLane) Name() string { return "janitor/" + l.spec.Target }

// Run implements soak.Lane. A purge that fails is a purge with its error, and the lane goes on.
func (l *purgeLane) Run(ctx context.Context, emit record.Emit) error {
	said := map[string]bool{}
	for next := l.clock.Now() + l.spec.First; ; next = l.after(next) {
		if !record.Wait(ctx, next-l.clock.Now()) {
			return nil
		}
		c, err := l.lookup(ctx)
		if err != nil {
			emit(record.Purge{Stamp: l.clock.Stamp(), To: l.clock.Now(), Target: l.spec.Target, Error: err.Error(), Optional: l.spec.Optional})
			continue
		}
		for _, n := range c.Nodes {
			if len(n.DataDirs) == 0 {
				if !said[n.ID] {
					said[n.ID] = true
					emit(record.Note{Stamp: l.clock.Stamp(), Lane: l.Name(), Level: "warn",
						Text: fmt.Sprintf("%s is not purged: its data directory is not known; name it in the plan under nodes", n.ID)})
				}
				continue
			}
			if ctx.Err() != nil {
				return nil
			}
			emit(l.purge(ctx, n))
		}
	}
}

// after is the first slot after now. What a long purge or a stopped host has missed is not caught up: a burst would
// load a cluster that is behind already.
func (l *purgeLane) after(slot time.Duration) time.Duration {
	slot += l.spec.Every
	if late := l.clock.Now() - slot; late > 0 {
		slot += (late/l.spec.Every + 1) * l.spec.Every
	}
	return slot
}

// purge cleans one node and proves afterwards on the files that it can still be restored.
func (l *purgeLane) purge(ctx context.Context, n target.Node) record.Purge {
	p := purged{record.Purge{Stamp: l.clock.Stamp(), Target: l.spec.Target, Node: n.ID, Dir: n.DataDirs[0], Optional: l.spec.Optional}}
	if err := l.clean(ctx, n, &p); err != nil {
		p.Error = err.Error()
	}
	p.To = l.clock.Now()
	return p.Purge
}

func (l *purgeLane) clean(ctx context.Context, n target.Node, p *purged) (err error) {
	home, err := janitor.Open(n.DataDirs[0], firstOf(n.LogDirs))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	// A purge once begun ends: it is short, and cut short it would look like one that failed.
	ctx = context.WithoutCancel(ctx)
	inv, err := janitor.Scan(ctx, home)
	if err != nil {
		return err
	}
	plan, err := janitor.Policy{Keep: l.spec.Keep}.Decide(inv, time.Now())
	if err != nil {
		return err
	}
	p.Kept, p.Refused = len(plan.Keep), plan.Refused
	if plan.Refused == "" {
		done, err := plan.Apply(ctx, home, janitor.Pace{})
		p.took(done)
		// A file that changed since the scan is a living server at work: nothing more was deleted, the next purge looks again.
		if errors.Is(err, janitor.ErrChanged) {
			p.Refused, err = err.Error(), nil
		}
		if err != nil {
			return err
		}
	}
	r, err := janitor.Verify(ctx, home)
	p.Restorable, p.Zxid = r.Restorable, r.Zxid
	if err == nil && !r.Restorable {
		err = fmt.Errorf("not restorable: %s", r.Reason)
	}
	return err
}

// purged is a purge in the making.
type purged struct{ record.Purge }

// took notes what was deleted, also when it ended early.
func (p *purged) took(r janitor.Result) {
	p.Removed, p.Freed = len(r.Removed), r.Freed
	for i, it := range r.Removed {
		if i == maxFilesNamed {
			break
		}
		p.Files = append(p.Files, it.Path)
	}
}
