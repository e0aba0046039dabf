package faults_test

import (
	"errors"
	"testing"

	"nightshift/faults"
	"nightshift/faults/faulttest"
	"nightshift/soak/target"
)

func TestKill(t *testing.T) { faulttest.Suite{Info: kind(t, "kill")}.Run(t) }

// A server that nobody could start again is never killed.
func TestKillNeedsAWayBack(t *testing.T) {
	p := faulttest.NewPatient(t)
	f := kind(t, "kill").New(faults.NewHost())
	n := p.Node()
	n.Start = target.Start{}
	if _, err := f.Prepare(t.Context(), faults.Scope{Node: n}, nil); !errors.Is(err, faults.ErrUnavailable) {
		t.Errorf("without a start: %v", err)
	}
	p.CloseOwner()
	if _, err := f.Prepare(t.Context(), faults.Scope{Node: p.Node()}, nil); !errors.Is(err, faults.ErrUnavailable) {
		t.Errorf("without an owner: %v", err)
	}
	n = p.Node()
	n.Host = "elsewhere"
	if _, err := f.Prepare(t.Context(), faults.Scope{Node: n}, nil); !errors.Is(err, faults.ErrUnavailable) {
		t.Errorf("on another host: %v", err)
	}
	if !p.Node().Proc.Alive() {
		t.Error("it was killed")
	}
}
