package zookeeper

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"nightshift/soak/config"
)

// Whatever a worker is held up by: every operation of the schedule is either started or shed, in order, never
// before it is due, never started when it is more than maxLate behind, and none that could start is shed.
func TestScheduleIsNeverBent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "workers")
		p := spec{
			rate:    config.Rate{Freq: float64(rapid.IntRange(1, 5000).Draw(t, "freq")), Per: time.Second},
			maxLate: time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "maxLate")),
			count:   rapid.Uint64Range(0, 3000).Draw(t, "count"),
		}
		i := rapid.IntRange(0, n-1).Draw(t, "worker")
		s := newSlots(p, i, n, 0)
		quota := s.limit - s.next
		var now time.Duration
		var started, dropped uint64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			first := s.next
			due, wait, shed, stop := s.take(now)
			dropped += shed
			for k := first; k < first+shed; k++ {
				if now-s.pace.Due(k) <= p.maxLate {
					t.Fatalf("operation %d, due at %v, was shed at %v, within %v", k, s.pace.Due(k), now, p.maxLate)
				}
			}
			if stop {
				break
			}
			if due != s.pace.Due(first+shed) {
				t.Fatalf("operation %d is due at %v, got %v", first+shed, s.pace.Due(first+shed), due)
			}
			if wait != max(0, due-now) || now-due > p.maxLate {
				t.Fatalf("at %v: due %v, wait %v, limit %v", now, due, wait, p.maxLate)
			}
			started++
			now += wait + time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "busy"))
		}
		if p.count > 0 && started+dropped > quota {
			t.Fatalf("%d started and %d shed of a quota of %d", started, dropped, quota)
		}
		tail := s.shedBefore(now)
		if p.count == 0 {
			var want uint64
			for s.pace.Due(want) < now {
				want++
			}
			if all := started + dropped + tail; all != want && !(all == want+1 && tail == 0) {
				t.Fatalf("%d started, %d shed, %d shed at the end; %d were due by %v", started, dropped, tail, want, now)
			}
		}
	})
}

// The workers together follow the rate: their operations interleave evenly.
func TestWorkersShareTheRate(t *testing.T) {
	p := spec{rate: config.Rate{Freq: 30, Per: time.Second}, count: 100}
	var all uint64
	for i := range 7 {
		s := newSlots(p, i, 7, 0)
		if got, want := s.pace.Due(0), time.Duration(i)*time.Second/30; got != want {
			t.Errorf("worker %d begins at %v, want %v", i, got, want)
		}
		if got, want := s.pace.Due(1)-s.pace.Due(0), 7*time.Second/30; got != want {
			t.Errorf("worker %d works each %v, want %v", i, got, want)
		}
		all += s.limit
	}
	if all != 100 {
		t.Errorf("quotas add up to %d, want 100", all)
	}
}

func TestQuotaSmallerThanTheCrew(t *testing.T) {
	for _, rate := range []config.Rate{{}, {Freq: 10, Per: time.Second}} {
		var all int
		for i := range 5 {
			s := newSlots(spec{rate: rate, count: 3}, i, 5, 0)
			for {
				if _, _, _, stop := s.take(time.Hour); stop {
					break
				}
				all++
			}
		}
		if rate.Closed() && all != 3 {
			t.Errorf("%d operations for a quota of 3", all)
		}
	}
}

func TestClosedLoopIsDueAtOnce(t *testing.T) {
	s := newSlots(spec{}, 0, 1, 0)
	for _, now := range []time.Duration{0, time.Second, time.Hour} {
		due, wait, shed, stop := s.take(now)
		if due != now || wait != 0 || shed != 0 || stop {
			t.Errorf("at %v: due %v, wait %v, shed %d, stop %v", now, due, wait, shed, stop)
		}
	}
}
