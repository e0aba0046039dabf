// Package faults holds one file per fault, the schedule that runs them, and the journal of what must be undone.
package faults
