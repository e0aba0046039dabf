package attribute

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"nightshift/soak/record"
)

// What an answer needs. They are settings of the scorer, tried on planted cases; not calibrated.
const (
	needScore  = 1.0 // a cause scores at least this
	needMargin = 0.7 // and this much more than the next one of another kind
	maxBase    = 8.0
	tellShare  = 0.2 // a mechanism that is named explains at least this
)

// scored is one candidate of one spike.
type scored struct {
	event
	away bool    // explained away: it came of upstream
	up   *scored // what it came of
}

func (c *scored) sum() float64 {
	t := c.Terms
	return t.Base + t.Share + t.Onset + t.Scope + t.Away
}

// explain scores every candidate of a spike and names the cause, or says that it is not known.
func (e *explainer) explain(s *Spike) {
	cs := e.near(s)
	for _, c := range cs {
		e.score(s, c)
	}
	explainAway(cs)
	for _, c := range cs {
		c.Score = c.sum()
	}
	slices.SortStableFunc(cs, func(x, y *scored) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(y.Score, x.Score), cmp.Compare(x.From, y.From), cmp.Compare(x.Ref, y.Ref))
	})
	e.answer(s, cs)
	for _, c := range cs {
		if c.Role == "" {
			c.Role, c.Reason = role(c)
		}
	}
	s.Left = max(0, len(cs)-MaxCandidates)
	for _, c := range cs[:min(len(cs), MaxCandidates)] {
		s.Candidates = append(s.Candidates, c.Candidate)
	}
}

// rank puts what was explained away behind what may be a cause.
func rank(c *scored) int {
	if c.away {
		return 1
	}
	return 0
}

// score fills the terms of one candidate.
func (e *explainer) score(s *Spike, c *scored) {
	c.Like, c.Without = atLeast(e.likes[c.kind], c.size), atLeast(e.sizes[c.kind], c.size)
	c.Share = share(s, c)
	// Half an event more than was seen: what never happened without a spike may still do so.
	rate := (float64(c.Without) + .5) / e.quiet.Seconds()
	span := s.Len().Seconds() + c.Len().Seconds() + 1
	c.Terms.Base = min(maxBase, -math.Log(1-math.Exp(-rate*span)))
	c.Terms.Share = 2 * math.Log((c.Share+.05)/.55)
	c.Terms.Onset = onset(s, c)
	c.Terms.Scope = e.scope(s, c)
}

// share is the part of the lost time that the candidate's own time covers: an operation can't have lost
// more to it than they were open together.
func share(s *Spike, c *scored) float64 {
	wide := Span{c.From - c.slack, c.To + c.slack}
	var lost, covered time.Duration
	for _, o := range s.Slow {
		response := o.End - o.At
		lost += response
		part := min(response, wide.Overlap(Span{o.At, o.End}))
		if c.most > 0 {
			part = min(part, c.most+2*c.slack)
		}
		covered += part
	}
	if lost == 0 {
		if s.Len() == 0 {
			return 0
		}
		return float64(wide.Overlap(s.Span)) / float64(s.Len())
	}
	return float64(covered) / float64(lost)
}

// onset rewards what began when the spike began. A fault has several moments at which it may begin to
// hurt, and may do so any time until the service is back.
func onset(s *Spike, c *scored) float64 {
	starts := c.edges
	if len(starts) == 0 {
		starts = []time.Duration{c.From}
	}
	for _, at := range starts {
		if at > 0 && s.From-at >= -reachAfter-c.slack && s.From-at <= reachBefore+c.slack {
			return .7
		}
	}
	if c.fault != nil && s.From >= c.From-reachAfter && s.From <= c.To+reachBefore {
		return 0
	}
	return -1.5
}

// scope compares the servers: trouble of one follower can't slow operations that went to others alone,
// while trouble of the leader reaches every write.
func (e *explainer) scope(s *Spike, c *scored) float64 {
	addr := e.addr[c.Node]
	if addr == "" || len(s.Nodes) == 0 {
		return 0
	}
	hit := slices.Contains(s.Nodes, addr)
	switch {
	case hit && len(s.Nodes) == 1:
		return .9
	case !hit && c.fault == nil && e.roleAt(c.Node, c.From) == "follower":
		return -2
	}
	return 0
}

// explainAway moves a part of a mechanism's score to its cause, where that makes the cause a likely one;
// the mechanism can then no longer be the cause itself.
func explainAway(cs []*scored) {
	gifts := map[*scored]float64{}
	for _, m := range cs {
		for _, u := range cs {
			if u == m || !through(u, m) || !within(u, m) {
				continue
			}
			if m.up == nil || rankUp(u) < rankUp(m.up) || rankUp(u) == rankUp(m.up) && u.sum() > m.up.sum() {
				m.up = u
			}
		}
		if m.up != nil {
			gifts[m.up] += gift(m.up, m.sum())
		}
	}
	own := map[*scored]float64{}
	for _, c := range cs {
		own[c] = c.sum()
	}
	for _, m := range cs {
		if m.up == nil || own[m.up]+gifts[m.up] < needScore {
			m.up = nil
			continue
		}
		given := gift(m.up, own[m])
		m.away = true
		m.Terms.Away -= given
		m.up.Terms.Away += given
	}
}

// gift is what a mechanism of that score gives to its cause: half, and less where most of the cause's like
// did nothing. A purge that ran forty times in peace is hardly why the disk was slow this time.
func gift(cause *scored, score float64) float64 {
	hit := (float64(cause.Like-cause.Without) + .5) / (float64(cause.Like) + 1)
	return max(0, score) / 2 * hit
}

// rankUp: a fault is a deeper cause than anything that was only seen.
func rankUp(c *scored) int {
	if c.Class == ClassFault {
		return 0
	}
	return 1
}

// within says that m began while u could act.
func within(u, m *scored) bool {
	slack := u.slack + m.slack
	return m.From >= u.From-reachAfter-slack && m.From <= u.To+reachBefore+slack
}

// answer names the cause of a spike, or says why there is none. cs are in order of score.
func (e *explainer) answer(s *Spike, cs []*scored) {
	s.Cause = "unknown"
	if len(cs) == 0 || cs[0].away || cs[0].Score < needScore {
		s.Unknown = UnknownNone
		if slices.ContainsFunc(e.gaps, func(g record.Evidence) bool { return g.At < s.To && g.To > s.From-reachBefore }) {
			s.Unknown = UnknownGap
		}
		return
	}
	best := cs[0]
	s.Margin = best.Score
	for _, c := range cs[1:] {
		if c.away || c.kind == best.kind && (c.fault == nil || c.Overlap(best.Span) > 0) {
			continue // more of the same is no other answer; nor is one fault on several nodes at once
		}
		if s.Margin = best.Score - c.Score; s.Margin < needMargin && c.Score >= needScore {
			s.Unknown, s.Share = UnknownAmbiguous, 0
			s.Cause = fmt.Sprintf("unknown: %s, or %s", best.Text, c.Text)
			return
		}
		break
	}
	s.Cause, s.Share = best.Text, best.Share
	best.Role = RoleCause
	_, best.Reason = role(best)
	for _, m := range cs {
		if m.up == best || m.up != nil && m.up.up == best {
			m.Role, m.Reason = RoleMechanism, "it came of "+best.Ref
			s.Share = max(s.Share, m.Share)
			if s.Mechanism == "" && m.Share >= tellShare {
				s.Mechanism = m.Text
			}
		}
	}
}

// role of a candidate that is neither cause nor mechanism, and one line of why.
func role(c *scored) (Role, string) {
	why := fmt.Sprintf("explains %.0f %% of the lost time; %d of %d like it came without a spike", 100*c.Share, c.Without, c.Like)
	switch {
	case c.away:
		return RoleCoincident, "it came of " + c.up.Ref
	case c.Score >= needScore:
		return RoleCoincident, why
	case c.Terms.Onset < 0:
		return RoleRejected, why + "; it did not begin with the spike"
	case c.Terms.Scope < 0:
		return RoleRejected, why + "; other servers were hit"
	}
	return RoleRejected, why
}
