package janitor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"nightshift/janitor/format/zookeeper"
)

// chain is the logs that hold what their names say, in order: the only ones that a replay may rest on.
type chain struct {
	logs []*File
	// known are transactions that the snapshots tell of, in order. Within an epoch the logs themselves show what is
	// missing; from one epoch to a later one only these can. A member that was down and then synced by snapshot has such
	// a hole in its logs.
	known []zookeeper.Zxid
}

// breakage says why a replay can't go on.
type breakage struct {
	code, path, text string
}

func (b *breakage) String() string {
	if b.path == "" {
		return b.text
	}
	return b.path + ": " + b.text
}

// addTo adds the breakage to findings that do not have it yet.
func (b *breakage) addTo(found []Finding) []Finding {
	if slices.ContainsFunc(found, func(f Finding) bool { return f.Code == b.code && f.Path == b.path }) {
		return found
	}
	return append(found, Finding{Code: b.code, Path: b.path, Text: b.text})
}

// sound says whether a log is what its name says: its first record has the id of the name.
func sound(f *File) bool {
	return f.Kind == zookeeper.Log && f.Log.Count > 0 && f.Log.First == f.Zxid
}

func chainOf(files []File) chain {
	var c chain
	for i := range files {
		if sound(&files[i]) {
			c.logs = append(c.logs, &files[i])
		}
	}
	slices.SortFunc(c.logs, func(a, b *File) int { return cmp.Compare(a.Zxid, b.Zxid) })
	return c
}

// end is the newest transaction in the logs, 0 when there is none.
func (c chain) end() zookeeper.Zxid {
	if len(c.logs) == 0 {
		return 0
	}
	return c.logs[len(c.logs)-1].Log.Last
}

// start is the index of the log that a replay from a state begins with: the last one that starts at or before it, as in
// ZooKeeper (FileTxnLog.getLogFiles). The transaction right after a snapshot is often the last one of the log before the
// one with the next name, so this log is needed even when all but one of its records are older than the snapshot.
func (c chain) start(from zookeeper.Zxid) int {
	i, found := slices.BinarySearchFunc(c.logs, from, func(f *File, z zookeeper.Zxid) int { return cmp.Compare(f.Zxid, z) })
	if found {
		return i
	}
	return max(i-1, 0)
}

// reach replays the ids from a state (a snapshot's, or 0 for an empty tree) and returns the newest one that it gets to
// without a gap, and why not to the end.
func (c chain) reach(from zookeeper.Zxid) (zookeeper.Zxid, *breakage) {
	at := from
	for i := c.start(from); i < len(c.logs); i++ {
		f := c.logs[i]
		if i > 0 && f.Log.First <= c.logs[i-1].Log.Last && f.Log.Last > at {
			return at, &breakage{CodeLogOverlap, f.Path, fmt.Sprintf("it starts at %s, but %s holds records up to %s", f.Log.First, c.logs[i-1].Name, c.logs[i-1].Log.Last)}
		}
		for _, run := range f.Log.Runs {
			switch {
			case run.Last <= at:
			case run.First <= at || run.First.Follows(at) && !c.hole(at, run.First):
				at = run.Last
			default:
				return at, &breakage{CodeLogGap, f.Path, fmt.Sprintf("transactions are missing between %s and %s", at, run.First)}
			}
		}
		if f.Log.End.Damaged() {
			return at, &breakage{CodeLogDamaged, f.Path, fmt.Sprintf("%s at byte %d: nothing behind it can be replayed", f.Log.End, f.Log.Offset)}
		}
	}
	return at, nil
}

// hole says whether a transaction is known to have been between the two.
func (c chain) hole(from, to zookeeper.Zxid) bool {
	i, _ := slices.BinarySearch(c.known, from+1)
	return i < len(c.known) && c.known[i] < to
}

// learn adds what a snapshot that counts tells of. The id that ends in 0 stands for a new leader, not for a transaction.
func (c *chain) learn(f *File) {
	ids := append(slices.Clone(f.Snapshot.Marks), f.Zxid)
	if stamp, ok := f.Snapshot.Stamp(); ok {
		ids = append(ids, stamp)
	}
	for _, z := range ids {
		if z.Counter() > 0 {
			c.known = append(c.known, z)
		}
	}
}

// misfit finds a log at or above from that is not what its name says: it could hide transactions. A newest log without
// a record is normal, a server has just opened it; so is an older one, left by a crash before the first write.
func misfit(files []File, from zookeeper.Zxid) *breakage {
	newest := newestLog(files)
	for i := range files {
		f := &files[i]
		switch {
		case f.Kind != zookeeper.Log || f.Zxid < from || sound(f):
		case f.Log.Count > 0:
			return &breakage{CodeLogName, f.Path, "its first record is " + f.Log.First.String()}
		case f.Log.End.Damaged(), f != newest && f.Log.End == zookeeper.EndTorn:
			return &breakage{CodeLogDamaged, f.Path, "no record of it can be read: " + f.Log.End.String()}
		}
	}
	return nil
}

// state is what is known of the snapshots and the logs of an inventory together.
type state struct {
	files    []File
	chain    chain
	counting []*File          // snapshots that count, newest first, each id once
	doubt    map[*File]string // snapshots that don't count, and why
}

func stateOf(inv Inventory) state {
	s := state{files: inv.Files, chain: chainOf(inv.Files), doubt: map[*File]string{}}
	for i := range inv.Files {
		f := &inv.Files[i]
		if f.Kind != zookeeper.Snapshot {
			continue
		}
		if why := s.discount(f); why != "" {
			s.doubt[f] = why
		} else {
			s.counting = append(s.counting, f)
			s.chain.learn(f)
		}
	}
	slices.Sort(s.chain.known)
	s.chain.known = slices.Compact(s.chain.known)
	slices.SortStableFunc(s.counting, func(a, b *File) int { return cmp.Compare(b.Zxid, a.Zxid) })
	s.counting = slices.CompactFunc(s.counting, func(a, b *File) bool { return a.Zxid == b.Zxid })
	return s
}

// discount says why a snapshot does not count, "" when it does. Whole is not enough: a copy of an old snapshot under a
// newer name is whole too. What it says of itself must not be older than its name; when it says nothing, as before
// ZooKeeper 3.6, it must not be ahead of the logs either.
func (s state) discount(f *File) string {
	if f.Moving {
		return "it is being written"
	}
	if !f.Snapshot.Whole {
		return f.Snapshot.Reason
	}
	switch stamp, ok := f.Snapshot.Stamp(); {
	case ok && stamp < f.Zxid:
		return fmt.Sprintf("its content is of %s, older than its name", stamp)
	case !ok && f.Zxid > s.chain.end():
		return fmt.Sprintf("it is ahead of the logs, which end at %s, and its content does not say of which transaction it is", s.chain.end())
	}
	return ""
}

// making says whether a snapshot that does not count may still be in the making: a server writes no other than the
// newest one, and in one go. A time ahead of now counts as just now.
func (s state) making(f *File, now time.Time) bool {
	if len(s.counting) > 0 && f.Zxid < s.counting[0].Zxid {
		return false
	}
	return f.Moving || now.Sub(f.ModTime) < settle
}
