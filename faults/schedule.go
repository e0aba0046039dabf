package faults

import (
	"iter"
	"math/rand/v2"
	"slices"
	"time"
)

// StreamName names the random stream of the schedule of a target: the same seed gives the same schedule.
func StreamName(targetName string) string { return "faults/" + targetName }

// Planned is one fault of the schedule.
type Planned struct {
	Index int           // 0, 1, 2, ...
	At    time.Duration // its begin, counted from the begin of the load phase
	Item  int           // index into Spec.Mix
	Pick  uint64        // chooses among the nodes that fit when it begins
}

// Plan yields the faults of a load phase of the given length, in order and as they are asked for, so that it serves
// a minute and a month. It yields none that could not end (hold and recovery limit) before the load phase does, and
// stops at the first such: a longer phase begins with the same faults. It is a pure function of r's stream.
func (s Spec) Plan(r *rand.Rand, length time.Duration) iter.Seq[Planned] {
	return func(yield func(Planned) bool) {
		if s.Empty() {
			return
		}
		at := s.Schedule.First
		for i := 0; ; {
			for _, item := range s.pass(r) {
				if at+s.Mix[item].Hold+s.Mix[item].Recover > length {
					return
				}
				if !yield(Planned{Index: i, At: at, Item: item, Pick: r.Uint64()}) {
					return
				}
				i++
				at += s.Schedule.gap(r)
			}
			at += s.Schedule.Quiet
		}
	}
}

// Preview is the whole schedule. With r = Seed.Stream(StreamName(target)) it is what a run will do.
func (s Spec) Preview(r *rand.Rand, length time.Duration) []Planned {
	return slices.Collect(s.Plan(r, length))
}

// pass is the order of one pass through the mix.
func (s Spec) pass(r *rand.Rand) []int {
	order := make([]int, len(s.Mix))
	for i := range order {
		order[i] = i
	}
	if s.Order == Random {
		r.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	}
	return order
}

// gap draws the time from one begin to the next.
func (s Schedule) gap(r *rand.Rand) time.Duration {
	return time.Duration(float64(s.Every) * (1 + float64(s.Jitter)*(2*r.Float64()-1)))
}
