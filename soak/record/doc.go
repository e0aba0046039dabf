// Package record is the run's memory: event types, one SQLite file a run, one writer, rollups, and a reader.
//
//	lanes -> Store.Emit -> queue -> writer, one transaction a second -> record.db -> Reader
//
//	event.go, clock.go       what may be said, and when
//	hist.go, histcode.go     the histogram and its stored form
//	store.go                 queue, ticker, stall, failure
//	writer.go, schema.go     one batch into tables
//	rollup.go                windows of 1 s, folded to 1 min and 15 min
//	series.go, slowcode.go   samples and slow operations, packed
//	open.go, reader.go, windows.go
//
// What is committed survives the death of the process; at most the last second is lost. The whole file is
// only ever appended to in meaning: several rows of one window add up, and a fault's newest state counts.
//
// To add an event type: a struct and a Kind in event.go, and a case in place (writer.go), which says where it stands on
// the time line. The test of kinds then asks for a line in its table. A type of which there are many in a
// second needs a table of its own, as windows, samples and slow operations have. A change that an
// older reader can't understand raises Format.
package record
