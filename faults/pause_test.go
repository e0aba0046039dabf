package faults_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"nightshift/faults"
	"nightshift/faults/faulttest"
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
