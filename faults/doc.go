// Package faults holds one file per fault, the schedule that runs them, and the journal of what must be undone.
//
// A fault's life (Life): health check, undo record synced, inject, prove that it bit, hold, revert, prove that it
// healed. Whatever goes wrong on the way, only the clean-up is done after it. When the tool dies, its guardian
// (package guardian) does the clean-up from the journal; after a power cut, Heal does.
//
// To add a fault:
//   - write KIND.go with a type that implements Fault over a Host. Prepare only reads, and puts all that Revert needs
//     into Undo: Revert may run in another process. Revert is idempotent and hits only what Prepare named. Observe
//     looks at the host, never at what the other methods returned.
//   - add one Info to Kinds. Its Decode reads and validates the `with:` part of the plan.
//   - write KIND_test.go, which runs faulttest.Suite; a fault that it can't pass is not finished.
package faults
