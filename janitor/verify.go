package janitor

import (
	"context"
	"time"

	"nightshift/janitor/format/zookeeper"
)

// Restorable says to what state a directory can be restored, and how that is known.
type Restorable struct {
	System string `json:"system"`
	// Restorable is true when the newest transaction in the files can be restored without a gap, proven on their content.
	// Otherwise Reason says what is missing or unsure, and the other fields tell of the best that can still be had.
	Restorable bool   `json:"restorable"`
	Reason     string `json:"reason,omitempty"`
	Zxid       string `json:"zxid"` // as ZooKeeper writes it, "0x1b5b"; "" when nothing can be restored
	// Nodes is ZooKeeper's count of the state at Zxid. Only there when a snapshot holds exactly that state.
	Nodes         *int      `json:"nodes,omitempty"`
	Snapshot      string    `json:"snapshot"`       // the newest one that leads to Zxid; "" from the bare logs
	RestartPoints int       `json:"restart_points"` // snapshots that lead to Zxid
	Findings      []Finding `json:"findings"`
}

// Verify reads the directories whole and says to what state they can be restored. The error is a failed read.
func Verify(ctx context.Context, dir Dir) (Restorable, error) {
	inv, err := Scan(ctx, dir)
	if err != nil {
		return Restorable{System: inv.System}, err
	}
	return inv.Restorable(), nil
}

// Restorable is the verdict of Verify on an inventory. It needs no clock: a file that was written last, or soon before
// the one that was, may still be in the making.
func (inv Inventory) Restorable() Restorable {
	s := stateOf(inv)
	var latest time.Time
	for _, f := range inv.Files {
		if f.Kind != zookeeper.Foreign && f.ModTime.After(latest) {
			latest = f.ModTime
		}
	}
	r := Restorable{System: inv.System, Findings: list0(s.observe(inv.Split, latest))}
	b := s.best()
	if !b.found {
		r.Reason = "no snapshot counts, and the logs do not start with the first transaction"
		return r
	}
	r.Zxid, r.RestartPoints = b.zxid.String(), b.points
	if b.from != nil {
		r.Snapshot = b.from.Name
		if sn := b.from.Snapshot; sn.HasLast && sn.Last == b.from.Zxid && b.zxid == b.from.Zxid {
			r.Nodes = &sn.Nodes
		}
	}
	why := b.broken
	if why == nil {
		why = s.hidden(b.from)
	}
	if why != nil {
		r.Reason = why.String()
		r.Findings = why.addTo(r.Findings)
		return r
	}
	r.Restorable = true
	return r
}

// outcome is the newest state that can be had.
type outcome struct {
	found  bool
	zxid   zookeeper.Zxid
	from   *File // the newest snapshot that leads to it; nil: the bare logs
	points int   // snapshots that lead to it
	broken *breakage
}

func (s state) best() outcome {
	var b outcome
	if len(s.chain.logs) > 0 && s.chain.logs[0].Log.First.Follows(0) {
		b.found = true
		b.zxid, b.broken = s.chain.reach(0)
	}
	for _, f := range s.counting {
		z, broken := s.chain.reach(f.Zxid)
		switch {
		case !b.found || z > b.zxid || z == b.zxid && b.from == nil:
			b = outcome{found: true, zxid: z, from: f, points: 1, broken: broken}
		case z == b.zxid:
			b.points++
		}
	}
	return b
}

// hidden finds what may hold a newer state than the one that was found, and can't be read.
func (s state) hidden(from *File) *breakage {
	var start zookeeper.Zxid
	if from != nil && len(s.chain.logs) > 0 {
		start = s.chain.logs[s.chain.start(from.Zxid)].Zxid
	}
	if b := misfit(s.files, start); b != nil {
		return b
	}
	for f, why := range s.doubt {
		if f.Snapshot == nil || !f.Snapshot.Whole {
			continue
		}
		if _, stamped := f.Snapshot.Stamp(); !stamped {
			return &breakage{CodeSnapshotMisled, f.Path, why}
		}
	}
	return nil
}
