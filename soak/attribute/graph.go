package attribute

import "nightshift/soak/record"

// edge says that a cause may act through a mechanism.
type edge struct {
	from, to string
	sameNode bool // only on the same node
}

// graph is fixed and small. from is a fault's kind or class, or a class of evidence.
//
// A stopped or frozen process measures its own fsync, its snapshot and its safepoint across the stop. An
// ensemble that lost its leader elects, and ZooKeeper writes a snapshot when a server joins a new epoch.
// Unlinking large files can hold the journal, and so an fsync. Writing a snapshot fills the page cache of
// the disk that the log syncs to.
var graph = []edge{
	{"kill", record.ClassElection, false}, {"kill", record.ClassSnapshot, false},
	{"pause", record.ClassElection, false}, {"pause", record.ClassSnapshot, false},
	{"pause", record.ClassFsync, true}, {"pause", record.ClassGC, true},
	{"network", record.ClassElection, false}, {"network", record.ClassSnapshot, false},
	{"disk", record.ClassFsync, true}, {"disk", record.ClassGC, true}, {"disk", record.ClassPressure, false},
	{"disk", record.ClassElection, false}, {"disk", record.ClassSnapshot, true},
	{"cpu", record.ClassGC, false}, {"cpu", record.ClassPressure, false}, {"cpu", record.ClassTester, false},
	{"cpu", record.ClassElection, false},
	{"memory", record.ClassGC, false}, {"memory", record.ClassPressure, false}, {"memory", record.ClassElection, false},
	{"clock", record.ClassElection, false},
	{ClassPurge, record.ClassFsync, true}, {ClassPurge, record.ClassPressure, false},
	{record.ClassSnapshot, record.ClassFsync, true}, {record.ClassSnapshot, record.ClassPressure, false},
	{record.ClassElection, record.ClassSnapshot, false},
}

// through says that cause may act through m.
func through(cause, m *scored) bool {
	if m.Class == ClassFault || m.Class == ClassPurge {
		return false
	}
	for _, e := range graph {
		if e.to != m.Class || e.sameNode && cause.Node != m.Node {
			continue
		}
		if e.from == cause.Class || cause.Class == ClassFault && (e.from == cause.fault.Fault.Fault || e.from == cause.fault.Class) {
			return true
		}
	}
	return false
}
