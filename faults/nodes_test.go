package faults

import (
	"strings"
	"testing"

	"nightshift/soak/target"
)

func TestChoose(t *testing.T) {
	three := []target.Node{{ID: "n3", Role: target.Follower}, {ID: "n1", Role: target.Follower}, {ID: "n2", Role: target.Leader}}
	for _, c := range []struct {
		words string
		nodes []target.Node
		pick  uint64
		most  int
		want  string // ids, or part of the error
	}{
		{"leader", three, 9, 1, "n2"},
		{"follower", three, 0, 1, "n1"},
		{"follower", three, 1, 1, "n3"},
		{"follower", three, 2, 1, "n1"},
		{"any", three, 1, 1, "n2"},
		{"any", []target.Node{{ID: "n1"}, {ID: "n2", Role: target.Observer}}, 0, 1, "n2"},
		{"all", three, 0, 3, "n1 n2 n3"},
		{"all", three, 0, 2, "3 nodes at once, and max_nodes is 2"},
		{"n3", three, 0, 1, "n3"},
		{"n3, n1", three, 0, 2, "n3 n1"},
		{"n4", three, 0, 1, `no node is called "n4"; n1 is follower, n2 is leader, n3 is follower`},
		{"leader", []target.Node{{ID: "n1", Role: target.Standalone}}, 0, 1, "n1"},
		{"follower", []target.Node{{ID: "n1", Role: target.Standalone}}, 0, 1, `no node is "follower" now; n1 is standalone`},
		{"leader", []target.Node{{ID: "n1"}}, 0, 1, "n1 is not serving"},
		{"all", nil, 0, 1, "the cluster has no nodes"},
	} {
		got, err := choose(c.words, target.Cluster{Nodes: c.nodes}, c.pick, c.most)
		var ids []string
		for _, n := range got {
			ids = append(ids, n.ID)
		}
		text := strings.Join(ids, " ")
		if err != nil {
			text = err.Error()
		}
		if err == nil && text != c.want || err != nil && !strings.Contains(text, c.want) {
			t.Errorf("%s of %v: %q, want %q", c.words, c.nodes, text, c.want)
		}
	}
}
