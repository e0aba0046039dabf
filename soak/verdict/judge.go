package verdict

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"nightshift/soak/attribute"
	"nightshift/soak/config"
	"nightshift/soak/record"
)

// Judge says what the run is worth, from its record and a, its analysis. It fails only when the record
// can't be read.
func Judge(ctx context.Context, r *record.Reader, a attribute.Analysis) (Verdict, error) {
	plan, ps := config.Parse([]byte(a.Run.YAML))
	j := newJudge(a, plan)
	j.problems(ps)
	exps, ps := Decode(plan.Field("expect"), j.known())
	j.problems(ps)
	results, err := evaluate(ctx, r, a, exps)
	if err != nil {
		return Verdict{}, fmt.Errorf("judge the run: %w", err)
	}
	j.rules()
	for _, x := range results {
		switch x.Outcome {
		case Fail:
			j.add(Reason{Code: CodeExpect, Severity: record.Fail, Text: x.Name + " did not hold: " + x.Text, From: x.Worst.From, To: x.Worst.To})
		case Inconclusive:
			j.add(Reason{Code: CodeExpectUnsaid, Severity: record.Inconclusive, Text: x.Name + ": " + x.Text})
		}
	}
	j.forgive()
	return Verdict{Verdict: j.outcome(), Qualifier: qualifier(a.Without), Reasons: shorten(j.sorted()), Expectations: results}, nil
}

// judge collects reasons.
type judge struct {
	a       attribute.Analysis
	plan    config.Node
	reasons []Reason
	aborted bool
}

func newJudge(a attribute.Analysis, plan config.Node) *judge { return &judge{a: a, plan: plan} }

func (j *judge) add(r Reason) { j.reasons = append(j.reasons, r) }

func (j *judge) addf(code string, s record.Severity, format string, args ...any) {
	j.add(Reason{Code: code, Severity: s, Text: fmt.Sprintf(format, args...)})
}

// problems of a plan that can't be judged.
func (j *judge) problems(ps config.Problems) {
	for _, p := range ps {
		j.addf(CodePlan, record.Inconclusive, "the plan in the record can't be judged: %s", p)
	}
}

// forgive drops what can't be asked of a run that has not come to its end: that everything planned has happened.
// What was found stays. While a run goes on, a fault in its hold is no fault that did not heal.
func (j *judge) forgive() {
	if !j.aborted && !j.a.Live {
		return
	}
	j.reasons = slices.DeleteFunc(j.reasons, func(r Reason) bool {
		switch r.Code {
		case CodeInterrupted, CodeKilled, CodeHarness, CodeLive, CodePlan, CodeLane:
			return false
		case CodeNotHealed, CodeNotRecovered:
			return j.a.Live
		}
		return r.Severity == record.Inconclusive || r.Severity == record.Warn
	})
}

// outcome: an aborted run was not judged to the end, whatever else was found; then the worst reason counts.
func (j *judge) outcome() Outcome {
	out := Pass
	for _, r := range j.reasons {
		switch {
		case r.Severity == record.Fail:
			out = Fail
		case r.Severity == record.Inconclusive && out == Pass:
			out = Inconclusive
		}
	}
	if j.aborted {
		return Aborted
	}
	return out
}

var weight = map[record.Severity]int{record.Fail: 0, record.Inconclusive: 1, record.Warn: 2, record.Info: 3}

// sorted puts why the run was aborted first, then the worst.
func (j *judge) sorted() []Reason {
	rank := func(r Reason) int {
		switch r.Code {
		case CodeInterrupted, CodeKilled, CodeHarness, CodeLive:
			return -1
		}
		return weight[r.Severity]
	}
	out := slices.Clone(j.reasons)
	slices.SortStableFunc(out, func(x, y Reason) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.From, y.From), cmp.Compare(x.Code, y.Code), cmp.Compare(x.Text, y.Text))
	})
	return out
}

// most reasons of one code that are told; the rest is counted.
const most = 8

func shorten(rs []Reason) []Reason {
	type kind struct {
		code string
		s    record.Severity
	}
	count, last := map[kind]int{}, map[kind]int{}
	var out []Reason
	for _, r := range rs {
		k := kind{r.Code, r.Severity}
		if count[k]++; count[k] <= most {
			out, last[k] = append(out, r), len(out)
		}
	}
	for k, n := range count {
		if n > most {
			out[last[k]].Text += fmt.Sprintf(" (and %d more of this kind)", n-most)
		}
	}
	return out
}

func qualifier(without []string) string {
	if len(without) == 0 {
		return ""
	}
	return "without " + strings.Join(without, " and ")
}

// known are the workloads that expectations may name: those of the plan, and those that the record has. An
// operation that never happened is no mistake of the plan's; it has no value.
func (j *judge) known() Known {
	k := Known{}
	for _, w := range j.workloads() {
		k[metricName(w.name)] = nil
	}
	for _, o := range j.a.Operations {
		k[metricName(o.Workload)] = nil
	}
	return k
}

// planned is one workload of the plan.
type planned struct {
	name  string
	rate  config.Rate
	quota bool // it may end before the load does
}

// is says that the record's workload is this one. Names of metrics would not do: a-b and a_b share theirs.
func (p planned) is(workload string) bool {
	dotted := func(s string) string { return strings.ReplaceAll(s, "/", ".") }
	return dotted(workload) == dotted(p.name)
}

func (j *judge) workloads() []planned {
	var out []planned
	for _, n := range j.plan.Field("workloads").Items() {
		var p planned
		// What is wrong here was said when the plan was checked.
		_ = n.Field("kind").Decode(&p.name)
		_ = n.Field("name").Decode(&p.name)
		_ = n.Field("rate").Decode(&p.rate)
		for _, key := range []string{"count", "rounds"} {
			var most uint64
			_ = n.Field(key).Decode(&most)
			p.quota = p.quota || most > 0
		}
		out = append(out, p)
	}
	return out
}

func optional(n config.Node) bool {
	var b bool
	return n.Field("optional").Decode(&b) == nil && b
}

// missing says that consent for a part was not given.
func (j *judge) missing(part string) bool { return slices.Contains(j.a.Without, part) }
