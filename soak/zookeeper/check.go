package zookeeper

import (
	"context"
	"errors"
	"fmt"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak/record"
)

// leftOvers looks for nodes below the directories of n workers until there are none, for at most twice the session timeout:
// by then the servers have expired the sessions that could not be closed, even if the leader changed meanwhile.
// The first ephemeral node of a closed session that stays is a finding.
func (c *crew) leftOvers(ctx context.Context, conn *zkclient.Conn, book *ledger, n int) error {
	end := c.env.Clock.Now() + 2*c.spec.session
	for {
		nodes, err := c.remaining(ctx, conn, n)
		if err != nil || len(nodes) == 0 {
			return err
		}
		if c.env.Clock.Now() >= end {
			for _, node := range nodes {
				book.add(CodeLeftOver, c.env.Clock.Now(), "%s is still there %s after its session was closed", node, 2*c.spec.session)
			}
			return nil
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("look for left-over nodes: %w", ctx.Err())
		}
	}
}

// remaining lists the nodes below the directories of n workers as the leader knows them.
func (c *crew) remaining(ctx context.Context, conn *zkclient.Conn, n int) ([]string, error) {
	if err := persist(ctx, func() error { return conn.Sync(ctx, c.dir()) }); err != nil {
		return nil, fmt.Errorf("sync: %w", err)
	}
	var nodes []string
	for i := range n {
		names, err := children(ctx, conn, c.workerDir(i))
		if errors.Is(err, zkclient.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			nodes = append(nodes, c.workerDir(i)+"/"+name)
		}
	}
	return nodes, nil
}

// checkEphemerals is Check of the workloads whose nodes are all ephemeral.
func (c *crew) checkEphemerals(ctx context.Context) ([]record.Finding, error) {
	conn, err := c.takeOver(ctx)
	if err != nil {
		return c.book.findings(), err
	}
	defer dismiss(conn)
	book := c.book.fork()
	err = c.leftOvers(ctx, conn, book, c.spec.workers)
	return book.findings(), err
}

// Clean removes the workload's tree, then what the run created above it as far as that is empty.
func (c *crew) Clean(ctx context.Context) ([]record.Finding, error) {
	conn, err := c.takeOver(ctx)
	if err != nil {
		return nil, err
	}
	defer dismiss(conn)
	_, left, err := removeTree(ctx, conn, c.dir())
	if err != nil {
		return nil, fmt.Errorf("clean %s: %w", c.dir(), err)
	}
	if _, err := c.root.tidy(ctx, conn); err != nil {
		return nil, fmt.Errorf("clean %s: %w", c.root.dir(), err)
	}
	book := newLedger(c.spec.name, c.env.Clock, nil)
	for _, line := range left {
		book.add(CodeLeftOver, c.env.Clock.Now(), "%s", line)
	}
	return book.findings(), nil
}
