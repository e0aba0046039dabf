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
	Restorable bool           `json:"restorable"`
	Reason     string         `json:"reason,omitempty"`
	Zxid       zookeeper.Zxid `json:"zxid"`
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

// Restorable is the verdict of Verify on an inventory. It has no clock: what the newest change in the directory is
// younger than by little may still be in the making.
func (inv Inventory) Restorable() Restorable {
	s := stateOf(inv)
	var latest time.Time
	for _, f := range inv.Files {
		if f.Kind != zookeeper.Foreign && f.ModTime.After(latest) {
			latest = f.ModTime
		}
	}
	r := Restorable{System: inv.System, Findings: list0(s.observe(inv.Split, latest))}
	best, why := s.best(&r)
	if best == nil && r.Reason != "" {
		return r
	}
	if why == nil {
		why = s.hidden(best)
	}
	if why != nil {
		r.Reason = why.String()
		r.Findings = why.addTo(r.Findings)
		return r
	}
	r.Restorable = true
	return r
}

// best finds the newest state and the snapshots that lead to it. The snapshot is nil for the bare logs, or for nothing.
func (s state) best(r *Restorable) (from *File, why *breakage) {
	found := false
	if len(s.chain) > 0 && s.chain[0].Log.First.Follows(0) {
		r.Zxid, why = s.chain.reach(0)
		found = true
	}
	for _, f := range s.counting {
		z, broken := s.chain.reach(f.Zxid)
		switch {
		case !found || z > r.Zxid || z == r.Zxid && r.RestartPoints == 0:
			found = true
			r.Zxid, r.Snapshot, r.RestartPoints = z, f.Name, 1
			from, why = f, broken
		case z == r.Zxid:
			r.RestartPoints++
		}
	}
	if !found {
		r.Reason = "no snapshot counts, and the logs do not start with the first transaction"
	}
	if from != nil && from.Snapshot.HasLast && from.Snapshot.Last == from.Zxid && from.Zxid == r.Zxid {
		r.Nodes = &from.Snapshot.Nodes
	}
	return from, why
}

// hidden finds what may hold a newer state than the one that was found, and can't be read.
func (s state) hidden(from *File) *breakage {
	var start zookeeper.Zxid
	if from != nil && len(s.chain) > 0 {
		start = s.chain[s.chain.start(from.Zxid)].Zxid
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
