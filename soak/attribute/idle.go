package attribute

// idle finds for each workload where it had no success for the longest time. A workload that begins late or ends early
// is idle, too.
func (a *Analysis) idle(t *table) {
	a.Idle = map[string]Idle{}
	lo, hi := t.second(a.Load.From), t.second(a.Load.To)
	if a.Load.Len() == 0 || lo < 0 {
		return
	}
	free := make([]bool, hi)
	for i := range free {
		free[i] = true
	}
	for _, f := range a.Faults {
		if f.Injected > 0 {
			t.taint(free, f.Reach)
		}
	}
	served := map[string][]bool{}
	for _, r := range t.rows {
		s := served[r.key.workload]
		if s == nil {
			s = make([]bool, hi)
			served[r.key.workload] = s
		}
		for i := lo; i < min(hi, len(r.ticks)); i++ {
			s[i] = s[i] || r.ticks[i].ok > 0
		}
	}
	for w, s := range served {
		a.Idle[w] = longestIdle(t, s, free, lo)
	}
}

func longestIdle(t *table, served, free []bool, lo int) (longest Idle) {
	from, seconds := lo, 0
	for i := lo; i < len(served); i++ {
		switch {
		case served[i]:
			from, seconds = i+1, 0
		case free[i]:
			if seconds++; seconds > longest.Seconds {
				longest = Idle{Span: Span{From: t.begin(from), To: t.begin(i + 1)}, Seconds: seconds}
			}
		}
	}
	return longest
}
