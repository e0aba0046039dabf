package soak

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"nightshift/soak/record"
)

// How many operations of a second are kept whole, for each operation, over all shards.
const (
	keepSlow    = 32 // the slowest by response time
	keepFailed  = 64 // failed or in doubt; those past it compete with the slow ones
	keepControl = 32 // drawn uniformly from all, the kept ones above included
)

// kept holds the operations of one second of one shard that are kept whole.
type kept struct {
	slow     [keepSlow]Sample // a heap, the fastest first
	slows    int
	failed   [keepFailed]Sample
	fails    int
	control  [keepControl]Sample // a reservoir
	seen     uint64              // operations offered
	draw     uint64              // number of the next one that enters the reservoir
	survival float64             // Li's algorithm L: the largest of keepControl draws
}

func (k *kept) reset() { k.slows, k.fails, k.seen = 0, 0, 0 }

// response is the response time of s.
func response(s *Sample) time.Duration { return s.End - s.Intended }

// offer looks at one operation. It must stay cheap: almost every one passes with two comparisons.
func (k *kept) offer(s *Sample, r *rand.Rand) {
	switch {
	case s.Outcome != record.OK && k.fails < keepFailed:
		k.failed[k.fails] = *s
		k.fails++
	case k.slows < keepSlow:
		k.push(s)
	case response(s) > response(&k.slow[0]):
		k.slow[0] = *s
		k.sift(0)
	}
	k.seen++
	switch {
	case k.seen <= keepControl:
		k.control[k.seen-1] = *s
		if k.seen == keepControl {
			k.survival, k.draw = 1, keepControl
			k.skip(r)
		}
	case k.seen == k.draw:
		k.control[r.IntN(keepControl)] = *s
		k.skip(r)
	}
}

// skip draws how many operations pass before the next one enters the reservoir, so that no operation needs a draw
// of its own (Li 1994, algorithm L).
func (k *kept) skip(r *rand.Rand) {
	k.survival *= math.Exp(math.Log(1-r.Float64()) / keepControl)
	gap := math.Log(1-r.Float64()) / math.Log1p(-k.survival)
	k.draw += 1 + uint64(min(gap, 1<<40))
}

func (k *kept) push(s *Sample) {
	i := k.slows
	k.slow[i] = *s
	k.slows++
	for i > 0 {
		up := (i - 1) / 2
		if response(&k.slow[up]) <= response(&k.slow[i]) {
			return
		}
		k.slow[up], k.slow[i] = k.slow[i], k.slow[up]
		i = up
	}
}

func (k *kept) sift(i int) {
	for {
		least := i
		for _, down := range [...]int{2*i + 1, 2*i + 2} {
			if down < k.slows && response(&k.slow[down]) < response(&k.slow[least]) {
				least = down
			}
		}
		if least == i {
			return
		}
		k.slow[i], k.slow[least] = k.slow[least], k.slow[i]
		i = least
	}
}

// choose picks from the shards' kept operations of one second, within the limits for all of them together.
func choose(parts []*kept, r *rand.Rand) (slow, failed, control []Sample) {
	for _, k := range parts {
		slow = append(slow, k.slow[:k.slows]...)
		failed = append(failed, k.failed[:k.fails]...)
	}
	slices.SortFunc(failed, func(a, b Sample) int { return cmp.Compare(a.End, b.End) })
	if len(failed) > keepFailed {
		slow = append(slow, failed[keepFailed:]...)
		failed = failed[:keepFailed]
	}
	slices.SortFunc(slow, func(a, b Sample) int { return cmp.Compare(response(&b), response(&a)) })
	slow = slow[:min(len(slow), keepSlow)]
	return slow, failed, drawControl(parts, r)
}

// drawControl merges reservoirs: each draw comes from a shard with the chance of what that one has seen and not given
// yet, so that every operation of the second had the same chance.
func drawControl(parts []*kept, r *rand.Rand) (control []Sample) {
	left, total := make([]uint64, len(parts)), uint64(0)
	pool := make([][]Sample, len(parts))
	for i, k := range parts {
		left[i], total = k.seen, total+k.seen
		pool[i] = slices.Clone(k.control[:min(k.seen, keepControl)])
	}
	for len(control) < keepControl && total > 0 {
		x, i := r.Uint64N(total), 0
		for x >= left[i] {
			x -= left[i]
			i++
		}
		p, n := pool[i], r.IntN(len(pool[i]))
		control = append(control, p[n])
		p[n] = p[len(p)-1]
		pool[i] = p[:len(p)-1]
		left[i]--
		total--
	}
	return control
}
