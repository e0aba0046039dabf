package attribute

import (
	"time"

	"nightshift/soak/record"
)

// Analysis is everything that can be said about a run without judging it. All times are offsets of the record.
type Analysis struct {
	Run     record.Run
	Phases  []Phase
	Ended   string        // text of PhaseEnd; "" when the record has none: the run was killed, or is live
	Live    bool          // set by the caller, who can look at the process: the run still goes on
	End     time.Duration // offset of the last thing in the record
	Load    Span          // the judged span: the load phase, in whole seconds; empty when load never began
	Nodes   []record.Node // the last state of every node
	Without []string      // what consent was missing for: "faults", "purges"

	Operations []Operation     // per workload, operation and size
	Workloads  []Operation     // sums per workload and size; Op is ""
	Baselines  []Baseline      // what operations look like while nothing is wrong
	Idle       map[string]Idle // per workload: where it had no success for the longest time

	Spikes       []Spike // in order of time, at most MaxSpikes, the worst kept
	SpikesLeft   int     // how many more there were
	SpikesExcess time.Duration
	Unknown      int // spikes among Spikes without a cause

	Faults    []Recovery // in order of injection, skipped ones included
	Purges    []record.Purge
	Unloaded  int // purges of the load phase that removed files while no operation was wanted
	Evidence  []record.Evidence
	Disks     []Disk
	Files     []FileChange
	DiskPerOp float64 // bytes put on the disks of all nodes per acknowledged operation; 0 when not known
	Self      Self
	Findings  []record.Finding
	Notes     []record.Note
}

// Span is [From, To).
type Span struct{ From, To time.Duration }

// Len is how long the span is.
func (s Span) Len() time.Duration { return max(0, s.To-s.From) }

// Overlap is how long both spans are inside each other.
func (s Span) Overlap(o Span) time.Duration { return max(0, min(s.To, o.To)-max(s.From, o.From)) }

// Phase is one phase of the run with its end.
type Phase struct {
	Name string
	Span
	Text string
}

// Operation is one row of the table of operations. Counts run from the begin of the load phase to the end
// of the drain, so that an operation that began in the load is not lost; rates are per second of load.
type Operation struct {
	Workload, Op string
	Size         int

	Count, OK, Failed, InDoubt uint64 // Count = OK + Failed + InDoubt
	Shed, Late                 uint64
	Bytes                      uint64
	Active                     Span    // first to last second in which any was wanted
	Over                       uint64  // beyond the histogram's range
	TPS                        float64 // acknowledged operations a second since warm-up

	Mean, P50, P95, P99, P999, Max                time.Duration // response: intended start to end
	ServiceMean, ServiceP50, ServiceP99, DelayP99 time.Duration // start to end; intended start to start

	RecentTPS  float64       // last 10 s of the load
	RecentMean time.Duration // response, last 10 s of the load
}

// Idle is the longest stretch of the load in which no operation of a workload succeeded. What a fault may have caused
// neither counts nor ends it.
type Idle struct {
	Span
	Seconds int // of it, outside of faults
}

// Offered is how many operations the schedule wanted: those done and those shed.
func (o Operation) Offered() uint64 { return o.Count + o.Shed }

// Baseline is what one operation looks like in clean seconds: seconds of the load outside faults, their
// recoveries and purges. See baseline.go for what counts when there are few of them.
type Baseline struct {
	Workload, Op string
	Size         int
	Seconds      int           // clean seconds it rests on; 0: there is no baseline
	Median       time.Duration // median response
	P99          time.Duration // 95 % of clean seconds have a p99 of at most this
	Failed       float64       // 95 % of clean seconds have at most this many that failed or are in doubt
	TPS          float64       // 90 % of clean seconds have at least this many acknowledged operations
	Threshold    time.Duration // a response of this and more is a stall: max(150 ms, 10 x Median)
}

// UnknownKind says why a spike has no cause.
type UnknownKind string

// Kinds of unknown. An answer that would be a guess is not given.
const (
	Known            UnknownKind = ""
	UnknownNone      UnknownKind = "none"      // nothing seen is a likelier cause than chance
	UnknownGap       UnknownKind = "gap"       // as none, and a probe was blind at that time
	UnknownAmbiguous UnknownKind = "ambiguous" // the two best candidates are too close
)

// Spike is a span in which operations of one system stalled or failed.
type Spike struct {
	ID     string // "spike-1", in order of time
	System string
	Span
	Excess    time.Duration // sum over its operations of the response beyond the baseline median
	Longest   time.Duration // longest response
	Ops       uint64        // operations that stalled, failed or are in doubt
	Failed    uint64        // of these: failed or in doubt
	Workloads []string
	Nodes     []string // addresses the operations went to
	Slow      []record.SlowOp
	Controls  []record.SlowOp // at most 2, drawn at random from the same time

	Cause      string      // text of the cause; "unknown" when there is none
	Mechanism  string      // what the cause acted through, where seen
	Share      float64     // 0..1 of the excess that the cause explains
	Unknown    UnknownKind // Known when Cause is one
	Margin     float64     // score of the cause less that of the runner-up
	Candidates []Candidate // best first, at most MaxCandidates
	Left       int         // candidates beyond that
}

// Role of a candidate in the answer.
type Role string

// Roles.
const (
	RoleCause      Role = "cause"
	RoleMechanism  Role = "mechanism"  // it came of the cause
	RoleCoincident Role = "coincident" // it would do as a cause, another one does better
	RoleRejected   Role = "rejected"
)

// Candidate is one thing that may explain a spike.
type Candidate struct {
	Class string // ClassFault, ClassPurge or a record.Class*
	Ref   string // names the event: fault id, "purge-3", "fsync-12" (1-based index in Analysis.Evidence)
	Node  string
	Text  string
	Span
	Share   float64 // 0..1 of the spike's excess that its time explains
	Like    int     // how many of its like (same class, at least 0.7 as large) the load phase has
	Without int     // how many of these occurred without a spike
	Score   float64
	Terms   Terms
	Role    Role
	Reason  string // one line: why it has this role
}

// Classes of candidates that are events of their own; evidence keeps its record.Class*.
const (
	ClassFault = "fault"
	ClassPurge = "purge"
)

// Terms of a score; their sum is the score.
type Terms struct {
	Base  float64 // how unlikely the overlap is by chance, in this run
	Share float64 // how much of the lost time it explains
	Onset float64 // whether it began when the spike began
	Scope float64 // whether the servers fit
	Away  float64 // given to its cause, or received from its mechanisms
}

// Recovery is a fault and how the service took it. Durations count from the injection; nil was not seen.
type Recovery struct {
	record.Fault
	Detect       *time.Duration // first operation that failed or stalled
	FirstSuccess *time.Duration // first success after that
	Recovered    *time.Duration // back to baseline
	Unnoticed    bool           // no operation failed or stalled: Detect is nil, Recovered is 0
	Overdue      bool           // not back within Limit after it was healed
	Unjudged     string         // why recovery could not be judged; "" when it was
	Offered      uint64         // operations wanted while the fault was in effect; 0: nothing was proven
	Reach        Span           // injection to recovery: what the fault may have caused
}

// Disk is what one kind of file of one node holds.
type Disk struct {
	System, Node, Kind     string
	Bytes, Allocated       int64 // last value
	PeakBytes, PeakAlloc   int64
	Files                  int
	PerHour                float64 // allocated bytes per hour: robust slope (Theil-Sen) over the load phase
	Judged                 bool    // PerHour rests on enough points
	GrowthFrom, GrowthTo   time.Duration
	FirstBytes, FirstAlloc int64 // at the begin of the load
}

// FileChange sums the data files of one kind that appeared and vanished on one node.
type FileChange struct {
	Node, Type       string
	Created, Removed int
	CreatedBytes     int64
	RemovedBytes     int64
}

// Self is what the tool itself cost.
type Self struct {
	CPU     float64 // mean, in the unit the record says
	CPUMax  float64
	CPUUnit string
	RSS     int64 // last, bytes
	RSSMax  int64
	Written int64 // bytes of the record; 0 when not recorded
}
