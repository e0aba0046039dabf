package janitor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"nightshift/janitor/format/zookeeper"
)

// settle is how long after its last change a file that is not whole may still be in the making. A server writes a
// snapshot in one go; one that has stood still for this long is damaged.
const settle = 5 * time.Minute

// Policy says how much to keep. A field at zero is not asked for; a policy that asks for nothing is refused.
type Policy struct {
	Keep int // newest snapshots that count, with every log that any of them needs; at least 1
}

// Decide makes the plan of a policy for an inventory. It is pure: now only tells a file that is in the making from a
// damaged one. The error is ErrEmptyPolicy; a plan that may delete nothing says so in Refused.
func (p Policy) Decide(inv Inventory, now time.Time) (Plan, error) {
	if p.Keep < 1 {
		return Plan{}, &Error{Op: "decide", Err: ErrEmptyPolicy, Hint: "ask for at least one snapshot to keep; servers keep 3"}
	}
	s := stateOf(inv)
	d := decision{state: s, keep: p.Keep, split: inv.Split, now: now}
	plan := Plan{Findings: s.observe(inv.Split, now)}
	b := d.prove()
	for _, gap := range d.bridged {
		plan.Findings = gap.addTo(plan.Findings)
	}
	if b != nil {
		plan.Refused = b.String()
		plan.Findings = b.addTo(plan.Findings)
	}
	d.sort(&plan)
	return plan, nil
}

// decision is one use of a policy.
type decision struct {
	state
	keep  int
	split bool
	now   time.Time

	kept  []*File        // snapshots that the policy keeps, newest first
	line  zookeeper.Zxid // the oldest of them; nothing at or above is deleted
	first int            // index in chain of the log that the oldest needs first

	bridged []*breakage // gaps that a snapshot to keep leads over
}

// prove draws the line and proves on the files that what is kept restores the newest state. nil means proven.
func (d *decision) prove() *breakage {
	if len(d.counting) == 0 {
		return d.noSnapshot()
	}
	d.kept = d.counting[:min(d.keep, len(d.counting))]
	d.line = d.kept[len(d.kept)-1].Zxid
	d.first = d.chain.start(d.line)
	if b := d.misplaced(); b != nil {
		return b
	}
	if len(d.chain.logs) == 0 {
		if len(d.counting) > d.keep {
			return &breakage{CodeLogsElsewhere, "", "there are snapshots and no log at all: is dataLogDir somewhere else?"}
		}
		return nil
	}
	if b := misfit(d.files, d.chain.logs[d.first].Zxid); b != nil {
		return b
	}
	if len(d.counting) < d.keep {
		for f := range d.doubt {
			if !d.making(f, d.now) {
				return &breakage{CodeFew, "", fmt.Sprintf("%d of the %d snapshots to keep are whole, others are damaged", len(d.counting), d.keep)}
			}
		}
	}
	return d.replay()
}

// replay goes from the line to the newest transaction. Where transactions are missing it goes on from the next snapshot
// to keep: a member that was down and then synced by snapshot has such a gap, for good. Snapshots below the gap do not
// lead to the newest state, whatever is kept, so a deletion below the line takes nothing from it. From the last gap on
// there must be no other.
func (d *decision) replay() *breakage {
	from := d.line
	for i := len(d.kept) - 1; ; {
		at, b := d.chain.reach(from)
		for i >= 0 && d.kept[i].Zxid <= at {
			i--
		}
		if b == nil || b.code != CodeLogGap || i < 0 {
			return b
		}
		from = d.kept[i].Zxid
		b.text += "; " + d.kept[i].Name + " leads on, older snapshots do not lead to the newest state"
		d.bridged = append(d.bridged, b)
	}
}

func (d *decision) noSnapshot() *breakage {
	for i := range d.files {
		if k := d.files[i].Kind; k == zookeeper.Log || k == zookeeper.Snapshot {
			return &breakage{CodeNoSnapshot, "", "no snapshot counts, so nothing is safe to delete"}
		}
	}
	return nil
}

// misplaced finds a file on the wrong side; a server refuses to start with one.
func (d *decision) misplaced() *breakage {
	for i := range d.files {
		f := &d.files[i]
		if d.split && (f.Kind == zookeeper.Log && f.Side == Data || f.Kind == zookeeper.Snapshot && f.Side == Logs) {
			return &breakage{CodeMisplaced, f.Path, "logs and snapshots lie mixed in the two directories"}
		}
	}
	return nil
}

// sort puts every entry on one side of the plan.
func (d *decision) sort(plan *Plan) {
	for i := range d.files {
		f := &d.files[i]
		if reason, remove := d.judge(f, plan.Refused); remove {
			plan.remove(f, reason)
		} else {
			plan.keep(f, reason)
		}
	}
	slices.SortStableFunc(plan.Remove, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.file.Kind, a.file.Kind), cmp.Compare(a.file.Zxid, b.file.Zxid))
	})
	if len(plan.Remove) > 0 {
		plan.proof = append(slices.Clone(d.kept), d.chain.logs[d.first:]...)
	}
}

func (d *decision) judge(f *File, refused string) (reason string, remove bool) {
	switch f.Kind {
	case zookeeper.Foreign:
		return "not ZooKeeper's", false
	case zookeeper.Epoch:
		return "an epoch file", false
	case zookeeper.Temp:
		return "a server's temporary file", false
	}
	if refused != "" {
		return "nothing is deleted: " + refused, false
	}
	if len(d.counting) == 0 {
		return "no snapshot yet", false
	}
	if f.Kind == zookeeper.Snapshot {
		return d.judgeSnapshot(f)
	}
	return d.judgeLog(f)
}

func (d *decision) judgeSnapshot(f *File) (string, bool) {
	if i := slices.Index(d.kept, f); i >= 0 {
		return fmt.Sprintf("snapshot %d of %d to keep", i+1, d.keep), false
	}
	if why := d.doubt[f]; why != "" {
		return "not counted and not touched: " + why, false
	}
	if f.Zxid >= d.line {
		return "as new as a snapshot to keep", false
	}
	return fmt.Sprintf("older than the %d snapshots to keep, %s is the oldest of them", len(d.kept), d.kept[len(d.kept)-1].Name), true
}

func (d *decision) judgeLog(f *File) (string, bool) {
	oldest := d.kept[len(d.kept)-1].Name
	switch {
	case f == newestLog(d.files):
		return "the newest log", false
	case len(d.chain.logs) == 0 || f.Zxid >= d.chain.logs[d.first].Zxid:
		return "needed to replay from " + oldest, false
	case !sound(f):
		return "not what its name says, and not touched", false
	}
	return fmt.Sprintf("%s replays from %s on", oldest, d.chain.logs[d.first].Name), true
}
