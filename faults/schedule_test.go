package faults

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nightshift/soak/config"
)

func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func twoFaults() Spec {
	return Spec{Schedule: Schedule{First: 20 * time.Second, Every: 30 * time.Second, Jitter: 0.2, Quiet: 20 * time.Second}, Order: Rotate, MaxNodes: 1,
		Mix: []Item{
			{Kind: "kill", Nodes: "leader", Hold: 5 * time.Second, Recover: 30 * time.Second},
			{Kind: "pause", Nodes: "follower", Hold: 3 * time.Second, Recover: 30 * time.Second},
		}}
}

func TestScheduleSameSeedSameFaults(t *testing.T) {
	s := twoFaults()
	for _, s.Order = range []Order{Rotate, Random} {
		a, b := s.Preview(stream(7), 8*time.Hour), s.Preview(stream(7), 8*time.Hour)
		if !slices.Equal(a, b) || len(a) < 100 {
			t.Errorf("%s: %d and %d faults differ for one seed", s.Order, len(a), len(b))
		}
		if slices.Equal(a, s.Preview(stream(8), 8*time.Hour)) {
			t.Errorf("%s: another seed gives the same faults", s.Order)
		}
	}
}

// The quickstart's mix, by hand: without jitter all times are known.
func TestScheduleWithoutJitter(t *testing.T) {
	s := twoFaults()
	s.Schedule.Jitter = 0
	var got []time.Duration
	var items []int
	for p := range s.Plan(stream(1), 4*time.Minute) {
		got, items = append(got, p.At/time.Second), append(items, p.Item)
	}
	if !slices.Equal(got, []time.Duration{20, 50, 100, 130, 180}) || !slices.Equal(items, []int{0, 1, 0, 1, 0}) {
		t.Errorf("faults %v at %v s", items, got)
	}
}

func TestScheduleIsLazy(t *testing.T) {
	n := 0
	for range twoFaults().Plan(stream(1), 100*365*24*time.Hour) {
		if n++; n == 1000 {
			break
		}
	}
	if n != 1000 {
		t.Errorf("%d faults", n)
	}
}

func TestScheduleEmpty(t *testing.T) {
	if n := len((Spec{}).Preview(stream(1), time.Hour)); n != 0 {
		t.Errorf("%d faults without a mix", n)
	}
	if n := len(twoFaults().Preview(stream(1), 30*time.Second)); n != 0 {
		t.Errorf("%d faults in a phase that is too short", n)
	}
}

func genSpec(t *rapid.T) Spec {
	every := time.Duration(rapid.Int64Range(int64(time.Second), int64(10*time.Minute)).Draw(t, "every"))
	s := Spec{MaxNodes: 1, Order: rapid.SampledFrom([]Order{Rotate, Random}).Draw(t, "order"), Schedule: Schedule{
		First:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "first")),
		Every:  every,
		Jitter: config.Percent(rapid.Float64Range(0, 0.9).Draw(t, "jitter")),
		Quiet:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "quiet")),
	}}
	for range rapid.IntRange(1, 5).Draw(t, "items") {
		s.Mix = append(s.Mix, Item{Kind: "kill", Nodes: "any",
			Hold:    time.Duration(rapid.Int64Range(1, int64(s.Schedule.shortest())-1).Draw(t, "hold")),
			Recover: time.Duration(rapid.Int64Range(1, int64(2*time.Minute)).Draw(t, "recover")),
		})
	}
	return s
}

func TestScheduleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSpec(t)
		length := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "length"))
		seed := rapid.Uint64().Draw(t, "seed")
		ps := s.Preview(stream(seed), length)
		for i, p := range ps {
			item := s.Mix[p.Item]
			if p.Index != i || p.At < 0 || p.At+item.Hold+item.Recover > length {
				t.Fatalf("fault %d: %+v does not fit into %s", i, p, length)
			}
			if i == 0 {
				if p.At != s.Schedule.First {
					t.Fatalf("first at %s", p.At)
				}
				continue
			}
			before := ps[i-1]
			gap, every, jitter := p.At-before.At, float64(s.Schedule.Every), float64(s.Schedule.Jitter)
			if i%len(s.Mix) == 0 {
				gap -= s.Schedule.Quiet
			}
			if float64(gap) < every*(1-jitter)-1 || float64(gap) > every*(1+jitter)+1 {
				t.Fatalf("gap %d is %s", i, gap)
			}
			if before.At+s.Mix[before.Item].Hold > p.At {
				t.Fatalf("fault %d begins while the one before is held", i)
			}
		}
		for k := 0; k+len(s.Mix) <= len(ps); k += len(s.Mix) { // each pass has each item once
			seen := map[int]bool{}
			for _, p := range ps[k : k+len(s.Mix)] {
				seen[p.Item] = true
			}
			if len(seen) != len(s.Mix) {
				t.Fatalf("pass at %d has only %v", k, seen)
			}
		}
		longer := s.Preview(stream(seed), length+time.Hour)
		if len(longer) < len(ps) || !slices.Equal(longer[:len(ps)], ps) {
			t.Fatal("a longer phase begins with other faults")
		}
	})
}
