package report

import (
	"time"

	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

// told is what a finding and its reason have in common: every finding is a reason too, without its subject.
type told struct {
	code, text string
	severity   record.Severity
	from, to   time.Duration
}

// subject is what the reason's finding is about, as the begin of a sentence.
func (p *page) subject(x verdict.Reason) string {
	for _, f := range p.r.Analysis.Findings {
		if (told{f.Code, f.Text, f.Severity, f.From, f.To}) == (told{x.Code, x.Text, x.Severity, x.From, x.To}) && f.Subject != "" {
			return f.Subject + ": "
		}
	}
	return ""
}

// findings prints those that the reasons left out.
func findings(p *page) {
	said := map[told]bool{}
	for _, x := range p.r.Verdict.Reasons {
		said[told{x.Code, x.Text, x.Severity, x.From, x.To}] = true
	}
	var rows [][]string
	for _, f := range p.r.Analysis.Findings {
		if !said[told{f.Code, f.Text, f.Severity, f.From, f.To}] {
			rows = append(rows, []string{string(f.Severity), f.Code, cut(f.Subject, 40), cut(f.Text, 80)})
		}
	}
	all := len(rows)
	rows = rows[:min(all, maxRows)]
	p.table("MORE FINDINGS", []string{"severity", "code", "subject", ""}, rows)
	p.more(all-len(rows), "finding")
}
