package lab

import (
	"context"
	"maps"
	"slices"

	"nightshift/soak/target"
)

// recipe is what the lab knows of one system.
type recipe struct {
	versions  []string                        // tested, the default first
	artifacts func(version string) []artifact // what Maven has to bring; their dependencies follow by themselves
	refused   func(key, value string) string  // why a setting can't be given; empty when the plan may set it
	ports     []string                        // names of the ports of a node; the first is the clients'
	dirs      func(s Spec, id string) (data, logs string)
	files     func(s Spec, n *node, all []*node) map[string][]byte // written at each start, by absolute path
	launch    func(s Spec, n *node, j java, jars string) target.Launch
	ready     func(ctx context.Context, addrs []string) error // nil once every node serves and a write has succeeded
}

// recipes lists the systems there is a lab for.
func recipes() map[string]recipe {
	return map[string]recipe{"zookeeper": zookeeper()}
}

func systems() []string { return slices.Sorted(maps.Keys(recipes())) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
