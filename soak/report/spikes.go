package report

import (
	"fmt"
	"sort"
	"time"

	"nightshift/soak/attribute"
)

// maxSpikeRows bounds the text; the JSON has them all.
const maxSpikeRows = 20

// spikes prints the worst ones in order of time, each with its cause and what was not it.
func spikes(p *page) {
	a := p.r.Analysis
	if len(a.Spikes) == 0 {
		return
	}
	shown := worst(a.Spikes)
	var rows [][]string
	for _, s := range shown {
		rows = append(rows, []string{clock(s.From), (s.To - s.From).Round(10 * time.Millisecond).String(), millis(s.Longest),
			number(s.Ops), cause(s), percent(s.Share), others(s)})
	}
	p.table("SPIKES (operations that stalled or failed, and what explains them)",
		[]string{"at>", "length>", "longest ms>", "ops>", "cause", "explains>", "also there"}, rows)
	if rest := len(a.Spikes) - len(shown) + a.SpikesLeft; rest > 0 {
		p.printf("  and %d smaller ones\n", rest)
	}
	p.printf("  %d of %d without a known cause\n", a.Unknown, len(a.Spikes))
}

func worst(all []attribute.Spike) []attribute.Spike {
	s := append([]attribute.Spike(nil), all...)
	sort.SliceStable(s, func(i, j int) bool { return s[i].Excess > s[j].Excess })
	s = s[:min(len(s), maxSpikeRows)]
	sort.SliceStable(s, func(i, j int) bool { return s[i].From < s[j].From })
	return s
}

func cause(s attribute.Spike) string {
	if s.Unknown != attribute.Known {
		return fmt.Sprintf("unknown (%s)", s.Unknown)
	}
	if s.Mechanism != "" {
		return s.Cause + ", through " + s.Mechanism
	}
	return s.Cause
}

// others names up to two candidates that were not the cause, with the reason.
func others(s attribute.Spike) string {
	out, n := "", 0
	for _, c := range s.Candidates {
		if c.Role != attribute.RoleRejected && c.Role != attribute.RoleCoincident || n == 2 {
			continue
		}
		if n > 0 {
			out += "; "
		}
		out += c.Text + ": " + c.Reason
		n++
	}
	return out
}
