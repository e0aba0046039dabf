package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"nightshift/soak/record"
)

func serverLogInfo() Info {
	return Info{
		Kind:    "zookeeper/log",
		Purpose: "what each server says in its log: slow fsyncs, snapshots, elections, with when and how long",
		Cost:    "reads what was appended, at most 4 MiB a sample; a quiet log costs two system calls",
		System:  "zookeeper",
		Every:   time.Second,
	}
}

// serverLog follows the log of each node. Its lines carry the end of what took time, in wall clock; they are
// mapped to the run with an uncertainty of 5 ms, more around a moment when the wall clock was set.
type serverLog struct {
	name   string
	env    Env
	nodes  *clusters
	clocks hostClocks
	tails  map[string]*tail // node -> its log
	snaps  map[string]string
}

func newServerLog(s Spec, env Env, _ none) (Probe, error) {
	cs, err := clustersOf(env, s.Target)
	return &serverLog{
		name: named(s.Kind, s.Target), env: env, nodes: cs, clocks: newHostClocks(env),
		tails: map[string]*tail{}, snaps: map[string]string{},
	}, err
}

// Name implements Probe.
func (p *serverLog) Name() string { return p.name }

// Close ends the tails.
func (p *serverLog) Close() error { return closeTails(p.tails) }

// Sample implements Probe.
func (p *serverLog) Sample(ctx context.Context) ([]Reading, error) {
	nodes, err := p.nodes.nodes(ctx, "zookeeper", 30*time.Second)
	errs := []error{err}
	p.clocks.look()
	var rs []Reading
	for _, n := range nodes {
		r, err := p.node(n)
		if err != nil {
			errs = append(errs, Gap{Node: n.ID, Err: err})
		}
		rs = append(rs, r...)
	}
	return rs, errors.Join(errs...)
}

func (p *serverLog) node(n member) ([]Reading, error) {
	t, err := tailOf(p.tails, n, n.Log, "server log")
	if err != nil {
		return nil, err
	}
	c, err := t.read()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the server has not started yet; its log will be read from its begin
	}
	if err != nil {
		return nil, err
	}
	var rs []Reading
	for _, line := range c.lines {
		if e, ok := p.event(n.ID, line); ok {
			rs = append(rs, e)
		}
	}
	return rs, c.behind()
}

// tailOf is the tail of a node's file, made at the first look.
func tailOf(tails map[string]*tail, n member, path, what string) (*tail, error) {
	switch {
	case !local(n.Node):
		return nil, unavailable("the node runs on host %s; its %s can't be read from here", n.Host, what)
	case path == "":
		return nil, unavailable("its %s is not known; name it in the plan", what)
	}
	t := tails[n.ID]
	if t == nil || t.path != path {
		next := &tail{path: path}
		if t != nil { // a new file of a server that was started again: all of it is new
			next.looked, next.gen = true, t.gen
			t.close()
		}
		t = next
		tails[n.ID] = t
	}
	return t, nil
}

func closeTails(tails map[string]*tail) error {
	for _, t := range tails {
		t.close()
	}
	return nil
}

// behind is an error when a part of the log was left out.
func (c chunk) behind() error {
	if c.skipped == 0 {
		return nil
	}
	return fmt.Errorf("skipped %d bytes of the log: it grows faster than it is read", c.skipped)
}

// event reads one line of a server's log.
func (p *serverLog) event(node, line string) (record.Evidence, bool) {
	if to, ok := snapshotBegins(line); ok {
		p.snaps[node] = to
		return record.Evidence{}, false
	}
	l, ok := parseServerLine(line)
	if !ok {
		return record.Evidence{}, false
	}
	if l.class == record.ClassSnapshot && p.snaps[node] != "" {
		l.text += ": " + p.snaps[node]
		delete(p.snaps, node)
	}
	end := p.clocks.stamp(node+"/server-log", l.end)
	begin := end
	begin.At -= l.took
	return record.Evidence{
		Stamp: begin, To: end.At, Class: l.class, Node: node,
		Magnitude: l.took.Seconds(), Unit: "s", Text: l.text,
	}, true
}

// serverLine is a line that says that something took time.
type serverLine struct {
	end   time.Time
	took  time.Duration
	class string
	text  string
}

// maxTook is how long anything in a log can have taken: more is a broken line.
const maxTook = 24 * time.Hour

// parseServerLine knows the messages of FileTxnLog (fsync, when it took longer than
// zookeeper.fsync.warningthresholdms), ZooKeeperServer (snapshot; the one at start-up has no such line) and
// Leader and Learner (election), as ZooKeeper 3.5 to 3.9 write them.
func parseServerLine(line string) (serverLine, bool) {
	end, rest, ok := logTime(line)
	if !ok {
		return serverLine{}, false
	}
	if _, m, ok := strings.Cut(rest, "fsync-ing the write ahead log in "); ok {
		thread, m, _ := strings.Cut(m, " took ")
		took, ok := millis(m)
		return serverLine{end, took, record.ClassFsync, "fsync in " + thread + " took " + took.String()}, ok
	}
	if _, m, ok := strings.Cut(rest, "Snapshot taken in "); ok {
		took, ok := millis(m)
		return serverLine{end, took, record.ClassSnapshot, "snapshot took " + took.String()}, ok
	}
	if before, m, ok := strings.Cut(rest, " - LEADER ELECTION TOOK - "); ok {
		took, ok := millis(m)
		role := "leader"
		if strings.HasSuffix(before, "FOLLOWING") {
			role = "follower"
		} else if strings.HasSuffix(before, "OBSERVING") {
			role = "observer"
		}
		return serverLine{end, took, record.ClassElection, "election took " + took.String() + ", it is " + role + " now"}, ok
	}
	return serverLine{}, false
}

// snapshotBegins is the file that a snapshot goes to.
func snapshotBegins(line string) (string, bool) {
	_, m, ok := strings.Cut(line, "Snapshotting: 0x")
	if !ok {
		return "", false
	}
	_, path, ok := strings.Cut(m, " to ")
	if !ok {
		return "", false
	}
	path = strings.TrimSpace(path)
	return path[strings.LastIndexByte(path, '/')+1:], true
}

// millis reads the number of milliseconds that s begins with, as in "12ms ..." and "12 MS".
func millis(s string) (time.Duration, bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	unit := strings.ToLower(strings.TrimLeft(s[i:], " "))
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil || !strings.HasPrefix(unit, "ms") || n > int64(maxTook/time.Millisecond) {
		return 0, false
	}
	return time.Duration(n) * time.Millisecond, true
}
