package night

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	zkclient "nightshift/soak/client/zookeeper"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// ward is a running cluster as the run sees it: a lab of its own, or one that was there before.
type ward interface {
	Cluster(ctx context.Context) (target.Cluster, error) // processes and addresses, without roles
	Restart(ctx context.Context) error                   // all servers at once; errForeign where that is not ours to do
	Close(ctx context.Context) error
}

var errForeign = errors.New("these servers are not nightshift's to restart")

// patient is a target of a run.
type patient struct {
	spec *targetSpec
	ward ward
	dial dialer
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// askLimit bounds one question to one server.
const askLimit = 2 * time.Second

// Lookup implements target.Lookup: the cluster now, with the roles that the servers themselves say.
func (p *patient) Lookup(ctx context.Context) (target.Cluster, error) {
	c, err := p.ward.Cluster(ctx)
	if err != nil {
		return target.Cluster{}, err
	}
	c.Prefix, c.Consent = p.spec.Prefix, p.spec.consent()
	statuses := p.ask(ctx, c)
	for i := range c.Nodes {
		c.Nodes[i].Role = target.Unknown
		if statuses[i].err == nil {
			c.Nodes[i].Role = target.Role(statuses[i].Mode)
			c.Version = statuses[i].Version
		}
	}
	return c, nil
}

func (p *patient) words() zkclient.Words { return zkclient.Words{Dial: p.dial} }

type status struct {
	zkclient.ServerStatus
	err error
}

// ask asks all servers at once what they are.
func (p *patient) ask(ctx context.Context, c target.Cluster) []status {
	out := make([]status, len(c.Nodes))
	var wg sync.WaitGroup
	for i, n := range c.Nodes {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, askLimit)
			defer cancel()
			out[i].ServerStatus, out[i].err = p.words().Status(ctx, n.Addrs[0])
		})
	}
	wg.Wait()
	return out
}

// Servers that have just been started, or whose host has much to do, get their time to answer.
const (
	settleWithin = 30 * time.Second
	askAgain     = 500 * time.Millisecond
)

// whole asks until the cluster is Healthy. When within is over, or ctx, the error says what was wrong last.
func (p *patient) whole(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	last := errors.New("no answer")
	for {
		err := p.Healthy(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if !record.Wait(ctx, askAgain) {
			return last
		}
	}
}

// settled is Lookup that asks again while a server does not say its role, until ctx ends.
func (p *patient) settled(ctx context.Context) (target.Cluster, error) {
	c, err := p.Lookup(ctx)
	for {
		silent := func(n target.Node) bool { return n.Role == target.Unknown }
		if err == nil && !slices.ContainsFunc(c.Nodes, silent) || !record.Wait(ctx, askAgain) {
			return c, err
		}
		// An answer that ctx cut short says less than the one before.
		if now, nerr := p.Lookup(ctx); ctx.Err() == nil {
			c, err = now, nerr
		}
	}
}

// Healthy says nil when every server serves and the ensemble has its one leader.
func (p *patient) Healthy(ctx context.Context) error {
	c, err := p.ward.Cluster(ctx)
	if err != nil {
		return err
	}
	var sick []string
	leaders, alone, leader := 0, 0, ""
	for i, s := range p.ask(ctx, c) {
		switch {
		case s.err != nil:
			sick = append(sick, fmt.Sprintf("%s (%s): %v", c.Nodes[i].ID, c.Nodes[i].Addrs[0], s.err))
		case s.Mode == string(target.Leader):
			leaders, leader = leaders+1, c.Nodes[i].Addrs[0]
		case s.Mode == string(target.Standalone):
			alone++
		}
	}
	switch {
	case len(sick) > 0:
		return fmt.Errorf("not every server serves: %s", strings.Join(sick, "; "))
	case len(c.Nodes) == 1 && leaders+alone == 1:
		return nil
	case alone > 0:
		return fmt.Errorf("%d of %d servers are standalone: they are no ensemble", alone, len(c.Nodes))
	case leaders != 1:
		return fmt.Errorf("the servers named have %d leaders; exactly one is healthy (are all servers of the ensemble named?)", leaders)
	}
	if _, foreign := p.ward.(foreignWard); foreign {
		return p.allNamed(ctx, leader, len(c.Nodes))
	}
	return nil
}

var followers = regexp.MustCompile(`(?m)^zk_(?:synced_)?followers\t(\d+)`)

// allNamed asks the leader how many follow it. A fault on a cluster of which a server is not known could take
// its quorum without anybody seeing that it was short of one already.
func (p *patient) allNamed(ctx context.Context, leader string, named int) error {
	text, err := p.words().Word(ctx, leader, "mntr")
	if err != nil {
		return fmt.Errorf("whether all servers of the ensemble are named can't be told: %w", err)
	}
	m := followers.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("whether all servers of the ensemble are named can't be told: the leader %s does not say how many follow it", leader)
	}
	if m[1] != strconv.Itoa(named-1) {
		return fmt.Errorf("%s servers follow the leader, and %d are named beside it: name every server of the ensemble", m[1], named-1)
	}
	return nil
}
