package faults

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"nightshift/soak/target"
)

// Words for nodes in the mix; anything else is ids.
const (
	nodesLeader   = "leader"   // of a cluster of one: that one
	nodesFollower = "follower" // one of them
	nodesAny      = "any"      // one that serves
	nodesAll      = "all"
)

// choose is the nodes that the words mean in a cluster as it is now. most is the blast radius.
func choose(words string, c target.Cluster, pick uint64, most int) ([]target.Node, error) {
	if len(c.Nodes) == 0 {
		return nil, errors.New("the cluster has no nodes")
	}
	nodes := slices.Clone(c.Nodes)
	sort.Slice(nodes, func(i, k int) bool { return nodes[i].ID < nodes[k].ID })
	one := func(fits func(target.Role) bool) ([]target.Node, error) {
		var fit []target.Node
		for _, n := range nodes {
			if fits(n.Role) {
				fit = append(fit, n)
			}
		}
		if len(fit) == 0 {
			return nil, fmt.Errorf("no node is %q now; %s", words, roles(nodes))
		}
		return []target.Node{fit[pick%uint64(len(fit))]}, nil
	}
	switch words {
	case nodesLeader:
		return one(func(r target.Role) bool { return r == target.Leader || r == target.Standalone })
	case nodesFollower:
		return one(func(r target.Role) bool { return r == target.Follower })
	case nodesAny:
		return one(func(r target.Role) bool { return r != target.Unknown })
	}
	if words != nodesAll {
		var named []target.Node
		for id := range strings.SplitSeq(words, ",") {
			i := slices.IndexFunc(nodes, func(n target.Node) bool { return n.ID == strings.TrimSpace(id) })
			if i < 0 {
				return nil, fmt.Errorf("no node is called %q; %s", strings.TrimSpace(id), roles(nodes))
			}
			named = append(named, nodes[i])
		}
		nodes = named
	}
	if len(nodes) > most {
		return nil, fmt.Errorf("%d nodes at once, and max_nodes is %d", len(nodes), most)
	}
	return nodes, nil
}

// roles says who is what.
func roles(nodes []target.Node) string {
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		role := string(n.Role)
		if n.Role == target.Unknown {
			role = "not serving"
		}
		parts[i] = n.ID + " is " + role
	}
	return strings.Join(parts, ", ")
}
