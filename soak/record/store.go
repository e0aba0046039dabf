package record

// FileName is the record's file inside the run directory.
const FileName = "record.db"

// Store is the one writer of a record.
type Store struct{}

// Create starts the record of run in dir, which must not hold one yet.
func Create(dir string, clock Clock, run Run) (*Store, error) { panic("contract") }

// Emit queues e; see Emit. After the writer has failed it drops e and Done is closed.
func (s *Store) Emit(e Event) { panic("contract") }

// Done is closed when the writer can't go on, for instance because the disk is full.
func (s *Store) Done() <-chan struct{} { panic("contract") }

// Err is why Done was closed.
func (s *Store) Err() error { panic("contract") }

// Flush writes what is queued and returns when it is committed.
func (s *Store) Flush() error { panic("contract") }

// Written is how many bytes the record holds on disk.
func (s *Store) Written() int64 { panic("contract") }

// Close flushes, folds the open minute and closes the file.
func (s *Store) Close() error { panic("contract") }
