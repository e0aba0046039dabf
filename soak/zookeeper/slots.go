package zookeeper

import (
	"context"
	"time"

	"nightshift/soak"
	"nightshift/soak/record"
)

// slots hands out the operations of one worker. In an open loop operation k is due at a fixed time whatever became of
// those before it: what is behind goes out at once, what is more than maxLate behind is shed. In a closed loop every
// operation is due when it is asked for. Offsets are counted from begin.
type slots struct {
	pace    soak.Constant // Freq 0: closed loop
	maxLate time.Duration
	limit   uint64 // own quota, sent and shed together; 0: none
	begin   time.Duration

	next uint64 // number of the next operation
}

// newSlots is the schedule of worker i of n, which share the rate evenly and take turns. A quota is shared, too.
func newSlots(p spec, i, n int, begin time.Duration) *slots {
	s := &slots{maxLate: p.maxLate, begin: begin}
	if !p.rate.Closed() {
		s.pace = soak.Constant{
			Freq:   p.rate.Freq / float64(n),
			Per:    p.rate.Per,
			Offset: time.Duration(float64(i) * float64(p.rate.Per) / p.rate.Freq),
		}
	}
	if p.count > 0 {
		s.limit = p.count / uint64(n)
		if uint64(i) < p.count%uint64(n) {
			s.limit++
		}
		if s.limit == 0 {
			s.next, s.limit = 1, 1 // nothing for this worker
		}
	}
	return s
}

func (s *slots) closed() bool { return s.pace.Freq == 0 }

func (s *slots) over() bool { return s.limit > 0 && s.next >= s.limit }

// take is the pure part: at elapsed it says how many operations are shed now, how long to wait for the next one,
// and when that one is (was) due. stop means that the quota is used up.
func (s *slots) take(elapsed time.Duration) (due, wait time.Duration, shed uint64, stop bool) {
	if s.closed() {
		if s.over() {
			return 0, 0, 0, true
		}
		s.next++
		return elapsed, 0, 0, false
	}
	shed = s.shedBefore(elapsed - s.maxLate)
	if s.over() {
		return 0, 0, shed, true
	}
	due = s.pace.Due(s.next)
	s.next++
	return due, max(0, due-elapsed), shed, false
}

// shedBefore drops the operations that were due before t and says how many they were.
func (s *slots) shedBefore(t time.Duration) uint64 {
	if s.closed() || t <= s.pace.Due(s.next) || s.over() {
		return 0
	}
	// The quotient may be off by one where it is close to a whole number; Due decides.
	k := uint64(max(0, float64(t-s.pace.Offset)*s.pace.Freq/float64(s.pace.Per)))
	for k > s.next && s.pace.Due(k-1) >= t {
		k--
	}
	for s.pace.Due(k) < t {
		k++
	}
	if s.limit > 0 {
		k = min(k, s.limit)
	}
	n := k - s.next
	s.next = k
	return n
}

// wait blocks until the next operation may start and returns its intended time by clock.
// shed is told what is dropped. ok is false when the quota is used up or ctx has ended;
// what was due by then and not sent is shed as well.
func (s *slots) wait(ctx context.Context, clock record.Clock, ended func() time.Duration, shed func(uint64)) (intended time.Duration, ok bool) {
	if ctx.Err() != nil {
		s.finish(ended(), shed)
		return 0, false
	}
	due, wait, n, stop := s.take(clock.Now() - s.begin)
	if n > 0 {
		shed(n)
	}
	if stop {
		return 0, false
	}
	if wait > 0 && !sleep(ctx, wait) {
		return 0, false
	}
	return s.begin + due, true
}

// finish sheds what was due by end.
func (s *slots) finish(end time.Duration, shed func(uint64)) {
	if n := s.shedBefore(end - s.begin); n > 0 {
		shed(n)
	}
}

// sleep waits for d; it is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
