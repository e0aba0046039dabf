package night

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

// TestPurgesAreNotCaughtUp: a lane that was held up for ten rounds goes on with the next slot, not with ten purges.
func TestPurgesAreNotCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := record.NewClock()
		var at []time.Duration
		l := &purgeLane{spec: purgeSpec{Target: "zk", First: 10 * time.Second, Every: 20 * time.Second}, clock: clock,
			lookup: func(ctx context.Context) (target.Cluster, error) {
				at = append(at, clock.Now())
				if len(at) == 2 {
					record.Wait(ctx, 205*time.Second)
				}
				return target.Cluster{}, errors.New("planted")
			}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := l.Run(ctx, func(record.Event) {}); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{10, 30, 250, 270, 290}
		if len(at) != len(want) {
			t.Fatalf("purges at %v", at)
		}
		for i, w := range want {
			if at[i] != w*time.Second {
				t.Errorf("purge %d at %v, want %ds", i, at[i], w)
			}
		}
	})
}
