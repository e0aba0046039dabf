package faults

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"nightshift/soak/target"
)

// Pause stops a server by SIGSTOP and lets it go on by SIGCONT: to its peers and clients it looks like a very long
// garbage collection or a stalled host, with all connections open. It has no parameters.
type Pause struct{ host Host }

// Prepare refuses a process that somebody else has stopped: the undo would let it go on.
func (p Pause) Prepare(_ context.Context, s Scope, _ Params) (Undo, error) {
	return onProcess(p.host, "pause", s)
}

// Inject sends SIGSTOP.
func (p Pause) Inject(_ context.Context, u Undo) error {
	if err := p.host.Signal(u.Scope.Node.Proc, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pause %s: %w", u.Scope.Node.ID, err)
	}
	return nil
}

// Revert sends SIGCONT, which does nothing to a process that is not stopped. When the process has ended there is
// nothing left to undo; Observe says whether the node serves again.
func (p Pause) Revert(_ context.Context, u Undo) error {
	err := p.host.Signal(u.Scope.Node.Proc, syscall.SIGCONT)
	if err != nil && !errors.Is(err, target.ErrGone) {
		return fmt.Errorf("resume %s: %w", u.Scope.Node.ID, err)
	}
	return nil
}

// Observe: it bites when the process is in state T. It is healed when it is not and the server serves, or when the
// process has ended meanwhile and another one serves in its place.
func (p Pause) Observe(ctx context.Context, u Undo, ph Phase) (Evidence, error) {
	n := u.Scope.Node
	state, err := p.host.State(n.Proc)
	gone := errors.Is(err, target.ErrGone)
	switch {
	case err != nil && !gone:
		return Evidence{}, err
	case ph == Biting && gone:
		return Evidence{Text: fmt.Sprintf("process %d of %s has ended", n.Proc.Pid, n.ID)}, nil
	case ph == Biting:
		return Evidence{Seen: state == 'T', Text: fmt.Sprintf("process %d of %s is in state %c", n.Proc.Pid, n.ID, state)}, nil
	case gone:
		ev, err := replaced(ctx, p.host, u)
		ev.Text = "it ended meanwhile: " + ev.Text
		return ev, err
	case state == 'T':
		return Evidence{Text: fmt.Sprintf("process %d of %s is still stopped", n.Proc.Pid, n.ID)}, nil
	}
	if err := p.host.Serving(ctx, n); err != nil {
		return Evidence{Text: fmt.Sprintf("process %d of %s runs and does not serve: %v", n.Proc.Pid, n.ID, err)}, nil
	}
	return Evidence{Seen: true, Text: fmt.Sprintf("process %d of %s is in state %c and serves", n.Proc.Pid, n.ID, state)}, nil
}
