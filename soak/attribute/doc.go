// Package attribute reads a record and says what happened: figures of every operation, spikes and what
// caused each, how each fault was noticed and recovered from, what the disks hold and grow by, what the
// tool itself cost. Everything is a pure function of the record: the same record gives the same answer,
// whatever the order of events that carry the same time.
//
// Analyse loads the record into plain values (load.go) and hands them to the pure parts: baseline.go,
// spikes.go, candidates.go, score.go, recovery.go, disks.go, operations.go.
//
// To add a kind of candidate: give it a Class in candidates.go, turn its events into evidence there, and
// name in graph.go what it may act through. To add a figure of an operation: operations.go.
//
// Limits: a workload loads the only system of the run, or the one its name begins with ("zookeeper" in
// "zookeeper.ephemeral"), so two targets of one system are judged as one. Scores order candidates; they are not probabilities, and nothing
// here is calibrated. Shifts of the median are no spikes.
package attribute
