package soak

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nightshift/soak/config"
)

const smallPlan = `nightshift: 1
for: 2m
params: {rate: 100/s, size: 1KiB}
targets:
  zk: {system: zookeeper}
workloads:
  - {kind: a, rate: "${rate}", size: "${size}"}
`

func TestLoadPlan(t *testing.T) {
	p, err := LoadPlan("small", []byte(smallPlan), Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Warmup != 12*time.Second || p.Load() != 108*time.Second || p.Drain != 30*time.Second {
		t.Errorf("defaults: %v %v %v", p.Warmup, p.Load(), p.Drain)
	}
	if !strings.Contains(p.Root.String(), "seed: ") {
		t.Errorf("the seed is not in the plan as it runs:\n%s", p.Root)
	}
	again, err := LoadPlan("small", []byte(p.Root.String()), Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if again.Seed != p.Seed || again.For != p.For {
		t.Errorf("a plan as it ran gives another run: %+v", again)
	}
}

func TestOverrides(t *testing.T) {
	seed := Seed(7)
	p, err := LoadPlan("small", []byte(smallPlan), Overrides{For: time.Hour, Seed: &seed, Set: []string{"rate=5/s", "workloads[0].kind=b"}})
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Kind string      `yaml:"kind"`
		Rate config.Rate `yaml:"rate"`
		Size string      `yaml:"size"`
	}
	if err := p.Workloads.Items()[0].Decode(&w).Err(); err != nil {
		t.Fatal(err)
	}
	if p.For != time.Hour || p.Seed != 7 || w.Kind != "b" || w.Rate.Freq != 5 || w.Size != "1KiB" {
		t.Errorf("plan %+v, workload %+v", p, w)
	}
	for _, set := range []string{"rat=5/s", "workloads[4].kind=b", "nothing", "targets.other.system=x", "rate=1\n2"} {
		_, err := LoadPlan("small", []byte(smallPlan), Overrides{Set: []string{set}})
		var o ErrOverride
		var ps config.Problems
		if !errors.As(err, &o) && !errors.As(err, &ps) {
			t.Errorf("--set %q: %v", set, err)
		}
	}
}

func TestBadPlans(t *testing.T) {
	for src, want := range map[string]string{
		"":                                   "empty",
		"nightshift: 2\nfor: 1m\n":           "1:13: nightshift: the plan must say",
		"nightshift: 1\n":                    "how long it runs",
		"nightshift: 1\nfor: 1m\nwarmup: 2m": "warmup must be shorter",
		"nightshift: 1\nfor: 1m\ndrain: 0s":  "drain must be longer",
		"nightshift: 1\nfor: 1m\n":           "names no target",
		"nightshift: 1\nfor: ${x}\n":         "2:6: ${x} is not one of the plan's params",
		"nightshift: 1\nfro: 1m\n":           `unknown key "fro"`,
		"a\n":                                "expected keys and values",
		"params: [1]\n":                      "expected keys and values",
		"nightshift: 1\nseed: -4\nfor: 1m\n": "whole number",
	} {
		_, err := LoadPlan("bad", []byte(src), Overrides{})
		var ps config.Problems
		if !errors.As(err, &ps) || !strings.Contains(ps.Error(), want) {
			t.Errorf("%q: %v, want %q", src, err, want)
		}
	}
}

func FuzzLoadPlan(f *testing.F) {
	f.Add([]byte(smallPlan), "rate=1/s")
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		if p, err := LoadPlan("fuzz", src, Overrides{Set: []string{set}}); err == nil && p.For <= 0 {
			t.Error("a plan without an end")
		}
	})
}

func TestSeedStreams(t *testing.T) {
	a, b := Seed(1).Stream("faults"), Seed(1).Stream("faults")
	other, seed := Seed(1).Stream("load"), Seed(2).Stream("faults")
	same, differName, differSeed := true, false, false
	for range 100 {
		x := a.Uint64()
		same = same && x == b.Uint64()
		differName = differName || x != other.Uint64()
		differSeed = differSeed || x != seed.Uint64()
	}
	if !same || !differName || !differSeed {
		t.Errorf("same seed and name: same %v; another name: other %v; another seed: other %v", same, differName, differSeed)
	}
}

func TestConstantPacer(t *testing.T) {
	c := Constant{Freq: 10, Per: time.Second, Offset: 30 * time.Millisecond}
	for done, due := range map[uint64]time.Duration{0: 30 * time.Millisecond, 1: 130 * time.Millisecond, 36000: time.Hour + 30*time.Millisecond} {
		wait, stop := c.Next(50*time.Millisecond, done)
		if stop || wait != due-50*time.Millisecond {
			t.Errorf("operation %d: wait %v, stop %v", done, wait, stop)
		}
	}
	if _, stop := (Constant{}).Next(0, 0); !stop {
		t.Error("a pacer without a rate goes on for ever")
	}
	if _, stop := (Closed{Limit: 3}).Next(time.Hour, 3); !stop {
		t.Error("a quota does not end")
	}
	if wait, stop := (Closed{}).Next(time.Hour, 3); stop || wait != 0 {
		t.Error("a closed loop waits or ends")
	}
}
