package record

import "time"

// Stamp places an event on the time line of its run.
type Stamp struct {
	Source      string        `json:"source,omitempty"`      // whose clock: "" is nightshift's own, else "n1/server-log", "n1/gc-log"
	At          time.Duration `json:"at"`                    // offset from the run's monotonic base
	Uncertainty time.Duration `json:"uncertainty,omitempty"` // half-width: the true time is At ± this
}

// Emit hands one event to the record. It may block when the writer is behind, and is safe for concurrent use.
type Emit func(Event)

// Event is anything a lane may say. The set is closed: one struct per Kind, all in this file.
type Event interface{ Kind() Kind }

// Kind names an event type in the store.
type Kind string

// The kinds of events, as they are stored.
const (
	KindRun      Kind = "run"
	KindPhase    Kind = "phase"
	KindNode     Kind = "node"
	KindWindow   Kind = "window"
	KindSlowOp   Kind = "slow_op"
	KindFault    Kind = "fault"
	KindSeries   Kind = "series"
	KindEvidence Kind = "evidence"
	KindPurge    Kind = "purge"
	KindFile     Kind = "file"
	KindFinding  Kind = "finding"
	KindNote     Kind = "note"
)

// Run is the first event of every record. Wall clock stands only here.
type Run struct {
	Format   int       `json:"format"` // version of the event types, see Format
	ID       string    `json:"id"`
	Plan     string    `json:"plan"` // name of the plan
	YAML     string    `json:"yaml"` // the plan as it ran: defaults, seed and overrides fixed
	Seed     uint64    `json:"seed"`
	Started  time.Time `json:"started"` // wall clock of offset zero
	Host     string    `json:"host"`
	BootID   string    `json:"boot_id"`
	Pid      int       `json:"pid"`
	Ticks    uint64    `json:"ticks"`          // start time of Pid in clock ticks since boot: tells a live run from a killed one
	BootBase int64     `json:"bootbase"`       // CLOCK_BOOTTIME of offset zero in ns: maps process start times to offsets
	Tool     string    `json:"tool"`           // version of nightshift
	Replay   string    `json:"replay"`         // the command that runs the same again
	Left     []string  `json:"left,omitempty"` // what consent was missing for: "faults", "purge"
}

// Phase says that a phase of the run begins; it ends where the next one begins.
type Phase struct {
	Stamp
	Name string `json:"name"`           // one of the Phase* constants
	Text string `json:"text,omitempty"` // for PhaseEnd: why the run ended
}

// The phases of a run, in order. A record without PhaseEnd is of a live or a killed run.
const (
	PhaseLab     = "lab"     // servers start
	PhaseSetup   = "setup"   // workloads create what they need
	PhaseWarmup  = "warmup"  // load runs, nothing is judged
	PhaseLoad    = "load"    // load, faults, purges
	PhaseDrain   = "drain"   // no new operations; outstanding ones end
	PhaseCheck   = "check"   // loss, duplicates, order, left-overs
	PhaseRestart = "restart" // the lab restarts on what the janitor kept, and the checks run again
	PhaseEnd     = "end"     // Text: EndDone, EndInterrupted, or "failed: ..." (harness error, record full)
)

// Texts of PhaseEnd.
const (
	EndDone        = "done"
	EndInterrupted = "interrupted"
)

// Node is the state of one server, said when the run begins and whenever it changes.
type Node struct {
	Stamp
	System  string `json:"system"`
	Target  string `json:"target"`
	ID      string `json:"id"`
	Addr    string `json:"addr"`
	Pid     int    `json:"pid,omitempty"`
	Role    string `json:"role,omitempty"`
	Up      bool   `json:"up"`
	DataDir string `json:"data_dir,omitempty"`
	LogDir  string `json:"log_dir,omitempty"`
	Version string `json:"version,omitempty"`
}

// Outcome of an operation.
type Outcome uint8

// The three outcomes. In doubt means that the operation may or may not have taken effect.
const (
	OK Outcome = iota
	Failed
	InDoubt
)

// Window is one span (a second, or a rollup of 1 min or 15 min) of one operation of one workload.
type Window struct {
	Stamp                  // At is the begin of the span
	Len      time.Duration `json:"len"`
	Workload string        `json:"workload"`
	Op       string        `json:"op"`
	Size     int           `json:"size"`
	OK       uint64        `json:"ok"`
	Failed   uint64        `json:"failed"`
	InDoubt  uint64        `json:"in_doubt"`
	Shed     uint64        `json:"shed"`  // due by schedule and never sent
	Late     uint64        `json:"late"`  // sent later than LateAfter behind its intended time
	Bytes    uint64        `json:"bytes"` // payload bytes acknowledged
	Service  *Hist         `json:"-"`     // start to end
	Delay    *Hist         `json:"-"`     // intended start to start
	Response *Hist         `json:"-"`     // intended start to end
}

// LateAfter is how far behind its intended time an operation may start before it counts as late.
const LateAfter = 50 * time.Millisecond

// SlowOp is one operation kept whole.
type SlowOp struct {
	Stamp                  // At is the intended start
	Workload string        `json:"workload"`
	Op       string        `json:"op"`
	Size     int           `json:"size"`
	Worker   int           `json:"worker"`
	Path     string        `json:"path"`
	Seq      uint64        `json:"seq"`
	Start    time.Duration `json:"start"`
	End      time.Duration `json:"end"`
	Outcome  Outcome       `json:"outcome"`
	Err      string        `json:"err,omitempty"`  // short class: "timeout", "connection lost", ...
	Node     string        `json:"node,omitempty"` // address of the server it went to
	Why      string        `json:"why"`            // WhySlow, WhyFailed or WhyControl
}

// Why an operation was kept.
const (
	WhySlow    = "slow"
	WhyFailed  = "failed"
	WhyControl = "control" // drawn at random, as the control group
)

// Fault is the whole state of one fault. It is emitted at each change; the last one of an ID counts.
type Fault struct {
	Stamp                  // At is when this state was reached
	ID       string        `json:"id"`
	Item     int           `json:"item,omitempty"` // of the plan's mix, from 1; 0: not by a plan
	Fault    string        `json:"kind"`           // kill, pause, ...
	Class    string        `json:"class"`
	Target   string        `json:"target"`
	Node     string        `json:"node"`
	Role     string        `json:"role,omitempty"`
	Optional bool          `json:"optional,omitempty"`
	Step     string        `json:"step"`               // one of the Step* constants
	Injected time.Duration `json:"injected,omitempty"` // call returned
	From     time.Duration `json:"from,omitempty"`     // seen to bite
	Reverted time.Duration `json:"reverted,omitempty"` // undo returned
	To       time.Duration `json:"to,omitempty"`       // seen healed
	Bit      bool          `json:"bit"`
	Healed   bool          `json:"healed"`
	Skipped  string        `json:"skipped,omitempty"` // the reason, when it could not run here
	Error    string        `json:"error,omitempty"`
	Proof    []string      `json:"proof,omitempty"` // what Observe saw
	Limit    time.Duration `json:"limit,omitempty"` // recovery must be over within this after To
}

// Steps of a fault's life.
const (
	StepPrepared = "prepared"
	StepInjected = "injected"
	StepBit      = "bit"
	StepReverted = "reverted"
	StepHealed   = "healed"
	StepSkipped  = "skipped"
	StepFailed   = "failed" // did not bite, or did not heal: Error says which
)

// Series is one sample of one measured quantity.
type Series struct {
	Stamp
	Name  string  `json:"name"` // "zookeeper.files.log.bytes", "host.cpu", ...
	Node  string  `json:"node,omitempty"`
	Unit  string  `json:"unit,omitempty"` // "By", "1", "s", "ms", "%"
	Value float64 `json:"value"`
}

// Evidence is something that took time and may explain a spike.
type Evidence struct {
	Stamp                   // At is the begin
	To        time.Duration `json:"to"`
	Class     string        `json:"class"` // one of the Class* constants
	Node      string        `json:"node,omitempty"`
	Magnitude float64       `json:"magnitude"` // in Unit; durations in seconds
	Unit      string        `json:"unit"`
	Text      string        `json:"text"`
}

// Classes of evidence. Faults and purges have their own events and are candidates too.
const (
	ClassFsync    = "fsync"     // the server's own fsync warning
	ClassGC       = "gc"        // stop-the-world pause of a JVM
	ClassSnapshot = "snapshot"  // the server writes a snapshot
	ClassElection = "election"  // the ensemble elects
	ClassTester   = "tester"    // nightshift itself was not scheduled
	ClassPressure = "pressure"  // /proc/pressure stall of the host
	ClassProbeGap = "probe-gap" // a probe gave no sample in this span
)

// Purge is one run of the janitor on one directory.
type Purge struct {
	Stamp                    // At is the begin
	To         time.Duration `json:"to"`
	Target     string        `json:"target"`
	Node       string        `json:"node"`
	Dir        string        `json:"dir"`
	Removed    int           `json:"removed"`
	Freed      int64         `json:"freed"` // allocated bytes
	Kept       int           `json:"kept"`
	Restorable bool          `json:"restorable"` // proven on the files after the purge
	Zxid       string        `json:"zxid,omitempty"`
	Refused    string        `json:"refused,omitempty"` // why the janitor was unsure and deleted nothing
	Error      string        `json:"error,omitempty"`
	Files      []string      `json:"files,omitempty"` // what was removed, at most 100 names
	Optional   bool          `json:"optional,omitempty"`
}

// File says that a data file appeared or vanished.
type File struct {
	Stamp
	Node      string `json:"node"`
	Path      string `json:"path"`
	Type      string `json:"type"` // log, snapshot, epoch, temp, foreign
	Bytes     int64  `json:"bytes"`
	Allocated int64  `json:"allocated"`
	Change    string `json:"change"` // "created", "removed"
}

// Severity of a finding.
type Severity string

// Severities. A Fail finding makes the verdict fail, an Inconclusive one makes it inconclusive.
const (
	Info         Severity = "info"
	Warn         Severity = "warn"
	Inconclusive Severity = "inconclusive"
	Fail         Severity = "fail"
)

// Finding is something a check or the analysis says, with its evidence.
type Finding struct {
	Code     string        `json:"code"`
	Severity Severity      `json:"severity"`
	System   string        `json:"system,omitempty"`
	Subject  string        `json:"subject,omitempty"`
	Text     string        `json:"text"`
	From     time.Duration `json:"from,omitempty"`
	To       time.Duration `json:"to,omitempty"`
	Count    int           `json:"count,omitempty"`
	Evidence []string      `json:"evidence,omitempty"`
}

// Note is a remark of a lane or of the harness.
type Note struct {
	Stamp
	Lane  string `json:"lane"`
	Level string `json:"level"`          // info, warn, error
	Code  string `json:"code,omitempty"` // stable where the verdict looks at it: one of the Note* constants
	Text  string `json:"text"`
}

// Codes of notes that the verdict looks at.
const (
	NoteLaneDied      = "lane-died"
	NoteProbeMissing  = "probe-missing" // a required probe gave nothing
	NoteProbeOptional = "probe-optional-missing"
	NoteRecordStall   = "record-stall"
	NoteRestarted     = "restarted" // the ensemble came back on what the janitor kept
	NoteRestartFailed = "restart-failed"
	NoteClosedLoop    = "closed-loop"  // a workload that has no schedule: Lane names it
	NoteNodeUnknown   = "node-unknown" // the servers could not be asked how they are
	NoteNotJudged     = "not-judged"   // a part of the plan that was left out, and why
)

func (Run) Kind() Kind      { return KindRun }
func (Phase) Kind() Kind    { return KindPhase }
func (Node) Kind() Kind     { return KindNode }
func (Window) Kind() Kind   { return KindWindow }
func (SlowOp) Kind() Kind   { return KindSlowOp }
func (Fault) Kind() Kind    { return KindFault }
func (Series) Kind() Kind   { return KindSeries }
func (Evidence) Kind() Kind { return KindEvidence }
func (Purge) Kind() Kind    { return KindPurge }
func (File) Kind() Kind     { return KindFile }
func (Finding) Kind() Kind  { return KindFinding }
func (Note) Kind() Kind     { return KindNote }
