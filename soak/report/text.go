package report

import (
	"fmt"
	"io"
	"strings"
	"time"

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
	foot(p)
	return p.err
}

func head(p *page) {
	a := p.r.Analysis
	p.printf("%s\n", strings.ToUpper(p.r.Verdict.Line()))
	state := a.Ended
	switch {
	case a.Live:
		state = "still running"
	case state == "":
		state = "killed: the record has no end"
	}
	p.printf("  plan %s, seed %d, run %s, %s of load, %s\n", a.Run.Plan, a.Run.Seed, a.Run.ID, a.Load.Len().Round(time.Second), state)
	for _, n := range a.Nodes {
		up := "up"
		if !n.Up {
			up = "DOWN"
		}
		p.printf("  %s %s %s %s %s\n", n.ID, n.Addr, n.System, strings.TrimSpace(n.Role+" "+n.Version), up)
	}
}

func reasons(p *page) {
	if len(p.r.Verdict.Reasons) == 0 {
		return
	}
	p.printf("\nWHY\n")
	for _, x := range p.r.Verdict.Reasons {
		p.printf("  %-12s %s (%s)\n", x.Severity, x.Text, x.Code)
		for i, e := range x.Evidence {
			if i == 5 {
				p.printf("               and %d more\n", len(x.Evidence)-i)
				break
			}
			p.printf("               %s\n", e)
		}
	}
}

// operations has the columns of the stress report this tool grew from: response is counted from the
// intended start, the mean stands in RspTim.
func operations(p *page) {
	var rows [][]string
	for _, o := range p.r.Analysis.Operations {
		rows = append(rows, []string{o.Workload, o.Op, fmt.Sprint(o.Size), number(o.Count), tps(o.RecentTPS), tps(o.TPS),
			millis(o.RecentMean), millis(o.Mean), number(o.Failed), number(o.InDoubt), number(o.Shed), number(o.Late)})
	}
	p.table("OPERATIONS since warm-up (recent: the last 10 s; RspTim in ms)", []string{"workload", "operation", "dataSize>", "totalReq>", "recentTPS>",
		"avgTPS>", "recentRspTim>", "avgRspTim>", "failTotal>", "inDoubt>", "shed>", "late>"}, rows)
	if d := p.r.Analysis.DiskPerOp; d > 0 {
		p.printf("  disk: %.0f bytes on all nodes together per acknowledged operation\n", d)
	}
}

func latencies(p *page) {
	var rows [][]string
	for _, o := range p.r.Analysis.Operations {
		rows = append(rows, []string{o.Workload, o.Op, fmt.Sprint(o.Size), millis(o.P50), millis(o.P95), millis(o.P99),
			millis(o.P999), millis(o.Max), millis(o.ServiceP50), millis(o.ServiceP99), millis(o.DelayP99)})
	}
	p.table("RESPONSE in ms, from the intended start; service from the start, delay between the two", []string{"workload", "operation", "dataSize>",
		"p50>", "p95>", "p99>", "p99.9>", "max>", "service p50>", "service p99>", "delay p99>"}, rows)
}

func tps(v float64) string { return fmt.Sprintf("%.1f", v) }

func faults(p *page) {
	var rows [][]string
	for _, f := range p.r.Analysis.Faults {
		if f.Skipped != "" {
			rows = append(rows, []string{clock(f.At), f.Fault.Fault, f.Node, f.Role, "skipped: " + f.Skipped})
			continue
		}
		rows = append(rows, []string{clock(f.Injected), f.Fault.Fault, f.Node, f.Role, yes(f.Bit), yes(f.Healed),
			held(f), millisPtr(f.Detect), millisPtr(f.FirstSuccess), millisPtr(f.Recovered), remark(f)})
	}
	p.table("FAULTS (ms after the injection: first trouble a client saw, first success after it, back to baseline)",
		[]string{"at>", "fault", "node", "role", "bit", "healed", "in effect>", "detect>", "first success>", "recovered>", ""}, rows)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

func held(f attribute.Recovery) string {
	if !f.Bit || !f.Healed {
		return "-"
	}
	return (f.To - f.From).Round(10 * time.Millisecond).String()
}

func remark(f attribute.Recovery) string {
	switch {
	case f.Error != "":
		return f.Error
	case f.Overdue:
		return "not recovered within " + f.Limit.String()
	case f.Unjudged != "":
		return f.Unjudged
	case f.Unnoticed:
		return "no client noticed"
	}
	return ""
}

func purges(p *page) {
	type sum struct {
		n, worked, removed, kept, failed, open int
		freed                                  int64
		restorable                             bool
		zxid                                   string
	}
	sums, order := map[string]*sum{}, []string{}
	for _, x := range p.r.Analysis.Purges {
		s := sums[x.Node]
		if s == nil {
			s = &sum{restorable: true}
			sums[x.Node], order = s, append(order, x.Node)
		}
		s.n++
		s.removed, s.freed, s.kept, s.zxid = s.removed+x.Removed, s.freed+x.Freed, x.Kept, x.Zxid
		if x.Removed > 0 {
			s.worked++
		}
		if x.Error != "" {
			s.failed++
		}
		s.restorable = s.restorable && x.Restorable
	}
	var rows [][]string
	for _, n := range order {
		s := sums[n]
		rows = append(rows, []string{n, fmt.Sprint(s.n), fmt.Sprint(s.worked), fmt.Sprint(s.removed), config.Bytes(s.freed).String(),
			fmt.Sprint(s.kept), yes(s.restorable), s.zxid, fmt.Sprint(s.failed)})
	}
	p.table("PURGES (kept and zxid: after the last one)", []string{"node", "purges>", "removed something>", "files>", "freed>", "kept>", "restorable each time", "zxid", "errors>"}, rows)
}

func disks(p *page) {
	var rows [][]string
	for _, d := range p.r.Analysis.Disks {
		if d.Files == 0 && d.PeakBytes == 0 {
			continue
		}
		growth := "too short to say"
		if d.Judged {
			growth = signed(d.PerHour) + "/h"
		}
		rows = append(rows, []string{d.Node, d.Kind, fmt.Sprint(d.Files), config.Bytes(d.Bytes).String(), config.Bytes(d.Allocated).String(),
			config.Bytes(d.PeakAlloc).String(), growth})
	}
	p.table("DISKS (size as files say, and as allocated; peak and growth of the allocated size)", []string{"node", "kind", "files>", "size>", "allocated>", "peak>", "growth>"}, rows)
}

// cores is the mean processor time; the record has it in percent of one core.
func cores(s attribute.Self) float64 {
	if s.CPUUnit == "%" {
		return s.CPU / 100
	}
	return s.CPU
}

func signed(v float64) string {
	if v < 0 {
		return "-" + config.Bytes(-v).String()
	}
	return "+" + config.Bytes(v).String()
}

func expectations(p *page) {
	var rows [][]string
	for _, e := range p.r.Verdict.Expectations {
		rows = append(rows, []string{string(e.Outcome), e.Name, e.Expr, e.Text})
	}
	p.table("EXPECTATIONS", []string{"result", "name", "expression", ""}, rows)
}

func findings(p *page) {
	var rows [][]string
	for _, f := range p.r.Analysis.Findings {
		rows = append(rows, []string{string(f.Severity), f.Code, f.Subject, f.Text})
	}
	p.table("FINDINGS", []string{"severity", "code", "subject", ""}, rows)
	notes(p)
}

func notes(p *page) {
	var rows [][]string
	for _, n := range p.r.Analysis.Notes {
		if n.Level == "warn" || n.Level == "error" {
			rows = append(rows, []string{clock(n.At), n.Level, n.Lane, n.Text})
		}
	}
	if len(rows) > 20 {
		rest := len(rows) - 20
		rows = append(rows[:20], []string{"", "", "", fmt.Sprintf("and %d more", rest)})
	}
	p.table("NOTES", []string{"at>", "level", "lane", ""}, rows)
}

func foot(p *page) {
	s := p.r.Analysis.Self
	p.printf("\nnightshift itself: %.2f cores, %s of memory at most, wrote %s; the record is %s\n",
		cores(s), config.Bytes(s.RSSMax), config.Bytes(s.Written), config.Bytes(p.r.Size))
	p.printf("run directory: %s\n", p.r.Dir)
	if p.r.Analysis.Run.Format == record.Format && p.r.Analysis.Run.Replay != "" {
		p.printf("again: %s\n", p.r.Analysis.Run.Replay)
	}
}
