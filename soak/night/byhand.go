package night

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nightshift/faults"
	"nightshift/faults/guardian"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// InjectOptions of one fault by hand.
type InjectOptions struct {
	Kind   string
	Target string // "zookeeper=host:port,..."
	Node   string // leader, follower, or the address or id (n1, in the order of Target) of one server
	Hold   time.Duration
	Limit  time.Duration // to heal within
}

// Inject leads one fault through its whole life, with a guardian beside it. ctx ends the hold early.
// It returns the last state; a fault that did not bite or heal is an error.
func Inject(ctx context.Context, o InjectOptions, w io.Writer) (record.Fault, error) {
	info, err := faults.Find(o.Kind)
	if err != nil {
		return record.Fault{}, usagef("%w", err)
	}
	if o.Hold <= 0 || o.Limit <= 0 {
		return record.Fault{}, usagef("a fault is held, and must heal within, more than 0s")
	}
	p, node, err := pickNode(ctx, o)
	if err != nil {
		return record.Fault{}, sorted(err)
	}
	dir, err := handDir()
	if err != nil {
		return record.Fault{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return record.Fault{}, fmt.Errorf("make journal: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%s-%d.journal", time.Now().UTC().Format("20060102-150405"), o.Kind, os.Getpid()))
	g, err := guardian.Start(selfExe, []string{guardianCommand}, path, logBeside(path))
	if err != nil {
		return record.Fault{}, err
	}
	j, err := faults.OpenJournal(path)
	if err != nil {
		return record.Fault{}, errors.Join(err, g.Close())
	}
	clock, proof := record.NewClock(), ""
	life := faults.Life{Host: faults.NewHost(), Journal: j, Clock: clock, Healthy: p.Healthy, Guard: g.Check}
	res, err := life.Run(ctx, faults.Case{ID: "by-hand-" + o.Kind, Info: info, Hold: o.Hold, Recover: o.Limit,
		Scope: faults.Scope{Target: p.spec.name, System: p.spec.System, Node: node}}, func(e record.Event) { proof = showStep(w, e, proof) })
	err = errors.Join(err, j.Close(), g.Close())
	if err == nil && res.Left == nil {
		err = errors.Join(os.Remove(path), os.Remove(logBeside(path)))
	}
	return res.Fault, errors.Join(err, verdictOf(res.Fault))
}

func verdictOf(f record.Fault) error {
	switch {
	case f.Skipped != "":
		return refusedf("%s of %s was not injected: %s", f.Fault, f.Node, f.Skipped)
	case f.Error != "":
		return fmt.Errorf("%s of %s: %s", f.Fault, f.Node, f.Error)
	}
	return nil
}

// showStep prints a step with its proof, when that is another than the one said before, and returns the last one said.
func showStep(w io.Writer, e record.Event, said string) string {
	f, ok := e.(record.Fault)
	if !ok {
		return said
	}
	line := fmt.Sprintf("%6.2fs  %-9s %s %s", f.At.Seconds(), f.Step, f.Fault, f.Node)
	if len(f.Proof) > 0 && last(f.Proof) != said {
		said = last(f.Proof)
		line += "  " + said
	}
	say(w, "%s", line)
	return said
}

// logBeside is the guardian's log for a journal.
func logBeside(journal string) string { return strings.TrimSuffix(journal, ".journal") + ".log" }

// pickNode finds the one server that is meant.
func pickNode(ctx context.Context, o InjectOptions) (*patient, target.Node, error) {
	system, servers, ok := strings.Cut(o.Target, "=")
	if !ok || system != "zookeeper" || servers == "" {
		return nil, target.Node{}, usagef("--target: write it as zookeeper=host:2181,host:2181, with all servers of the ensemble")
	}
	for s := range strings.SplitSeq(servers, ",") {
		if !isAddress(s) {
			return nil, target.Node{}, usagef("--target: %q is not the address of a server; write it as host:2181", s)
		}
	}
	t := &targetSpec{System: system, Prefix: "/nightshift", Servers: strings.Split(servers, ","), Allow: []string{"faults"}, name: "zk"}
	p := &patient{spec: t, ward: foreignWard{t}}
	c, err := p.Lookup(ctx)
	if err != nil {
		return nil, target.Node{}, err
	}
	for _, n := range c.Nodes {
		// As in a plan, the leader of a cluster of one is that one.
		role := n.Role != target.Unknown && string(n.Role) == o.Node || n.Role == target.Standalone && o.Node == string(target.Leader)
		if n.ID == o.Node || n.Addrs[0] == o.Node || role {
			return p, n, nil
		}
	}
	return nil, target.Node{}, refusedf("no server of %s is %q now", servers, o.Node)
}
