// Package night assembles a run: it turns a plan into a lab or an external cluster and into lanes,
// checks beforehand that it can work, runs it, and heals what an earlier run left. It is the only
// room that knows all others but cmd and report.
//
// To add a kind of workload, fault or probe, add it in its own room; nothing changes here. To add a
// system, add its case in systems.go.
package night

import (
	"nightshift/probes"
	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/target"
)

// Names of other rooms' types that cmd hands on.
type (
	Cluster  = target.Cluster
	DirUsage = probes.DirUsage
	Bytes    = config.Bytes
)

// Seed makes an override of a number.
func Seed(n uint64) *soak.Seed {
	s := soak.Seed(n)
	return &s
}
