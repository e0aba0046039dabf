package zkstub

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// words are the four-letter words there are.
var words = []string{"srvr", "ruok", "mntr", "conf"}

const notServing = "This ZooKeeper instance is not currently serving requests\n"

// answerWord answers like the server does, up to its wording.
func (c *conn) answerWord(word string) {
	e, n := c.e, c.node
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.o.Words != nil && !slices.Contains(e.o.Words, word) && !slices.Contains(e.o.Words, "*"):
		c.send([]byte(word + " is not executed because it is not in the whitelist.\n"))
	case word == "ruok":
		c.send([]byte("imok"))
	case e.leader == nil:
		c.send([]byte(notServing))
	case word == "srvr":
		c.send([]byte(e.srvr(n)))
	case word == "mntr":
		c.send([]byte(e.mntr(n)))
	case word == "conf":
		c.send([]byte(e.conf(n)))
	}
}

func (e *Ensemble) srvr(n *node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s, built on 2025-01-01 00:00 UTC\n", version)
	fmt.Fprintf(&b, "Latency min/avg/max: 0/0.0/0\n")
	fmt.Fprintf(&b, "Received: %d\nSent: %d\n", n.packets, n.packets)
	fmt.Fprintf(&b, "Connections: %d\nOutstanding: 0\n", len(n.conns))
	fmt.Fprintf(&b, "Zxid: 0x%x\nMode: %s\n", e.zxid, e.role(n))
	fmt.Fprintf(&b, "Node count: %d\n", e.nodeCount())
	return b.String()
}

// version is what the words say; the suffix tells it from a real server.
const version = "3.9.5-stub"

// nodeCount counts the root twice, as the server does.
func (e *Ensemble) nodeCount() int { return len(e.tree.nodes) + 1 }

func (e *Ensemble) mntr(n *node) string {
	watched, ephemerals, size := 0, 0, 0
	for _, table := range []map[string]map[*conn]struct{}{e.watches.data, e.watches.child} {
		for _, who := range table {
			for c := range who {
				if c.node == n {
					watched++
				}
			}
		}
	}
	for path, node := range e.tree.nodes {
		size += len(path) + len(node.data)
		if node.st.owner != 0 {
			ephemerals++
		}
	}
	var b strings.Builder
	line := func(key string, v any) { fmt.Fprintf(&b, "zk_%s\t%v\n", key, v) }
	line("version", version+", built on 2025-01-01 00:00 UTC")
	line("server_state", e.role(n))
	line("num_alive_connections", len(n.conns))
	line("outstanding_requests", 0)
	line("znode_count", e.nodeCount())
	line("watch_count", watched)
	line("ephemerals_count", ephemerals)
	line("approximate_data_size", size)
	line("packets_received", n.packets)
	line("packets_sent", n.packets)
	line("avg_latency", "0.0")
	line("max_latency", "0.0")
	line("global_sessions", len(e.sessions))
	line("open_file_descriptor_count", 50+len(n.conns))
	if e.leader == n && len(e.nodes) > 1 {
		line("synced_followers", e.count((*node).awake)-1)
	}
	return b.String()
}

func (e *Ensemble) conf(n *node) string {
	dir := ""
	if n.files != nil {
		dir = n.files.dir
	}
	return fmt.Sprintf("clientPort=2181\nsecureClientPort=-1\ndataDir=%s\ndataLogDir=%s\ntickTime=%d\nmaxClientCnxns=0\nminSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=%d\n",
		dir, dir, e.o.Tick/time.Millisecond, 2*e.o.Tick/time.Millisecond, 20*e.o.Tick/time.Millisecond, n.id)
}
