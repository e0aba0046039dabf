package probes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

func mntrInfo() Info {
	return Info{
		Kind:    "zookeeper/mntr",
		Purpose: "each server's own figures by the word mntr: latency, queue, znodes, watches, sessions, fsync times, role",
		Cost:    "one connection a server and sample; the server computes about 500 lines, 20 KB, and ten more lines for each top-level znode that was ever used",
		System:  "zookeeper",
		Every:   5 * time.Second,
	}
}

// mntr asks each server for its figures. The server must list mntr in 4lw.commands.whitelist (only srvr is
// there by default). Averages and maxima of ZooKeeper are since its start; the counters zk_cnt_ and zk_sum_
// give the time of a span by their differences.
type mntr struct {
	name  string
	env   Env
	nodes *clusters
	word  func(ctx context.Context, addr, word string) (string, error)
	role  map[string]string // node -> role last said
}

func newMntr(s Spec, env Env, _ none) (Probe, error) {
	cs, err := clustersOf(env, s.Target)
	return &mntr{
		name: named(s.Kind, s.Target), env: env, nodes: cs, word: zookeeper.Word, role: map[string]string{},
	}, err
}

// mntrSeries are the keys that are kept, with the series they become.
func mntrSeries() map[string]struct{ name, unit string } {
	return map[string]struct{ name, unit string }{
		"zk_avg_latency":                  {"zookeeper.latency.avg", "ms"},
		"zk_max_latency":                  {"zookeeper.latency.max", "ms"},
		"zk_outstanding_requests":         {"zookeeper.outstanding", "1"},
		"zk_znode_count":                  {"zookeeper.znodes", "1"},
		"zk_watch_count":                  {"zookeeper.watches", "1"},
		"zk_ephemerals_count":             {"zookeeper.ephemerals", "1"},
		"zk_approximate_data_size":        {"zookeeper.data", "By"},
		"zk_num_alive_connections":        {"zookeeper.connections", "1"},
		"zk_global_sessions":              {"zookeeper.sessions", "1"},
		"zk_open_file_descriptor_count":   {"zookeeper.fds", "1"},
		"zk_fsync_threshold_exceed_count": {"zookeeper.fsync.exceeded", "1"},
		"zk_cnt_fsynctime":                {"zookeeper.fsync.count", "1"},
		"zk_sum_fsynctime":                {"zookeeper.fsync.sum", "ms"},
		"zk_max_fsynctime":                {"zookeeper.fsync.max", "ms"},
		"zk_cnt_snapshottime":             {"zookeeper.snapshot.count", "1"},
		"zk_sum_snapshottime":             {"zookeeper.snapshot.sum", "ms"},
		"zk_synced_followers":             {"zookeeper.synced_followers", "1"},
		"zk_pending_syncs":                {"zookeeper.pending_syncs", "1"},
		"zk_uptime":                       {"zookeeper.uptime", "ms"},
	}
}

// Name implements Probe.
func (p *mntr) Name() string { return p.name }

// Sample implements Probe. Servers are asked at once, so that one that hangs delays no other.
func (p *mntr) Sample(ctx context.Context) ([]Reading, error) {
	nodes, err := p.nodes.nodes(ctx, "zookeeper", 30*time.Second)
	answers := make([]string, len(nodes))
	errs := make([]error, len(nodes), len(nodes)+1)
	stamps := make([]record.Stamp, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			begin := p.env.Clock.Now()
			answers[i], errs[i] = p.ask(ctx, n)
			// The server took its figures somewhere between the question and the answer.
			half := (p.env.Clock.Now() - begin) / 2
			stamps[i] = record.Stamp{Source: n.ID + "/mntr", At: begin + half, Uncertainty: half}
		})
	}
	wg.Wait()
	var rs []Reading
	for i, n := range nodes {
		if errs[i] == nil {
			values := parseMntr(answers[i])
			rs = append(rs, values.series(n.ID, stamps[i])...)
			rs = append(rs, p.roleOf(n, values, stamps[i])...)
		}
	}
	return rs, errors.Join(append(errs, err)...)
}

func (p *mntr) ask(ctx context.Context, n member) (string, error) {
	if len(n.Addrs) == 0 {
		return "", Gap{Node: n.ID, Err: unavailable("its client address is not known")}
	}
	text, err := p.word(ctx, n.Addrs[0], "mntr")
	switch {
	case errors.Is(err, zookeeper.ErrNotWhitelisted):
		return "", Gap{Node: n.ID, Err: unavailable("mntr is not allowed; add it to 4lw.commands.whitelist in the server's zoo.cfg")}
	case err != nil:
		return "", Gap{Node: n.ID, Err: fmt.Errorf("ask mntr: %w", err)}
	case !strings.Contains(text, "zk_"):
		first, _, _ := strings.Cut(text, "\n")
		return "", Gap{Node: n.ID, Err: fmt.Errorf("ask mntr: the server says %.100q", first)}
	}
	return text, nil
}

// mntrValues are the lines of an answer.
type mntrValues map[string]string

// parseMntr takes "key<tab>value" lines; anything else is passed over.
func parseMntr(text string) mntrValues {
	vs := mntrValues{}
	for line := range strings.Lines(text) {
		if key, val, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t"); ok {
			vs[key] = val
		}
	}
	return vs
}

func (vs mntrValues) series(node string, at record.Stamp) []Reading {
	var rs []Reading
	for key, s := range mntrSeries() {
		v, err := strconv.ParseFloat(vs[key], 64)
		if err != nil {
			continue // this version or role of a server lacks it
		}
		rs = append(rs, record.Series{Stamp: at, Name: s.name, Node: node, Unit: s.unit, Value: v})
	}
	return rs
}

// roleOf says a node's role when it has changed.
func (p *mntr) roleOf(n member, vs mntrValues, at record.Stamp) []Reading {
	role := vs["zk_server_state"]
	was, known := p.role[n.ID]
	p.role[n.ID] = role
	if !known {
		was = string(n.Role)
	}
	if role == "" || role == was {
		return nil
	}
	version, _, _ := strings.Cut(vs["zk_version"], "-")
	node := record.Node{
		Stamp: at, System: n.System, Target: n.Cluster, ID: n.ID, Addr: n.Addrs[0], Pid: pidOf(n.Node),
		Role: role, Up: true, Version: version,
	}
	if len(n.DataDirs) > 0 {
		node.DataDir = n.DataDirs[0]
	}
	if len(n.LogDirs) > 0 {
		node.LogDir = n.LogDirs[0]
	}
	return []Reading{node}
}

// pidOf is the process of a node, 0 when it has ended: what is known of a cluster may be older than a restart.
func pidOf(n target.Node) int {
	if !n.Proc.Alive() {
		return 0
	}
	return n.Proc.Pid
}
