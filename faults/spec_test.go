package faults

import (
	"strings"
	"testing"
	"time"

	"nightshift/soak/config"
)

func parse(t *testing.T, src string) config.Node {
	t.Helper()
	n, ps := config.Parse([]byte(src))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return n.Field("faults")
}

func TestDecode(t *testing.T) {
	s, ps := Decode(parse(t, `
faults:
  target: zk
  schedule: {first: 20s, every: 40s, jitter: 10%, quiet: 20s}
  order: random
  mix:
    - {kind: kill, nodes: leader, hold: 4s, optional: true, recover: 45s}
    - {kind: pause, nodes: "n1, n3"}
  max_nodes: 2
`))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	if s.Target != "zk" || s.Order != Random || s.MaxNodes != 2 || len(s.Mix) != 2 ||
		s.Schedule != (Schedule{First: 20 * time.Second, Every: 40 * time.Second, Jitter: 0.1, Quiet: 20 * time.Second}) {
		t.Errorf("spec: %+v", s)
	}
	if m := s.Mix[0]; m.Kind != "kill" || m.Nodes != "leader" || m.Hold != 4*time.Second || m.Recover != 45*time.Second || !m.Optional {
		t.Errorf("mix[0]: %+v", m)
	}
	if m := s.Mix[1]; m.Hold != DefaultHold || m.Recover != DefaultRecover || m.Optional {
		t.Errorf("mix[1]: %+v", m)
	}
}

func TestDecodeDefaults(t *testing.T) {
	s, ps := Decode(parse(t, "faults: {schedule: {every: 50s}, mix: [{kind: kill}]}"))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	if s.Schedule.First != 50*time.Second || s.Order != Rotate || s.MaxNodes != 1 || s.Mix[0].Nodes != "any" {
		t.Errorf("spec: %+v", s)
	}
	if s, ps := Decode(config.Node{}); len(ps) > 0 || !s.Empty() {
		t.Errorf("absent: %+v %v", s, ps)
	}
}

func TestDecodeProblems(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"{mix: []}", "1:15: faults.mix: the mix is empty"},
		{"{schedule: {every: 30s}}", "the mix is empty"},
		{"{mix: [{kind: kil}]}", `no fault is called "kil"; there are kill, pause`},
		{"{mix: [{nodes: any}]}", "a fault needs a kind"},
		{"{mix: [{kind: kill, hold: 0s}]}", "faults.mix[0].hold: must be more than 0"},
		{"{mix: [{kind: kill, hold: 24s}]}", "does not fit between two faults, which may be only 24s apart"},
		{"{mix: [{kind: kill, recover: -1s}]}", "faults.mix[0].recover: must be more than 0"},
		{"{mix: [{kind: kill, nodes: all}]}", "need max_nodes"},
		{"{mix: [{kind: kill, nodes: 'n1,n2'}]}", "2 nodes at once, and max_nodes is 1"},
		{"{mix: [{kind: kill, nodes: ''}]}", "write leader, follower"},
		{"{max_nodes: 0, mix: [{kind: kill}]}", "faults.max_nodes: must be 1 or more"},
		{"{order: backwards, mix: [{kind: kill}]}", `"backwards" is no order`},
		{"{schedule: {every: 10ms}, mix: [{kind: kill}]}", "must be 1s or more"},
		{"{schedule: {jitter: 95%}, mix: [{kind: kill}]}", "must be 90% or less"},
		{"{schedule: {first: -1s}, mix: [{kind: kill}]}", "faults.schedule.first: must not be negative"},
		{"{schedule: {quiet: -1s}, mix: [{kind: kill}]}", "faults.schedule.quiet: must not be negative"},
		{"{mix: [{kind: kill, with: {signal: 9}}]}", "faults.mix[0].with"},
		{"{mix: [{kind: kill, hold: soon}]}", "faults.mix[0].hold"},
		{"{mixx: [{kind: kill}]}", `did you mean "mix"?`},
	} {
		s, ps := Decode(parse(t, "faults: "+c.src))
		if !strings.Contains(ps.Error(), c.want) {
			t.Errorf("%s: problems are %q, want %q", c.src, ps.Error(), c.want)
		}
		if !s.Empty() {
			t.Errorf("%s: a spec came out all the same", c.src)
		}
	}
}

// All problems come at once.
func TestDecodeAllProblems(t *testing.T) {
	_, ps := Decode(parse(t, "faults: {schedule: {every: soon, first: 1s}, mix: [{kind: kil, hold: 0s}, {kind: pause, recover: 0s}]}"))
	if len(ps) != 4 {
		t.Errorf("%d problems: %v", len(ps), ps)
	}
}
