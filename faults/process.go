package faults

import (
	"context"
	"errors"
	"fmt"

	"nightshift/soak/target"
)

// onProcess is the Undo of a fault on the process of s.Node, or ErrUnavailable with the reason why there is
// no such process that this fault may touch. It only reads.
func onProcess(h Host, kind string, s Scope) (Undo, error) {
	n := s.Node
	switch n.Host {
	case "", "localhost", "127.0.0.1":
	default:
		return Undo{}, fmt.Errorf("%w: %s runs on %s, and processes of other hosts are out of reach", ErrUnavailable, n.ID, n.Host)
	}
	if n.Proc.Pid <= 0 {
		return Undo{}, fmt.Errorf("%w: the process of %s is not known", ErrUnavailable, n.ID)
	}
	state, err := h.State(n.Proc)
	switch {
	case errors.Is(err, target.ErrGone):
		return Undo{}, fmt.Errorf("%w: process %d of %s is not running", ErrUnavailable, n.Proc.Pid, n.ID)
	case err != nil:
		return Undo{}, fmt.Errorf("look at process %d of %s: %w", n.Proc.Pid, n.ID, err)
	case state == 'T' || state == 't':
		return Undo{}, fmt.Errorf("%w: process %d of %s is stopped already, by somebody else", ErrUnavailable, n.Proc.Pid, n.ID)
	}
	// Signal 0 is never delivered: it asks for the right to send one.
	if err := h.Signal(n.Proc, 0); err != nil {
		return Undo{}, fmt.Errorf("%w: process %d of %s: %w", ErrUnavailable, n.Proc.Pid, n.ID, err)
	}
	boot, err := target.BootID()
	if err != nil {
		return Undo{}, err
	}
	return Undo{Kind: kind, BootID: boot, Scope: s}, nil
}

// replaced says whether another process serves in place of the one in u, which is gone.
func replaced(ctx context.Context, h Host, u Undo) (Evidence, error) {
	n, old := u.Scope.Node, u.Scope.Node.Proc
	now, err := h.Lookup(ctx, n)
	if err != nil {
		return Evidence{}, err
	}
	who := "another process"
	if n.Start.Owner != "" {
		if now.Proc.Pid <= 0 || now.Proc == old {
			return Evidence{Text: fmt.Sprintf("process %d of %s is gone and no other runs in its place", old.Pid, n.ID)}, nil
		}
		if _, err := h.State(now.Proc); errors.Is(err, target.ErrGone) {
			return Evidence{Text: fmt.Sprintf("process %d, started in place of %d, has ended", now.Proc.Pid, old.Pid)}, nil
		} else if err != nil {
			return Evidence{}, err
		}
		who = fmt.Sprintf("process %d", now.Proc.Pid)
	}
	if err := h.Serving(ctx, n); err != nil {
		return Evidence{Text: fmt.Sprintf("process %d of %s is gone and %s does not serve: %v", old.Pid, n.ID, who, err)}, nil
	}
	return Evidence{Seen: true, Text: fmt.Sprintf("%s runs in place of %d and serves", who, old.Pid)}, nil
}
