package janitor

import (
	"context"
	"errors"
	"time"
)

// Purged is what one Purge decided and did.
type Purged struct {
	Plan   Plan
	Result Result
}

// purgeTries is how often Purge plans anew when a server changes the directory under it.
const purgeTries = 3

// Purge scans, decides and applies in one go, and plans anew when the directory changes in between. Purged tells what
// was done also next to an error; its Result is the sum of all tries. A plan that is refused is ErrRefused.
func Purge(ctx context.Context, dir Dir, policy Policy, now time.Time, pace Pace) (Purged, error) {
	var done Purged
	for try := 1; ; try++ {
		inv, err := Scan(ctx, dir)
		if err != nil {
			return done, err
		}
		if done.Plan, err = policy.Decide(inv, now); err != nil {
			return done, err
		}
		res, err := done.Plan.Apply(ctx, dir, pace)
		res.Removed = append(done.Result.Removed, res.Removed...)
		res.Gone = append(done.Result.Gone, res.Gone...)
		res.Freed += done.Result.Freed
		done.Result = res
		if try == purgeTries || !errors.Is(err, ErrChanged) {
			return done, err
		}
	}
}
