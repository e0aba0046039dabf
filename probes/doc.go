// Package probes holds one file per probe and the lane that polls them.
//
// A probe looks at one thing: data directories, a file system, the host, server processes, a server's
// statistics or its logs. It says what it saw as events (Series, File, Evidence, Node, Note) with stamps of
// the run's time line. What it could not see is said too: a node that gave nothing becomes a probe gap, and
// a probe that never gave anything makes a run inconclusive unless the plan says that it is optional.
//
// To add one:
//
//  1. Write a file named after the kind with a type that implements [Probe], and its twin test. Take roots
//     (/proc) and clocks from [Env], so that fixtures work. Bound what one sample reads; state the cost.
//  2. A node that can't be looked at is a [Gap] in the error of Sample, beside the readings of the others.
//     Wrap [ErrUnavailable] when it will not change during the run.
//  3. Add the kind to the table in kinds.go: purpose, cost, interval, own parameters with their defaults.
//
// A probe that must run without a break between its samples also implements [Watcher].
package probes
