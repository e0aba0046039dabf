// Package zkstub is a small stand-in for a ZooKeeper ensemble, in one process, for tests.
//
// It speaks the client protocol (sessions, watches, ephemeral and sequential nodes, multi, four-letter words) over
// in-memory connections, so that hours of virtual time fit into a test with testing/synctest, or over TCP on
// 127.0.0.1. It stops, pauses and elects like an ensemble, and writes each node's transaction logs and snapshots
// in ZooKeeper's own formats, so that readers of files, purges and restarts can be tried on them.
//
// It is not a replicated system: all nodes share one tree, a write is on every running node at once, and nothing
// is read back from the files. What a real follower shows late, or loses with a torn disk, needs a real ensemble.
//
// Defects can be planted (defects.go): a lost acknowledged write, a dropped notification, an ephemeral node
// that outlives its session, a slow node. A checker that stays green with one of them planted checks nothing.
//
// To add a request: its code in protocol.go, a case in requests.go. To add a defect: a method in defects.go.
package zkstub
