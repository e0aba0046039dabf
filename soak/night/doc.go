// Package night assembles a run: it turns a plan into a lab or an external cluster and into lanes,
// checks beforehand that it can work, runs it, and heals what an earlier run left. It is the only
// room that knows all others but cmd and report.
//
// To add a kind of workload, fault or probe, add it in its own room; nothing changes here. To add a
// system, add its case in systems.go.
package night
