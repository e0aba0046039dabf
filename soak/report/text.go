package report

import (
	"fmt"
	"io"
	"strings"

	"nightshift/soak/attribute"
	"nightshift/soak/config"
	"nightshift/soak/record"
)

// Text writes the report as it is read in the morning: the verdict first, then why, then the tables.
func (r Report) Text(w io.Writer) error {
	p := &page{w: w, r: r}
	head(p)
	reasons(p)
	operations(p)
	latencies(p)
	faults(p)
	purges(p)
	disks(p)
	spikes(p)
	expectations(p)
	findings(p)
	notes(p)
	foot(p)
	return p.err
}

func head(p *page) {
	a := p.r.Analysis
	p.printf("%s\n", list(", ", strings.ToUpper(string(p.r.Verdict.Verdict)), p.r.Verdict.Qualifier))
	load := "no load"
	if a.Load.Len() > 0 {
		load = whole(a.Load.Len()) + " of load"
	}
	p.printf("  plan %s, seed %d, run %s\n", line(a.Run.Plan), a.Run.Seed, line(a.Run.ID))
	p.printf("  began %s, %s, %s\n", a.Run.Started.UTC().Format("2006-01-02 15:04:05 UTC"), load, ended(a))
	rows := make([][]string, len(a.Nodes))
	for i, n := range a.Nodes {
		up := "up"
		switch f := underFault(a, n.ID); {
		case f != "":
			up = "under " + f
		case !n.Up:
			up = "DOWN"
		}
		rows[i] = []string{n.ID, n.Addr, n.System, n.Version, n.Role, up}
	}
	p.table("", make([]string, 6), rows)
}

// underFault names the fault that is in effect on a node where the record ends.
func underFault(a attribute.Analysis, node string) string {
	for _, f := range a.Faults {
		if f.Node == node && f.Bit && !f.Healed && a.Ended != record.EndDone {
			return f.Fault.Fault
		}
	}
	return ""
}

// ended says in one line how the run came to its end.
func ended(a attribute.Analysis) string {
	where := "before its first phase"
	if n := len(a.Phases); n > 0 {
		where = fmt.Sprintf("in phase %s, %s after it began", a.Phases[n-1].Name, whole(a.End))
	}
	switch {
	case a.Ended == record.EndDone:
		return "ran to its end"
	case a.Ended == record.EndInterrupted:
		return "interrupted after " + whole(a.End)
	case a.Ended != "":
		return "could not go on after " + whole(a.End)
	case a.Live:
		return "still running, " + where
	}
	return "the record stops " + where
}

// reasons prints each one once, with a few lines of evidence.
func reasons(p *page) {
	type entry struct {
		label, text, code string
		evidence          []string
		n                 int
	}
	var order []*entry
	same := map[string]*entry{}
	for _, x := range p.r.Verdict.Reasons {
		e := &entry{label: fmt.Sprintf("  %-12s  ", x.Severity), text: p.subject(x) + x.Text, code: x.Code}
		if old := same[e.label+e.text+e.code]; old != nil {
			e = old
		} else {
			same[e.label+e.text+e.code], order = e, append(order, e)
		}
		e.n++
		for _, v := range x.Evidence {
			if !contains(e.evidence, v) {
				e.evidence = append(e.evidence, v)
			}
		}
	}
	if len(order) > 0 {
		p.printf("\nWHY\n")
	}
	for _, e := range order {
		times := ""
		if e.n > 1 {
			times = fmt.Sprintf(", %d times", e.n)
		}
		p.hang(e.label, fmt.Sprintf("%s (%s%s)", e.text, e.code, times))
		indent := strings.Repeat(" ", width(e.label)+2)
		for i, v := range e.evidence {
			if i == maxEvidence && len(e.evidence) > maxEvidence+1 {
				p.printf("%sand %d more\n", indent, len(e.evidence)-i)
				break
			}
			p.hang(indent, v)
		}
	}
}

// maxEvidence lines are shown of one reason; the JSON has them all.
const maxEvidence = 3

func contains(all []string, s string) bool {
	for _, x := range all {
		if x == s {
			return true
		}
	}
	return false
}

func expectations(p *page) {
	var rows [][]string
	for _, e := range p.r.Verdict.Expectations {
		rows = append(rows, []string{string(e.Outcome), cut(e.Name, 32), cut(e.Expr, 56), cut(e.Text, 56)})
	}
	p.table("EXPECTATIONS", []string{"result", "name", "expression", ""}, rows)
}

// maxRows bounds every table that grows with the length of a run; the JSON has them all.
const maxRows = 20

// more says what a table left out.
func (p *page) more(n int, what string) {
	if n > 0 {
		p.printf("  and %s; --json has them all\n", plural(n, "more "+what))
	}
}

func notes(p *page) {
	var rows [][]string
	for _, n := range p.r.Analysis.Notes {
		if n.Level == "warn" || n.Level == "error" {
			rows = append(rows, []string{clock(n.At), n.Level, n.Lane, cut(n.Text, 110)})
		}
	}
	all := len(rows)
	rows = rows[:min(all, maxRows)]
	p.table("NOTES", []string{"at>", "level", "lane", ""}, rows)
	p.more(all-len(rows), "note")
}

// cores is the mean processor time; the record has it in percent of one core.
func cores(s attribute.Self) float64 {
	if s.CPUUnit == "%" {
		return finite(s.CPU / 100)
	}
	return finite(s.CPU)
}

func foot(p *page) {
	s := p.r.Analysis.Self
	cost := ""
	if s != (attribute.Self{}) {
		cost = fmt.Sprintf("nightshift itself: %.2f cores, %s of memory at most, wrote %s; ", cores(s), config.Bytes(s.RSSMax), config.Bytes(s.Written))
	}
	p.printf("\n%sthe record is %s\n", cost, config.Bytes(p.r.Size))
	p.printf("run directory: %s\n", line(p.r.Dir))
	if r := p.r.Analysis.Run.Replay; r != "" {
		p.printf("again: %s\n", line(r))
	}
}
