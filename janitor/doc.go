// Package janitor deletes old data files of a server and never what a recovery needs.
//
//	Scan ------> Inventory ------> Policy.Decide ------> Plan ------> Plan.Apply ------> Result
//	reads every file               pure                  reasons      under a lock       what is gone
//
// and Verify says on its own, from the files alone, to what state a directory can be restored.
//
// The promise: after any Apply, wherever it was stopped, the best state that can be restored is what it was before, and
// at least as many sound restart points are left as the policy asks for, or as there were. A sound restart point is a
// snapshot that is whole, is what its name says, and from which the logs replay without a gap to the newest
// transaction. It is proven on the files' content before anything is deleted; when it can't be proven, nothing is.
//
// Which files ZooKeeper itself would delete is known (PurgeTxnLog): with Z the oldest of the N newest snapshots, every
// snapshot below Z, and every log below the last one that starts at or before Z. The rule here is the same, but
//   - a snapshot counts only when it was read whole; PurgeTxnLog looks at its last bytes;
//   - names are parsed strictly: a foreign file neither shadows a log nor counts as a snapshot, and is never touched;
//   - what is damaged, empty or misnamed is kept and told.
//
// To add a policy: give Policy a field (its zero value means not asked for), let Decide move the line Z by it, never
// above the proof, and add what it removes to testdata/expected.json. To add a system: a reader under format, a
// scan that fills an Inventory, and rules beside policy.go; Dir, Plan and Apply know no system.
package janitor
