package night

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nightshift/soak/lab/zkstub"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

func TestFaultsByHandThatAreNotBegun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	sound := InjectOptions{Kind: "pause", Target: "zookeeper=127.0.0.1:1", Node: "leader", Hold: time.Second, Limit: time.Second}
	for name, spoil := range map[string]func(*InjectOptions){
		"kind":   func(o *InjectOptions) { o.Kind = "explode" },
		"hold":   func(o *InjectOptions) { o.Hold = -time.Second },
		"no end": func(o *InjectOptions) { o.Limit = 0 },
		"system": func(o *InjectOptions) { o.Target = "kafka=127.0.0.1:1" },
		"port":   func(o *InjectOptions) { o.Target = "zookeeper=127.0.0.1:99999" },
		"host":   func(o *InjectOptions) { o.Target = "zookeeper=127.0.0.1:1,," },
	} {
		o := sound
		spoil(&o)
		if _, err := Inject(t.Context(), o, nil); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStepsSayEachProofOnce(t *testing.T) {
	var b strings.Builder
	said := ""
	for _, f := range []record.Fault{
		{Step: "injected"}, {Step: "bit", Proof: []string{"it bit"}}, {Step: "reverted", Proof: []string{"it bit"}},
		{Step: "healed", Proof: []string{"it bit", "it healed"}},
	} {
		f.Fault, f.Node = "pause", "n1"
		said = showStep(&b, f, said)
	}
	if got := b.String(); strings.Count(got, "it bit") != 1 || strings.Count(got, "it healed") != 1 || strings.Contains(got, "no proof") {
		t.Errorf("said\n%s", got)
	}
}

// lonely names only one server of the ensemble.
type lonely struct {
	*stubWard
	role target.Role
}

func (l lonely) Cluster(ctx context.Context) (target.Cluster, error) {
	p := &patient{spec: &targetSpec{}, ward: l.stubWard, dial: l.e.Dial}
	c, err := p.Lookup(ctx)
	for _, n := range c.Nodes {
		if n.Role == l.role {
			c.Nodes = []target.Node{n}
			break
		}
	}
	return c, err
}

// A fault on the one follower that was named may take the quorum: nobody knows how the others are.
func TestOneFollowerIsNoWholeEnsemble(t *testing.T) {
	w := newStubWard(t, zkstub.Options{Dir: t.TempDir()})
	defer func() { _ = w.e.Close() }() // the test is over
	p := &patient{spec: &targetSpec{}, ward: w, dial: w.e.Dial}
	if err := p.Healthy(t.Context()); err != nil {
		t.Fatalf("all named: %v", err)
	}
	p.ward = lonely{w, target.Follower}
	if err := p.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "are all servers of the ensemble named?") {
		t.Errorf("one follower named: %v", err)
	}
}
