package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
)

// spikes prints the worst ones in order of time, each with its cause and the first thing that was not it.
func spikes(p *page) {
	a := p.r.Analysis
	if len(a.Spikes) == 0 {
		return
	}
	shown := worst(a.Spikes)
	var rows [][]string
	for _, s := range shown {
		rows = append(rows, []string{clock(s.From), took((s.To - s.From).Round(10 * time.Millisecond)), took(s.Longest),
			number(s.Ops), number(s.Failed), cut(cause(s), 58), explains(s), cut(innocent(s), 52)})
	}
	p.table("SPIKES (operations that stalled or failed; explains: share of the lost time)",
		[]string{"at>", "length>", "longest>", "ops>", "failed?>", "cause", "explains>", "was not it"}, rows)
	if rest := len(a.Spikes) - len(shown) + a.SpikesLeft; rest > 0 {
		p.printf("  and %s, each with less time lost\n", plural(rest, "more spike"))
	}
	p.printf("  %d of %d without a known cause\n", a.Unknown, len(a.Spikes))
}

func worst(all []attribute.Spike) []attribute.Spike {
	s := slices.Clone(all)
	slices.SortStableFunc(s, func(x, y attribute.Spike) int { return int(min(1, max(-1, y.Excess-x.Excess))) })
	s = s[:min(len(s), maxRows)]
	slices.SortStableFunc(s, func(x, y attribute.Spike) int { return int(min(1, max(-1, x.From-y.From))) })
	return s
}

func cause(s attribute.Spike) string {
	switch s.Unknown {
	case attribute.Known:
	case attribute.UnknownGap:
		return "unknown; a probe was blind at the time"
	case attribute.UnknownAmbiguous:
		return "unknown; " + ambiguous(s)
	case attribute.UnknownNone:
		return "unknown; nothing likelier than chance"
	default:
		return "unknown; " + string(s.Unknown)
	}
	out, through := s.Cause, s.Mechanism
	for _, c := range s.Candidates {
		switch {
		case c.Role == attribute.RoleCause && c.Class == record.ClassTester:
			out = short(c)
		case c.Role == attribute.RoleMechanism && c.Text == s.Mechanism:
			through = short(c)
		}
	}
	if through == "" {
		return out
	}
	return out + ", through " + clause(through)
}

// clause is the begin of a text that says enough for a table.
func clause(text string) string {
	if i := strings.IndexAny(text, ",:;"); i > 0 {
		return text[:i]
	}
	return text
}

// ambiguous names the two that are too close.
func ambiguous(s attribute.Spike) string {
	if len(s.Candidates) > 0 {
		for _, c := range s.Candidates[1:] {
			if strings.HasSuffix(s.Cause, c.Text) {
				return short(s.Candidates[0]) + " or " + short(c)
			}
		}
	}
	return strings.TrimPrefix(s.Cause, "unknown: ")
}

func explains(s attribute.Spike) string {
	if s.Unknown != attribute.Known {
		return "-"
	}
	return percent(s.Share)
}

// short names a candidate in few words: faults and purges by their text, what was only seen by its class.
func short(c attribute.Candidate) string {
	switch {
	case c.Class == attribute.ClassFault || c.Class == attribute.ClassPurge:
		return c.Text
	case c.Class == record.ClassTester:
		return "the tester itself"
	case c.Node != "":
		return c.Class + " of " + c.Node
	}
	return c.Class
}

// innocent names one candidate that was not the cause, and why: what nightshift itself did comes first, as
// a reader will suspect that.
func innocent(s attribute.Spike) string {
	var pick *attribute.Candidate
	for i, c := range s.Candidates {
		if c.Role != attribute.RoleRejected {
			continue
		}
		own := c.Class == attribute.ClassFault || c.Class == attribute.ClassPurge
		if pick == nil || own && pick.Class != attribute.ClassFault && pick.Class != attribute.ClassPurge {
			pick = &s.Candidates[i]
		}
	}
	if pick == nil {
		return ""
	}
	why := fmt.Sprintf("explains only %s", percent(pick.Share))
	switch {
	case pick.Without > 0:
		why = fmt.Sprintf("%d of %d like it did nothing", pick.Without, pick.Like)
	case pick.Terms.Onset < 0:
		why = "began at another time"
	case pick.Terms.Scope < 0:
		why = "other servers were hit"
	}
	return short(*pick) + ": " + why
}
