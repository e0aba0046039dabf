package verdict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
)

// evaluate looks at every expectation. The seconds of the load phase are read once for all of them, and
// never held.
func evaluate(ctx context.Context, r *record.Reader, a attribute.Analysis, exps []Expectation) ([]Result, error) {
	es := newEvaluations(a, exps)
	if a.Load.Len() > 0 && slices.ContainsFunc(exps, func(x Expectation) bool { return !x.static() }) {
		q := record.WindowQuery{Span: record.Span{From: a.Load.From, To: a.Load.To}, Step: record.Second}
		err := r.Windows(q, func(w record.Window) error {
			for _, e := range es {
				e.add(w)
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	results := make([]Result, len(es))
	for i, e := range es {
		results[i] = e.finish()
	}
	return results, nil
}

// evaluation is one expectation while windows come in order of time.
type evaluation struct {
	*Expectation
	a      attribute.Analysis
	from   time.Duration // begin of the first span
	over   time.Duration
	keep   []bool // per second since from: not left out
	span   int    // index of the span that is being filled
	tally  map[group]*tally
	result Result
	worst  float64
	empty  int // spans that were not left out and had no operation to speak of
}

func newEvaluations(a attribute.Analysis, exps []Expectation) []*evaluation {
	out := make([]*evaluation, len(exps))
	for i := range exps {
		x := &exps[i]
		from := a.Load.From + (x.After+time.Second-1)/time.Second*time.Second
		e := &evaluation{Expectation: x, a: a, from: from, over: x.Over, tally: map[group]*tally{},
			result: Result{Name: x.Name, Expr: x.Expr}}
		// A second that the drain began in is no second of load.
		whole := max(0, (a.Load.To-from)/time.Second)
		e.keep = make([]bool, int(whole))
		for k := range e.keep {
			e.keep[k] = true
		}
		if e.over == 0 {
			e.over = max(1, whole) * time.Second
		}
		for _, s := range excluded(a, x.Except) {
			e.cut(s)
		}
		for _, m := range x.metrics {
			if (m.group != group{}) {
				e.tally[m.group] = &tally{response: record.NewHist()}
			}
		}
		out[i] = e
	}
	return out
}

// excluded spans: a fault until the service is back, a purge, a spike.
func excluded(a attribute.Analysis, except []string) []attribute.Span {
	var out []attribute.Span
	for _, e := range except {
		switch e {
		case "faults":
			for _, f := range a.Faults {
				if f.Injected > 0 {
					out = append(out, f.Reach)
				}
			}
		case "purges":
			for _, p := range a.Purges {
				out = append(out, attribute.Span{From: p.At, To: max(p.To, p.At+1)})
			}
		case "spikes":
			for _, s := range a.Spikes {
				out = append(out, s.Span)
			}
		}
	}
	return out
}

// cut leaves out the seconds that s touches.
func (e *evaluation) cut(s attribute.Span) {
	if s.To <= e.from {
		return
	}
	for i := max(0, int((s.From-e.from)/time.Second)); i < len(e.keep) && e.from+time.Duration(i)*time.Second < s.To; i++ {
		e.keep[i] = false
	}
}

// add counts one window of one second.
func (e *evaluation) add(w record.Window) {
	if len(e.tally) == 0 || w.At < e.from {
		return
	}
	i := int((w.At - e.from) / time.Second)
	if i >= len(e.keep) {
		return
	}
	for span := int((w.At - e.from) / e.over); e.span < span; {
		e.close()
	}
	if !e.keep[i] {
		return
	}
	workload, op := metricName(w.Workload), metricName(w.Op)
	for g, t := range e.tally {
		if g.workload == workload && (g.op == "" || g.op == op) {
			t.add(w)
		}
	}
}

// close looks at the span that is full.
func (e *evaluation) close() {
	s := attribute.Span{From: e.from + time.Duration(e.span)*e.over}
	s.To = s.From + e.over
	lo := int((s.From - e.from) / time.Second)
	hi := min(len(e.keep), int((s.To-e.from)/time.Second))
	kept := 0
	for i := lo; i < hi; i++ {
		if e.keep[i] {
			kept++
		}
	}
	// Less than half of a span says little of it; the whole load phase counts with any second.
	if kept > 0 && (e.Over == 0 || 2*kept >= int(e.over/time.Second)) {
		e.look(s, float64(kept))
	}
	for _, t := range e.tally {
		t.reset()
	}
	e.span++
}

// look evaluates the expression on one span.
func (e *evaluation) look(s attribute.Span, seconds float64) {
	values := make([]any, len(e.metrics))
	for i, m := range e.metrics {
		ok := false
		if (m.group == group{}) {
			values[i], ok = wholeValue(e.a, m)
		} else {
			values[i], ok = e.tally[m.group].value(m.field, seconds)
		}
		if !ok {
			e.empty++
			e.say("no value of " + m.path)
			return
		}
	}
	e.result.Looked++
	held, err := e.holds(values)
	if err != nil {
		e.empty++
		e.result.Looked--
		e.say(shortError(err).Error())
		return
	}
	if held {
		return
	}
	e.result.Broken++
	if v := number(values[e.lead]) * float64(e.worse); e.result.Broken == 1 || v > e.worst {
		e.worst, e.result.Worst = v, s
		e.result.Text = e.describe(values)
	}
}

func (e *evaluation) say(text string) {
	if e.result.Text == "" {
		e.result.Text = text
	}
}

// describe names every metric with its value.
func (e *evaluation) describe(values []any) string {
	var out []string
	for i, m := range e.metrics {
		switch v := values[i].(type) {
		case time.Duration:
			out = append(out, fmt.Sprintf("%s was %s", m.path, v.Round(10*time.Microsecond)))
		case float64:
			out = append(out, fmt.Sprintf("%s was %.4g", m.path, v))
		default:
			out = append(out, fmt.Sprintf("%s was %v", m.path, v))
		}
	}
	return strings.Join(out, ", ")
}

// finish looks at what is left and says what became of the expectation.
func (e *evaluation) finish() Result {
	if e.static() {
		e.look(attribute.Span{From: e.a.Load.From, To: e.a.Load.To}, e.a.Load.Len().Seconds())
	} else {
		for e.from+time.Duration(e.span)*e.over < e.from+time.Duration(len(e.keep))*time.Second {
			e.close()
		}
	}
	r := &e.result
	switch {
	case r.Broken > 0:
		r.Outcome = Fail
		if !e.static() {
			r.Text += fmt.Sprintf(" from %s to %s", short(r.Worst.From), short(r.Worst.To))
			if r.Looked > 1 {
				r.Text += fmt.Sprintf("; %d of %d spans did not hold", r.Broken, r.Looked)
			}
		}
	case r.Looked == 0:
		r.Outcome = Inconclusive
		if r.Text == "" {
			r.Text = "nothing of the load phase was left to look at"
		}
	case e.empty > r.Looked:
		r.Outcome = Inconclusive
		r.Text = fmt.Sprintf("it held in %d spans, and %d said nothing", r.Looked, e.empty)
	default:
		r.Outcome = Pass
		r.Text = fmt.Sprintf("held in %d of %d spans", r.Looked, r.Looked)
		if e.empty > 0 {
			r.Text += fmt.Sprintf("; %d said nothing", e.empty)
		}
	}
	return *r
}

func short(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// number makes values comparable.
func number(v any) float64 {
	switch v := v.(type) {
	case time.Duration:
		return float64(v)
	case float64:
		return v
	case int:
		return float64(v)
	}
	return 0
}
