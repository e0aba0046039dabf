package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/soak/target"
)

// How mend goes on while a fault is not healed.
const (
	observeCall = 2 * time.Second // one look; a server that hangs must not hold up the next
	observeMin  = 20 * time.Millisecond
	observeMax  = 250 * time.Millisecond // four questions a second do not load a server
	revertAgain = 5 * time.Second        // a server that died while it started is started again
)

// observe looks once.
func observe(ctx context.Context, f Fault, u Undo, ph Phase) (Evidence, error) {
	ctx, cancel := context.WithTimeout(ctx, observeCall)
	defer cancel()
	return f.Observe(ctx, u, ph)
}

// await looks until the phase is seen, or until ctx ends; then the error says what was seen last.
func await(ctx context.Context, f Fault, u Undo, ph Phase) (Evidence, error) {
	last := "nothing"
	for wait := observeMin; ; wait = min(wait*3/2, observeMax) {
		ev, err := observe(ctx, f, u, ph)
		switch {
		case err == nil && ev.Seen:
			return ev, nil
		case err == nil:
			last = ev.Text
		case ctx.Err() == nil || last == "nothing":
			last = err.Error()
		}
		if err := sleep(ctx, wait); err != nil {
			return Evidence{}, fmt.Errorf("last seen: %s", last)
		}
	}
}

// mend reverts until that succeeds, and looks until it is seen healed, or until ctx ends; then the error says what
// was seen last. It may be called again, by any process. reverted is called once, when the first revert has succeeded.
// An error that is target.ErrNoOwner comes back at once: who owned the server is gone and will not come back.
func mend(ctx context.Context, f Fault, u Undo, reverted func()) (Evidence, error) {
	last := "nothing"
	var next time.Time // of a revert
	done := false
	for wait := observeMin; ; wait = min(wait*3/2, observeMax) {
		if !time.Now().Before(next) {
			err := f.Revert(ctx, u)
			if errors.Is(err, target.ErrNoOwner) {
				return Evidence{}, err
			}
			if err != nil {
				last = err.Error()
			} else {
				next = time.Now().Add(revertAgain)
				if !done {
					done = true
					reverted()
				}
			}
		}
		ev, err := observe(ctx, f, u, Healed)
		switch {
		case errors.Is(err, target.ErrNoOwner):
			return Evidence{}, err
		case err == nil && ev.Seen:
			if !done { // what the host shows counts for more than what the revert returned
				reverted()
			}
			return ev, nil
		case done && err == nil:
			last = ev.Text
		case done && ctx.Err() == nil:
			last = err.Error()
		}
		if err := sleep(ctx, wait); err != nil {
			return Evidence{}, fmt.Errorf("last seen: %s", last)
		}
	}
}
