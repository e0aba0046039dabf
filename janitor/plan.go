package janitor

import (
	"encoding/json"
	"time"

	"nightshift/janitor/format/zookeeper"
)

// Finding is something about the directory that the user should know.
type Finding struct {
	Code string `json:"code"` // one of the Code constants
	Path string `json:"path"`
	Text string `json:"text"`
}

// Codes of findings; they stay.
const (
	CodeForeign         = "foreign"          // not ZooKeeper's: never touched, never counted
	CodeShadow          = "shadow"           // foreign, but ZooKeeper itself takes it for a log or snapshot
	CodeIrregular       = "not-a-file"       // ZooKeeper's name on a link, directory or else
	CodeSnapshotDamaged = "snapshot-damaged" // not whole
	CodeSnapshotMisled  = "snapshot-name"    // whole, but not what its name says
	CodeSnapshotWritten = "snapshot-writing" // changes, or changed a moment ago
	CodeLogEmpty        = "log-empty"        // no record in it
	CodeLogName         = "log-name"         // its first record is not the one of its name
	CodeLogDamaged      = "log-damaged"      // not readable to its end
	CodeLogGap          = "log-gap"          // transactions are missing
	CodeLogOverlap      = "log-overlap"      // two logs hold the same transactions
	CodeEpoch           = "epoch-damaged"    // a server would not start on it
	CodeMisplaced       = "misplaced"        // a snapshot in dataLogDir or a log in dataDir: a server would not start
	CodeFew             = "few-snapshots"    // fewer snapshots count than the policy asks for
	CodeNoSnapshot      = "no-snapshot"      // none counts
	CodeLogsElsewhere   = "no-logs"          // snapshots and no logs at all
)

// Item is one file of a plan.
type Item struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`     // apparent
	Allocated int64  `json:"allocated"` // what removing it frees
	Reason    string `json:"reason"`

	file *File
}

// Plan is what a policy makes of an inventory: every entry of the directories is in Keep or in Remove, with its reason.
type Plan struct {
	Keep     []Item    `json:"keep"`
	Remove   []Item    `json:"remove"`            // in the order of deletion: snapshots, oldest first, then logs
	Freed    int64     `json:"freed"`             // allocated bytes of Remove
	Refused  string    `json:"refused,omitempty"` // why nothing may be deleted; Remove is empty then
	Findings []Finding `json:"findings"`

	proof []*File // the snapshots and logs that the promise rests on: Apply looks at them again
}

// MarshalJSON writes empty lists as [], so that scripts need no special case.
func (p Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	p.Keep, p.Remove, p.Findings = list0(p.Keep), list0(p.Remove), list0(p.Findings)
	return json.Marshal(plain(p))
}

func list0[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (p *Plan) keep(f *File, reason string) {
	p.Keep = append(p.Keep, Item{Path: f.Path, Bytes: f.Size, Allocated: f.Allocated, Reason: reason, file: f})
}

func (p *Plan) remove(f *File, reason string) {
	p.Remove = append(p.Remove, Item{Path: f.Path, Bytes: f.Size, Allocated: f.Allocated, Reason: reason, file: f})
	p.Freed += f.Allocated
}

// observe lists what is odd about single files, whatever the policy.
func (s state) observe(split bool, now time.Time) []Finding {
	var found []Finding
	for i := range s.files {
		f := &s.files[i]
		if code, text := s.odd(f, split, now); code != "" {
			found = append(found, Finding{Code: code, Path: f.Path, Text: text})
		}
	}
	return found
}

func (s state) odd(f *File, split bool, now time.Time) (code, text string) {
	switch f.Kind {
	case zookeeper.Foreign:
		return oddForeign(f)
	case zookeeper.Snapshot:
		why := s.doubt[f]
		switch {
		case split && f.Side == Logs:
			return CodeMisplaced, "a snapshot in dataLogDir: a server refuses to start"
		case why == "":
			return "", ""
		case s.making(f, now):
			return CodeSnapshotWritten, "not counted while it is new: " + why
		case f.Moving || f.Snapshot.Whole:
			return CodeSnapshotMisled, "not counted: " + why
		}
		return CodeSnapshotDamaged, "not counted: " + why
	case zookeeper.Log:
		return s.oddLog(f, split)
	case zookeeper.Epoch:
		if f.EpochErr != "" {
			return CodeEpoch, "a server refuses to start on it: " + f.EpochErr
		}
	}
	return "", ""
}

func oddForeign(f *File) (code, text string) {
	kind, z, ok := zookeeper.ParseAsZooKeeper(f.Name)
	switch {
	case f.Irregular:
		return CodeIrregular, "it has a name of ZooKeeper's and is not a plain file; never touched"
	case ok && kind == zookeeper.Snapshot:
		return CodeShadow, "not ZooKeeper's, but its purge counts it as snapshot " + z.String() + "; move it away"
	case ok:
		return CodeShadow, "not ZooKeeper's, but servers take it for the log that starts at " + z.String() + "; move it away"
	}
	return CodeForeign, "not ZooKeeper's; never touched"
}

func (s state) oddLog(f *File, split bool) (code, text string) {
	newest := newestLog(s.files) == f
	switch {
	case split && f.Side == Data:
		return CodeMisplaced, "a log in dataDir although dataLogDir lies apart: a server refuses to start"
	case f.Log.End == zookeeper.EndGarbage && f.Log.Count == 0:
		return CodeLogDamaged, "not a log, although it has the name of one"
	case f.Log.Count == 0 && f.Log.End.Damaged():
		return CodeLogDamaged, "its first record does not hold: " + f.Log.End.String()
	case f.Log.Count == 0 && !newest:
		return CodeLogEmpty, "no record in it"
	case f.Log.Count > 0 && f.Log.First != f.Zxid:
		return CodeLogName, "its first record is " + f.Log.First.String()
	case f.Log.End.Damaged():
		return CodeLogDamaged, "readable up to " + f.Log.Last.String() + ", then: " + f.Log.End.String()
	case len(f.Log.Runs) > 1:
		return CodeLogGap, "transactions are missing between " + f.Log.Runs[0].Last.String() + " and " + f.Log.Runs[1].First.String()
	}
	return "", ""
}
