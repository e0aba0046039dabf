package faults

import (
	"strings"
	"time"

	"nightshift/soak/config"
)

// Spec is the `faults` part of a plan: which faults, on which nodes, when.
type Spec struct {
	Target   string // key of the target; may be empty in a plan with one target
	Schedule Schedule
	Order    Order
	Mix      []Item
	MaxNodes int // blast radius: how many nodes may be under a fault at once
}

// Schedule is when faults begin, counted from the begin of the load phase.
type Schedule struct {
	First  time.Duration  `yaml:"first"`  // the first fault; absent: Every
	Every  time.Duration  `yaml:"every"`  // from the begin of one fault to the begin of the next
	Jitter config.Percent `yaml:"jitter"` // each gap is drawn from Every ± this share
	Quiet  time.Duration  `yaml:"quiet"`  // added after each pass through the mix, so that the baseline can be seen
}

// Order in which a pass goes through the mix.
type Order string

// Orders. Both inject every item once a pass.
const (
	Rotate Order = "rotate" // as written
	Random Order = "random" // shuffled anew for each pass
)

// Item of the mix.
type Item struct {
	Kind     string
	Nodes    string // leader, follower, any, all, or ids as in "n1" or "n1,n3"
	Hold     time.Duration
	Recover  time.Duration // limit for healing, and for the service's recovery after it
	Optional bool          // a skip, or a fault that did not bite, does not make the run inconclusive
	Params   Params        // as Info.Decode gave them
}

// Empty says that the plan has no faults.
func (s Spec) Empty() bool { return len(s.Mix) == 0 }

type rawSpec struct {
	Target   string        `yaml:"target"`
	Schedule Schedule      `yaml:"schedule"`
	Order    string        `yaml:"order"`
	Mix      []config.Node `yaml:"mix"`
	MaxNodes int           `yaml:"max_nodes"`
}

type rawItem struct {
	Kind     string        `yaml:"kind"`
	Nodes    string        `yaml:"nodes"`
	Hold     time.Duration `yaml:"hold"`
	Recover  time.Duration `yaml:"recover"`
	Optional bool          `yaml:"optional"`
	With     config.Node   `yaml:"with"` // the kind's own parameters
}

const (
	leastEvery = time.Second
	mostJitter = config.Percent(0.9)
)

// Decode reads and validates the `faults` part of a plan; an absent part is an empty Spec.
func Decode(n config.Node) (Spec, config.Problems) { return decode(n, Kinds()) }

func decode(n config.Node, kinds []Info) (Spec, config.Problems) {
	if n.IsZero() {
		return Spec{}, nil
	}
	raw := rawSpec{Schedule: Schedule{First: -1, Every: 30 * time.Second, Jitter: 0.2}, Order: string(Rotate), MaxNodes: 1}
	ps := n.Decode(&raw)
	if len(ps) > 0 {
		// A value that can't be read would be blamed a second time below.
		for _, it := range raw.Mix {
			_, more := decodeItem(it, raw, kinds, false)
			ps = append(ps, more...)
		}
		return Spec{}, ps
	}
	s := Spec{Target: raw.Target, Schedule: raw.Schedule, Order: Order(raw.Order), MaxNodes: raw.MaxNodes}
	if n.Field("schedule").Field("first").IsZero() {
		s.Schedule.First = s.Schedule.Every
	}
	raw.Schedule = s.Schedule
	ps = append(ps, s.Schedule.problems(n.Field("schedule"))...)
	if s.Order != Rotate && s.Order != Random {
		ps = append(ps, n.Field("order").Problemf("%q is no order; write %s or %s", raw.Order, Rotate, Random))
	}
	if s.MaxNodes < 1 {
		ps = append(ps, n.Field("max_nodes").Problemf("must be 1 or more"))
	}
	if len(raw.Mix) == 0 {
		ps = append(ps, at(n, "mix").Problemf("the mix is empty; write at least one {kind: ..., nodes: ...}, or leave faults out"))
	}
	for _, it := range raw.Mix {
		item, more := decodeItem(it, raw, kinds, len(ps) == 0)
		s.Mix, ps = append(s.Mix, item), append(ps, more...)
	}
	if len(ps) > 0 {
		return Spec{}, ps
	}
	return s, nil
}

func (s Schedule) problems(n config.Node) (ps config.Problems) {
	if s.Every < leastEvery {
		ps = append(ps, at(n, "every").Problemf("must be %s or more", leastEvery))
	}
	if s.First < 0 {
		ps = append(ps, at(n, "first").Problemf("must not be negative"))
	}
	if s.Quiet < 0 {
		ps = append(ps, at(n, "quiet").Problemf("must not be negative"))
	}
	if s.Jitter > mostJitter {
		ps = append(ps, at(n, "jitter").Problemf("must be %s or less", mostJitter))
	}
	return ps
}

// shortest is the smallest gap between the begins of two faults.
func (s Schedule) shortest() time.Duration {
	return time.Duration(float64(s.Every) * (1 - float64(s.Jitter)))
}

// decodeItem reads one item of the mix; gaps says that the schedule is sound and the hold can be held against it.
func decodeItem(n config.Node, raw rawSpec, kinds []Info, gaps bool) (Item, config.Problems) {
	r := rawItem{Nodes: "any", Hold: DefaultHold, Recover: DefaultRecover}
	ps := n.Decode(&r)
	if len(ps) > 0 {
		return Item{}, ps
	}
	item := Item{Kind: r.Kind, Nodes: r.Nodes, Hold: r.Hold, Recover: r.Recover, Optional: r.Optional}
	info, err := find(kinds, r.Kind)
	switch {
	case r.Kind == "":
		ps = append(ps, n.Problemf("a fault needs a kind"))
	case err != nil:
		ps = append(ps, n.Field("kind").Problemf("%v", err))
	default:
		item.Params, ps = info.Decode(r.With)
	}
	switch {
	case r.Hold <= 0:
		ps = append(ps, at(n, "hold").Problemf("must be more than 0"))
	case gaps && r.Hold >= raw.Schedule.shortest():
		ps = append(ps, at(n, "hold").Problemf("a hold of %s does not fit between two faults, which may be only %s apart; hold for less, or make every longer",
			r.Hold, raw.Schedule.shortest()))
	}
	if r.Recover <= 0 {
		ps = append(ps, at(n, "recover").Problemf("must be more than 0"))
	}
	ids := strings.Split(r.Nodes, ",")
	switch {
	case strings.TrimSpace(r.Nodes) == "":
		ps = append(ps, at(n, "nodes").Problemf("write leader, follower, any, all, or ids as in n1,n3"))
	case r.Nodes == nodesAll && raw.MaxNodes == 1:
		ps = append(ps, n.Field("nodes").Problemf("all nodes at once need max_nodes: write how many the target has"))
	case raw.MaxNodes >= 1 && len(ids) > raw.MaxNodes:
		ps = append(ps, n.Field("nodes").Problemf("%d nodes at once, and max_nodes is %d", len(ids), raw.MaxNodes))
	}
	return item, ps
}

// at is the value of a key, or n itself when the key is absent, so that the problem has a place.
func at(n config.Node, key string) config.Node {
	if f := n.Field(key); !f.IsZero() {
		return f
	}
	return n
}
