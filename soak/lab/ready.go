package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	zk "nightshift/soak/client/zookeeper"
)

const startLimit = 90 * time.Second

// WaitReady returns when every node serves and a write has succeeded. It fails at once when a node dies, and
// when 90 s have passed.
func (l *Lab) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	addrs := make([]string, len(l.nodes))
	for i, n := range l.nodes {
		addrs[i] = n.addr()
	}
	for {
		for _, n := range l.nodes {
			if e, dead := n.exit(); dead {
				return &Error{Op: "start " + n.id, Path: e.Log, Err: fmt.Errorf("it %s; its log ends with\n%s", e, e.Last)}
			}
		}
		try, stop := context.WithTimeout(ctx, 5*time.Second)
		err := l.recipe.ready(try, addrs)
		stop()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return l.notReady(context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// notReady says why, with the log of the first node: in an ensemble without quorum all say the same.
func (l *Lab) notReady(cause, last error) error {
	if errors.Is(cause, context.Canceled) {
		return fmt.Errorf("start lab: %w", cause)
	}
	n := l.nodes[0]
	return &Error{Op: "start lab", Path: n.serverLog(), Err: fmt.Errorf("%w: %w; the log of %s ends with\n%s", cause, last, n.id, tail(n.logText(), 10))}
}

// zookeeperReady: srvr says on every node that it serves, and one write through the ensemble succeeds. The write is
// a node of a session, so that closing it leaves nothing.
func zookeeperReady(ctx context.Context, addrs []string) error {
	for _, a := range addrs {
		if _, err := zk.Status(ctx, a); err != nil {
			return fmt.Errorf("ask %s: %w", a, err)
		}
	}
	c, err := zk.Connect(zk.Options{Servers: addrs, SessionTimeout: 5 * time.Second, OpTimeout: 4 * time.Second})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	_, err = c.Create(ctx, "/nightshift-ready-", nil, zk.Ephemeral|zk.Sequence)
	if cerr := c.Close(2 * time.Second); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("try a write: %w", err)
	}
	return nil
}
