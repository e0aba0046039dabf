// Package record is the run's memory: event types, one SQLite file a run, one writer, rollups, and a reader.
package record
