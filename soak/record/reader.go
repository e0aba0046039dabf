package record

import "time"

// Reader reads the record of a live, finished or killed run, without changing it.
type Reader struct{}

// Open opens the record in the run directory dir.
func Open(dir string) (*Reader, error) { panic("contract") }

// Close releases the file.
func (r *Reader) Close() error { panic("contract") }

// Run is the record's first event.
func (r *Reader) Run() (Run, error) { panic("contract") }

// Span limits a query to events that begin in [From, To); To 0 is no limit.
type Span struct{ From, To time.Duration }

// Events reads all events of one rare type in order of their time: Phase, Node, Fault (every state),
// Evidence, Purge, File, Finding, Note.
func Events[T Event](r *Reader, s Span) ([]T, error) { panic("contract") }

// LastFaults is the last state of every fault, in order of injection.
func (r *Reader) LastFaults() ([]Fault, error) { panic("contract") }

// Steps of windows.
const (
	Second  = time.Second
	Minute  = time.Minute
	Quarter = 15 * time.Minute
)

// WindowQuery selects windows; empty strings match all.
type WindowQuery struct {
	Span
	Workload, Op string
	Size         int           // 0 is all
	Step         time.Duration // Second (also when 0), Minute or Quarter; spans not yet rolled up come from the finer step
}

// Windows calls yield for each window in order of time, until it returns an error.
func (r *Reader) Windows(q WindowQuery, yield func(Window) error) error { panic("contract") }

// SlowOps calls yield for each kept operation in order of its intended start.
func (r *Reader) SlowOps(s Span, yield func(SlowOp) error) error { panic("contract") }

// SeriesKey names one series.
type SeriesKey struct{ Name, Node, Unit string }

// SeriesKeys lists the series whose name begins with prefix.
func (r *Reader) SeriesKeys(prefix string) ([]SeriesKey, error) { panic("contract") }

// Point is one sample of a series.
type Point struct {
	At    time.Duration
	Value float64
}

// Samples reads one series.
func (r *Reader) Samples(k SeriesKey, s Span) ([]Point, error) { panic("contract") }

// End is the offset of the last thing in the record.
func (r *Reader) End() (time.Duration, error) { panic("contract") }
