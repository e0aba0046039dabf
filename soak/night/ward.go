package night

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	gonet "github.com/shirou/gopsutil/v3/net"

	"nightshift/soak/lab"
	"nightshift/soak/target"
)

// labWard is a lab that this process owns.
type labWard struct{ lab *lab.Lab }

func (w labWard) Cluster(context.Context) (target.Cluster, error) { return w.lab.Cluster(), nil }

func (w labWard) Restart(ctx context.Context) error {
	if err := w.lab.StopAll(ctx); err != nil {
		return fmt.Errorf("stop all servers: %w", err)
	}
	if err := w.lab.StartAll(ctx); err != nil {
		return fmt.Errorf("start all servers on what is on disk: %w", err)
	}
	return nil
}

func (w labWard) Close(ctx context.Context) error { return w.lab.Down(ctx) }

// foreignWard is a cluster that was there before. What the plan does not say of its servers is looked for
// on this host: a supervisor of ours that owns them, else the process that listens on the port.
type foreignWard struct{ spec *targetSpec }

func (w foreignWard) Cluster(ctx context.Context) (target.Cluster, error) {
	c := target.Cluster{Name: w.spec.name, System: w.spec.System, Nodes: w.spec.nodes()}
	owned := detachedNodes(ctx)
	var listeners map[int]int
	for i, n := range c.Nodes {
		if o, ok := owned[n.Addrs[0]]; ok {
			o.ID = n.ID
			c.Nodes[i], c.Detached = o, true
			continue
		}
		if !onThisHost(n.Addrs[0]) {
			c.Nodes[i].Host = host(n.Addrs[0])
			continue
		}
		if listeners == nil {
			var err error
			if listeners, err = listening(ctx); err != nil {
				return c, err
			}
		}
		if ref, err := target.Resolve(listeners[port(n.Addrs[0])]); err == nil {
			c.Nodes[i].Proc = ref
		}
	}
	return c, nil
}

func (w foreignWard) Restart(context.Context) error { return errForeign }
func (w foreignWard) Close(context.Context) error   { return nil }

// detachedNodes are the servers of all labs that `lab up --detach` left running, by client address.
func detachedNodes(ctx context.Context) map[string]target.Node {
	nodes := map[string]target.Node{}
	base, err := lab.DefaultDir("any")
	if err != nil {
		return nodes
	}
	dirs, _ := filepath.Glob(filepath.Join(filepath.Dir(base), "*")) // the pattern is well formed
	for _, dir := range dirs {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		c, err := lab.Status(ctx, dir)
		cancel()
		if err != nil {
			continue // down, or not a lab: then its servers are found by their ports
		}
		for _, n := range c.Nodes {
			nodes[n.Addrs[0]] = n
		}
	}
	return nodes
}

// listening maps TCP ports to the processes that listen on them.
func listening(ctx context.Context) (map[int]int, error) {
	cs, err := gonet.ConnectionsWithContext(ctx, "tcp")
	if err != nil {
		return nil, fmt.Errorf("find server processes: %w", err)
	}
	pids := map[int]int{}
	for _, c := range cs {
		if c.Status == "LISTEN" && c.Pid > 0 {
			pids[int(c.Laddr.Port)] = int(c.Pid)
		}
	}
	return pids, nil
}

func host(addr string) string {
	h, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return h
}

func port(addr string) int {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(p)
	if err != nil {
		return -1
	}
	return n
}

// onThisHost says whether an address is one of this host's own.
func onThisHost(addr string) bool {
	ips, err := net.LookupIP(host(addr))
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, ip := range ips {
		if ip.IsLoopback() {
			return true
		}
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
				return true
			}
		}
	}
	return false
}
