package probes

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"nightshift/soak/config"
)

// Spec says one probe of a run as data.
type Spec struct {
	Kind     string          `json:"kind"`
	Target   string          `json:"target,omitempty"` // empty: every target it fits
	Every    time.Duration   `json:"every"`            // from the begin of one sample to the next
	Optional bool            `json:"optional,omitempty"`
	Params   json.RawMessage `json:"params,omitempty"` // the kind's own parameters
}

// shared are the keys that every item of the probes list may have.
type shared struct {
	Kind     string        `yaml:"kind"`
	Target   string        `yaml:"target"`
	Every    time.Duration `yaml:"every"`
	Optional bool          `yaml:"optional"`
}

// Intervals that a plan may ask for. Less would load the patient, more sees nothing.
const (
	minEvery = 50 * time.Millisecond
	maxEvery = time.Hour
)

// Decode reads the probes of a plan. What is absent takes the defaults of its kind.
func Decode(n config.Node) ([]Spec, config.Problems) {
	if n.IsZero() {
		return nil, nil
	}
	items := n.Items()
	if items == nil {
		return nil, config.Problems{n.Problemf("probes: expected a list, as in [{kind: host}]")}
	}
	var specs []Spec
	var ps config.Problems
	seen := map[string]bool{}
	for _, it := range items {
		s, problems := decodeItem(it)
		ps = append(ps, problems...)
		if len(problems) > 0 {
			continue
		}
		name := named(s.Kind, s.Target)
		if seen[name] {
			ps = append(ps, it.Problemf("%s stands twice", name))
			continue
		}
		seen[name] = true
		specs = append(specs, s)
	}
	return specs, ps
}

func decodeItem(n config.Node) (Spec, config.Problems) {
	var word string
	if ps := n.Field("kind").Decode(&word); len(ps) > 0 {
		return Spec{}, ps
	}
	k, ok := find(word)
	if !ok {
		return Spec{}, config.Problems{unknownKind(n, word)}
	}
	common, own, ps := k.decode(n)
	if len(ps) > 0 {
		return Spec{}, ps
	}
	if common.Every < minEvery || common.Every > maxEvery {
		ps = append(ps, n.Field("every").Problemf("%v is not within %v and %v", common.Every, minEvery, maxEvery))
	}
	if common.Target != "" && k.System == "" && !k.perNode {
		ps = append(ps, n.Field("target").Problemf("%s looks at this host and has no target", k.Kind))
	}
	if err := check(own); err != nil {
		ps = append(ps, n.Problemf("%v", err))
	}
	raw, err := json.Marshal(own)
	if err != nil {
		ps = append(ps, n.Problemf("%v", err))
	}
	return Spec{Kind: k.Kind, Target: common.Target, Every: common.Every, Optional: common.Optional, Params: raw}, ps
}

func unknownKind(n config.Node, word string) config.Problem {
	var names []string
	for _, i := range Kinds() {
		names = append(names, i.Kind)
	}
	if word == "" {
		return n.Problemf("kind is missing; known are %v", names)
	}
	if near := config.Nearest(word, slices.Clone(names)); near != "" {
		return n.Field("kind").Problemf("unknown probe %q; did you mean %q?", word, near)
	}
	return n.Field("kind").Problemf("unknown probe %q; known are %v", word, names)
}

// checker is implemented by parameters that have limits.
type checker interface{ check() error }

func check(own any) error {
	if c, ok := own.(checker); ok {
		return c.check()
	}
	return nil
}

// params reads a spec's own parameters over the defaults already in into.
func params(s Spec, into any) error {
	if len(s.Params) > 0 {
		if err := json.Unmarshal(s.Params, into); err != nil {
			return fmt.Errorf("read parameters of probe %s: %w", s.Kind, err)
		}
	}
	if err := check(into); err != nil {
		return fmt.Errorf("probe %s: %w", s.Kind, err)
	}
	return nil
}
