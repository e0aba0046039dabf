package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/target"
)

// Host is all that faults do to processes and ask of servers. Tests replace it by a double.
type Host interface {
	// Signal sends sig to that very process, never to another one that has its pid now; target.ErrGone when it has ended.
	Signal(p target.ProcRef, sig syscall.Signal) error
	// State is the process state letter, 'T' while stopped; target.ErrGone when it has ended.
	State(p target.ProcRef) (byte, error)
	// Start starts the server of a node and is a no-op when it runs. target.ErrNoOwner when the process that owns it
	// is gone: then nobody may start it.
	Start(ctx context.Context, n target.Node) error
	// Lookup is the node as its owner knows it now, with the process that runs now; a node without an owner
	// is returned as it was given. target.ErrNoOwner as above.
	Lookup(ctx context.Context, n target.Node) (target.Node, error)
	// Serving is nil when the server of the node serves clients.
	Serving(ctx context.Context, n target.Node) error
}

// NewHost is this host.
func NewHost() Host { return osHost{} }

type osHost struct{}

// Signal holds the process by a descriptor while it compares the start time: between the comparison and
// the signal the pid can't be given to another process.
func (osHost) Signal(p target.ProcRef, sig syscall.Signal) error {
	if p.Pid <= 1 || p.Pid == os.Getpid() {
		return fmt.Errorf("signal process %d: refused, it is init or nightshift itself", p.Pid)
	}
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return target.ErrGone
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", p.Pid, err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing is written through it
	if _, err := p.State(); err != nil {
		return err
	}
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return target.ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", p.Pid, err)
	}
	return nil
}

func (osHost) State(p target.ProcRef) (byte, error) { return p.State() }

func (h osHost) Start(ctx context.Context, n target.Node) error {
	switch {
	case n.Start.Owner != "":
		if _, err := target.Ask(ctx, n.Start.Owner, target.Request{Op: "start", Node: n.ID}); err != nil {
			return fmt.Errorf("start %s: %w", n.ID, err)
		}
		return nil
	case len(n.Start.Argv) > 0:
		if h.Serving(ctx, n) == nil {
			return nil
		}
		return runCommand(ctx, n)
	}
	return fmt.Errorf("start %s: the plan names no way to start it", n.ID)
}

func (osHost) Lookup(ctx context.Context, n target.Node) (target.Node, error) {
	if n.Start.Owner == "" {
		return n, nil
	}
	r, err := target.Ask(ctx, n.Start.Owner, target.Request{Op: "status"})
	if err != nil {
		return target.Node{}, fmt.Errorf("look up %s: %w", n.ID, err)
	}
	for _, m := range r.Cluster.Nodes {
		if m.ID == n.ID {
			return m, nil
		}
	}
	return target.Node{}, fmt.Errorf("look up %s: its owner does not know it any more", n.ID)
}

func (osHost) Serving(ctx context.Context, n target.Node) error {
	if n.System != "zookeeper" {
		return fmt.Errorf("ask %s: there is no way yet to tell whether a %q server serves", n.ID, n.System)
	}
	if len(n.Addrs) == 0 {
		return fmt.Errorf("ask %s: it has no address", n.ID)
	}
	if _, err := zookeeper.Status(ctx, n.Addrs[0]); err != nil {
		return fmt.Errorf("ask %s at %s: %w", n.ID, n.Addrs[0], err)
	}
	return nil
}

// runCommand runs the user's start command, which is expected to return once the server is on its way
// (as `systemctl start` does). It is never killed: when ctx ends first it is left running and that is said.
func runCommand(ctx context.Context, n target.Node) error {
	out, err := os.CreateTemp("", "nightshift-start-*")
	if err != nil {
		return fmt.Errorf("start %s: %w", n.ID, err)
	}
	defer func() { _ = out.Close() }() // only read back for the error text
	if err := os.Remove(out.Name()); err != nil {
		return fmt.Errorf("start %s: %w", n.ID, err)
	}
	// Output goes to a file and not to a pipe: a server that inherits a pipe dies when its reader goes.
	cmd := exec.Command(n.Start.Argv[0], n.Start.Argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", n.ID, err)
	}
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(cmd.Process.Pid, &ws, unix.WNOHANG, nil)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("start %s: wait for %s: %w", n.ID, n.Start.Argv[0], err)
		case err == nil && pid != 0 && ws.ExitStatus() == 0:
			return nil
		case err == nil && pid != 0:
			text := make([]byte, 300)
			k, _ := out.ReadAt(text, 0) // io.EOF at the end of a short text
			return fmt.Errorf("start %s: %s ended with %d: %s", n.ID, n.Start.Argv[0], ws.ExitStatus(), strings.TrimSpace(string(text[:k])))
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("start %s: %s has not returned and is left running: %w", n.ID, n.Start.Argv[0], err)
		}
	}
}

// pidfdWorks says whether this kernel can hold a process by a descriptor (Linux 5.3 and newer).
func pidfdWorks() error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("%w: pidfd_open: %w", ErrUnavailable, err)
	}
	return unix.Close(fd)
}

// sleep waits for d, or until ctx ends, which is its error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
