package probes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nightshift/soak/config"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

func decode(t *testing.T, yaml string) ([]Spec, config.Problems) {
	t.Helper()
	n, ps := config.Parse([]byte(yaml))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	return Decode(n.Field("probes"))
}

func TestDecodeFillsDefaults(t *testing.T) {
	t.Parallel()
	specs, ps := decode(t, `probes:
  - {kind: zookeeper/files, target: zk, every: 2s}
  - {kind: host, optional: true, pressure: 50%}
  - {kind: tester}
`)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if len(specs) != 3 || specs[0].Target != "zk" || specs[0].Every != 2*time.Second || specs[0].Optional ||
		specs[1].Every != time.Second || !specs[1].Optional {
		t.Errorf("%+v", specs)
	}
	p, err := New(specs[1], Env{Clock: record.NewClock()})
	if err != nil || p.(*host).pressure.share != 0.5 {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = New(specs[2], Env{Clock: record.NewClock()})
	if err != nil || p.(*tester).own != testerDefaults() {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDecodeSaysEveryProblemWithItsPlace(t *testing.T) {
	t.Parallel()
	_, ps := decode(t, `probes:
  - {kind: hots}
  - {target: zk}
  - {kind: host, target: zk}
  - {kind: filesystem, every: 1ms}
  - {kind: tester, stall: 1ms}
  - {kind: jvm/gc, mni: 5ms}
  - {kind: process}
  - {kind: process}
`)
	for _, want := range []string{
		`2:12: probes[0].kind: unknown probe "hots"; did you mean "host"?`, "3:", "kind is missing",
		"4:", "has no target", "5:", "1ms is not within", "6:", "stall must not be shorter", `7:`, `did you mean "min"?`,
		"9:", "process stands twice",
	} {
		if !strings.Contains(ps.Error(), want) {
			t.Errorf("no %q in:\n%s", want, ps.Error())
		}
	}
	if len(ps) != 7 {
		t.Errorf("%d problems:\n%s", len(ps), ps.Error())
	}
	if _, ps = decode(t, "probes: host"); len(ps) != 1 {
		t.Errorf("%v", ps)
	}
	if specs, ps := decode(t, "seed: 1"); specs != nil || ps != nil {
		t.Errorf("absent: %v, %v", specs, ps)
	}
}

func TestEveryKindIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, i := range Kinds() {
		if seen[i.Kind] || i.Purpose == "" || i.Cost == "" || i.Every < minEvery {
			t.Errorf("%+v", i)
		}
		seen[i.Kind] = true
	}
	env := Env{Clock: record.NewClock(), Lookup: oneNode(target.Node{ID: "n1"})}
	for _, s := range Default() {
		p, err := New(s, env)
		if err != nil || !strings.HasPrefix(p.Name(), s.Kind) {
			t.Errorf("%+v: %v", s, err)
			continue
		}
		delete(seen, s.Kind)
	}
	if len(seen) > 0 {
		t.Errorf("kinds that do not run by default: %v", seen)
	}
	if _, err := New(Spec{Kind: "none"}, env); err == nil {
		t.Error("an unknown kind passed")
	}
	if _, err := New(Spec{Kind: "process", Target: "none"}, env); err == nil {
		t.Error("an unknown target passed")
	}
}

func TestLookUpIsAskedRarelyAndItsLastAnswerKept(t *testing.T) {
	t.Parallel()
	asked := 0
	var fail error
	env := Env{Clock: record.NewClock(), Lookup: map[string]target.Lookup{"zk": func(context.Context) (target.Cluster, error) {
		asked++
		if fail != nil {
			return target.Cluster{}, fail
		}
		return target.Cluster{System: "zookeeper", Nodes: []target.Node{{ID: "n1"}}}, nil
	}}}
	cs, err := clustersOf(env, "zk")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if ms, err := cs.nodes(t.Context(), "zookeeper", time.Hour); err != nil || len(ms) != 1 || ms[0].Cluster != "zk" {
			t.Fatalf("%v, %v", ms, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	fail = errors.New("nobody answers")
	if ms, err := cs.nodes(t.Context(), "zookeeper", 0); err != nil || len(ms) != 1 || asked != 2 {
		t.Errorf("asked %d times: %v, %v", asked, ms, err)
	}
	if _, err := cs.nodes(t.Context(), "kafka", time.Hour); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
}
