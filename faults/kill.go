package faults

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"nightshift/soak/target"
)

// Kill ends a server by SIGKILL and has it started again by whoever owns it. It has no parameters.
type Kill struct{ host Host }

// Prepare refuses a server that nobody could start again.
func (k Kill) Prepare(ctx context.Context, s Scope, _ Params) (Undo, error) {
	u, err := onProcess(k.host, "kill", s)
	if err != nil {
		return Undo{}, err
	}
	if s.Node.Start.Owner == "" && len(s.Node.Start.Argv) == 0 {
		return Undo{}, fmt.Errorf("%w: the plan names no way to start %s again", ErrUnavailable, s.Node.ID)
	}
	if _, err := k.host.Lookup(ctx, s.Node); err != nil {
		return Undo{}, fmt.Errorf("%w: nobody could start %s again: %w", ErrUnavailable, s.Node.ID, err)
	}
	return u, nil
}

// Inject sends SIGKILL.
func (k Kill) Inject(_ context.Context, u Undo) error {
	if err := k.host.Signal(u.Scope.Node.Proc, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", u.Scope.Node.ID, err)
	}
	return nil
}

// Revert has the server started when its process is gone. A process that lives is left alone, whichever it is.
func (k Kill) Revert(ctx context.Context, u Undo) error {
	_, err := k.host.State(u.Scope.Node.Proc)
	if err == nil {
		return nil
	}
	if !errors.Is(err, target.ErrGone) {
		return fmt.Errorf("revert kill of %s: %w", u.Scope.Node.ID, err)
	}
	return k.host.Start(ctx, u.Scope.Node)
}

// Observe: it bites when that very process is gone. It is healed when another one serves, or when the very process
// was never killed: a process that serves after the signal was sent has not received one.
func (k Kill) Observe(ctx context.Context, u Undo, ph Phase) (Evidence, error) {
	n := u.Scope.Node
	_, err := k.host.State(n.Proc)
	if err != nil && !errors.Is(err, target.ErrGone) {
		return Evidence{}, err
	}
	gone := err != nil
	switch {
	case ph == Biting && gone:
		return Evidence{Seen: true, Text: fmt.Sprintf("process %d of %s is gone", n.Proc.Pid, n.ID)}, nil
	case ph == Biting:
		return Evidence{Text: fmt.Sprintf("process %d of %s still runs", n.Proc.Pid, n.ID)}, nil
	case gone:
		return replaced(ctx, k.host, u)
	}
	if err := k.host.Serving(ctx, n); err != nil {
		return Evidence{Text: fmt.Sprintf("process %d of %s was not killed and does not serve: %v", n.Proc.Pid, n.ID, err)}, nil
	}
	if _, err := k.host.State(n.Proc); err != nil {
		return Evidence{Text: fmt.Sprintf("process %d of %s is ending", n.Proc.Pid, n.ID)}, nil
	}
	return Evidence{Seen: true, Text: fmt.Sprintf("process %d of %s was not killed and serves", n.Proc.Pid, n.ID)}, nil
}
