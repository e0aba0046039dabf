package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
)

// weakShare of the operations that the schedule wanted must have succeeded.
const weakShare = 0.5

// rules are what holds without any expectation written.
func (j *judge) rules() {
	j.end()
	j.load()
	j.faults()
	j.purges()
	j.nodes()
	j.notes()
	for _, f := range j.a.Findings {
		j.add(Reason{Code: f.Code, Severity: f.Severity, Text: f.Text, From: f.From, To: f.To, Evidence: f.Evidence})
	}
	if j.a.Unknown > 0 {
		j.addf(CodeSpikes, record.Info, "%d of %d spikes have no known cause", j.a.Unknown, len(j.a.Spikes))
	}
}

// end: a run that did not come to its end is aborted; so is one that has no end in its record.
func (j *judge) end() {
	switch ended := j.a.Ended; {
	case ended == record.EndDone:
		if j.a.Load.Len() > 0 && !j.phase(record.PhaseCheck) {
			j.addf(CodeNotChecked, record.Inconclusive, "nothing was checked for loss after the load")
		}
		return
	case ended == record.EndInterrupted:
		j.addf(CodeInterrupted, record.Inconclusive, "the run was interrupted")
	case ended != "":
		j.addf(CodeHarness, record.Inconclusive, "the run could not go on: %s", strings.TrimPrefix(ended, "failed: "))
	case j.a.Live:
		j.addf(CodeLive, record.Inconclusive, "the run still goes on; this is how far it has come")
		return
	default:
		j.addf(CodeKilled, record.Inconclusive, "the record has no end: nightshift was killed, or could not write on")
	}
	j.aborted = true
}

func (j *judge) phase(name string) bool {
	for _, p := range j.a.Phases {
		if p.Name == name {
			return true
		}
	}
	return false
}

// load: every workload of the plan must have run, with at least half of what its schedule wanted, and without a long
// gap that no fault of ours explains.
func (j *judge) load() {
	var all uint64
	for _, o := range j.a.Workloads {
		all += o.OK
	}
	if all == 0 {
		j.addf(CodeNoLoad, record.Inconclusive, "no operation succeeded in the load phase, so nothing was proven")
		return
	}
	for _, p := range j.workloads() {
		j.workload(p)
	}
}

func (j *judge) workload(p planned) {
	var ok, offered, shed uint64
	var active attribute.Span
	for _, o := range j.a.Workloads {
		if !p.is(o.Workload) {
			continue
		}
		ok, offered, shed = ok+o.OK, offered+o.Offered(), shed+o.Shed
		if active.Len() == 0 {
			active = o.Active
		}
		active = attribute.Span{From: min(active.From, o.Active.From), To: max(active.To, o.Active.To)}
	}
	if !p.quota {
		active = j.a.Load // only a quota may end a workload before the load ends
	}
	// The schedule is asked too: a workload that stands still without counting what it shed is as weak.
	scheduled := p.rate.PerSecond() * active.Len().Seconds()
	wanted := max(float64(offered), scheduled)
	switch {
	case ok == 0:
		j.addf(CodeIdle, record.Inconclusive, "%s: no operation succeeded in the load phase", p.name)
		return
	case float64(ok) < weakShare*wanted:
		j.addf(CodeWeakLoad, record.Inconclusive, "%s: %d operations succeeded, the schedule wanted %.0f", p.name, ok, wanted)
	case scheduled > 0 && float64(shed) > (1-weakShare)*scheduled:
		// Where one update is several operations, those done hide those shed.
		j.addf(CodeWeakLoad, record.Inconclusive, "%s: %d of the %.0f updates of the schedule were shed", p.name, shed, scheduled)
	}
	for _, o := range j.a.Operations {
		if p.is(o.Workload) && float64(o.OK) < weakShare*float64(o.Count) {
			j.addf(CodeWeakLoad, record.Inconclusive, "%s: %d of %d %s operations succeeded", p.name, o.OK, o.Count, o.Op)
		}
	}
	j.gap(p)
}

// longGap is how many seconds outside of faults a workload may be without any success, and thinGap how many operations
// the schedule must have wanted meanwhile.
const (
	longGap = int(attribute.DefaultLimit / time.Second)
	thinGap = 10
)

func (j *judge) gap(p planned) {
	for w, idle := range j.a.Idle {
		thin := p.rate.PerSecond() > 0 && p.rate.PerSecond()*float64(idle.Seconds) < thinGap
		if !p.is(w) || p.quota || thin || idle.Seconds < longGap {
			continue
		}
		j.add(Reason{Code: CodeLoadGap, Severity: record.Inconclusive, From: idle.From, To: idle.To,
			Text: fmt.Sprintf("%s: no operation succeeded for %d s outside of faults", p.name, idle.Seconds)})
	}
}

// purges: what the janitor leaves must be restorable; a janitor that removed nothing proved nothing.
func (j *judge) purges() {
	loaded := 0
	for _, p := range j.a.Purges {
		if p.Removed > 0 {
			loaded++
		}
		where := Reason{From: p.At, To: p.To, Evidence: p.Files}
		switch {
		case p.Error != "" && p.Dir == "":
			where.Code, where.Severity = CodePurgeFailed, record.Inconclusive
			if p.Optional {
				where.Severity = record.Info
			}
			where.Text = fmt.Sprintf("a purge of %s did not begin: %s", p.Target, p.Error)
			j.add(where)
		case !p.Restorable && (p.Error == "" || p.Removed > 0):
			where.Code, where.Severity = CodeNotRestorable, record.Fail
			where.Text = fmt.Sprintf("%s: what the purge left is not proven restorable%s", p.Node, suffix(p.Error))
			j.add(where)
		case p.Error != "":
			where.Code, where.Severity = CodePurgeFailed, record.Fail
			where.Text = fmt.Sprintf("%s: the purge failed: %s", p.Node, p.Error)
			j.add(where)
		}
	}
	if loaded > 0 && loaded == j.a.Unloaded {
		j.addf(CodePurgeUnloaded, record.Inconclusive, "no purge met any load")
	}
	if j.missing("purges") {
		return
	}
	for _, n := range j.plan.Field("janitor").Items() {
		var target string
		if n.Field("target").Decode(&target) == nil && !optional(n) {
			j.purged(target)
		}
	}
}

// purged: every server of a target that has a janitor must have been freed of something.
func (j *judge) purged(target string) {
	freed, why, nodes := map[string]int64{}, map[string]string{}, map[string]bool{}
	for _, n := range j.a.Nodes {
		if n.Target == target {
			nodes[n.ID], why[n.ID] = true, "it was never purged"
		}
	}
	for _, p := range j.a.Purges {
		if p.Target != target || p.Node == "" {
			continue
		}
		if p.Removed > 0 {
			freed[p.Node] += p.Freed
		}
		if old := why[p.Node]; !nodes[p.Node] || old == "it was never purged" || old == "" {
			why[p.Node] = p.Refused
		}
		nodes[p.Node] = true
	}
	var idle []string
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		if freed[id] == 0 {
			idle = append(idle, id+suffix(why[id]))
		}
	}
	switch {
	case len(idle) == len(nodes):
		j.addf(CodeNoPurge, record.Inconclusive, "the janitor freed nothing on %s%s", target, suffix(strings.Join(idle, "; ")))
	case len(idle) > 0:
		j.addf(CodeNoPurge, record.Inconclusive, "the janitor freed nothing on some servers of %s: %s", target, strings.Join(idle, "; "))
	}
}

// nodes: what is down at the end was left down. A node that no fault of ours touched is only not proven.
func (j *judge) nodes() {
	ours := map[string]bool{}
	for _, f := range j.a.Faults {
		if f.Injected > 0 {
			ours[f.Target+"/"+f.Node] = true
		}
	}
	for _, n := range j.a.Nodes {
		if n.Up {
			continue
		}
		s := record.Inconclusive
		if ours[n.Target+"/"+n.ID] || j.lab(n.Target) {
			s = record.Fail
		}
		j.add(Reason{Code: CodeNodeDown, Severity: s, Text: fmt.Sprintf("%s of %s is not up at the end", n.ID, n.Target), From: n.At})
	}
}

func (j *judge) lab(target string) bool {
	return !j.plan.Field("targets").Field(target).Field("lab").IsZero()
}

// notes: what lanes and the harness said about themselves.
func (j *judge) notes() {
	restarted := false
	codes := map[string]struct {
		code string
		s    record.Severity
	}{
		record.NoteLaneDied:      {CodeLane, record.Inconclusive},
		record.NoteProbeMissing:  {CodeProbe, record.Inconclusive},
		record.NoteProbeOptional: {CodeProbe, record.Info},
		record.NoteRecordStall:   {CodeRecord, record.Inconclusive},
		record.NoteRestartFailed: {CodeRestart, record.Fail},
		record.NoteNodeUnknown:   {CodeNodeUnknown, record.Inconclusive},
		record.NoteNotJudged:     {CodeNote, record.Info},
	}
	for _, n := range j.a.Notes {
		restarted = restarted || n.Code == record.NoteRestarted || n.Code == record.NoteRestartFailed
		c, ok := codes[n.Code]
		if !ok {
			continue
		}
		text := n.Text
		if n.Lane != "" {
			text = n.Lane + ": " + text
		}
		j.add(Reason{Code: c.code, Severity: c.s, Text: text, From: n.At})
	}
	switch {
	case j.phase(record.PhaseRestart) && !restarted:
		j.addf(CodeUnproven, record.Inconclusive, "the restart on what the janitor kept was not seen to end")
	case !j.phase(record.PhaseRestart) && j.a.Ended == record.EndDone && j.purgedLab():
		j.addf(CodeUnproven, record.Inconclusive, "the servers were not restarted on what the janitor kept")
	}
}

// purgedLab says that the plan has a janitor for a lab.
func (j *judge) purgedLab() bool {
	for _, n := range j.plan.Field("janitor").Items() {
		var target string
		if n.Field("target").Decode(&target) == nil && j.lab(target) {
			return true
		}
	}
	return false
}

func suffix(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

func either(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
