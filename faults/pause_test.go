package faults_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"nightshift/faults"
	"nightshift/faults/faulttest"
	"nightshift/soak/target"
)

func TestPause(t *testing.T) { faulttest.Suite{Info: kind(t, "pause")}.Run(t) }

// A process that somebody else has stopped is left to them: the undo would let it go on.
func TestPauseLeavesStoppedAlone(t *testing.T) {
	p := faulttest.NewPatient(t)
	h := faults.NewHost()
	if err := h.Signal(p.Node().Proc, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if st, err := h.State(p.Node().Proc); err != nil || st == 'T' {
			break
		}
		if time.Now().After(end) {
			t.Fatal("not stopped")
		}
	}
	_, err := kind(t, "pause").New(h).Prepare(t.Context(), faults.Scope{Node: p.Node()}, nil)
	if !errors.Is(err, faults.ErrUnavailable) {
		t.Errorf("prepare: %v", err)
	}
	if st, err := h.State(p.Node().Proc); err != nil || st != 'T' {
		t.Errorf("state %c: %v", st, err)
	}
}

// servesAlways is a host where the question whether a server serves lies.
type servesAlways struct{ *faulttest.Double }

func (servesAlways) Serving(context.Context, target.Node) error { return nil }

// An answer that was on its way already does not make a stopped process a healed one.
func TestPauseStoppedIsNotHealed(t *testing.T) {
	d := faulttest.NewDouble("n1")
	c, _ := d.Cluster(t.Context())
	f := kind(t, "pause").New(servesAlways{d})
	u, err := f.Prepare(t.Context(), faults.Scope{Node: c.Nodes[0]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Inject(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if ev, err := f.Observe(t.Context(), u, faults.Healed); err != nil || ev.Seen {
		t.Errorf("%+v: %v", ev, err)
	}
}
