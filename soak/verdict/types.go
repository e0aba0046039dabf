package verdict

import (
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
)

// Outcome is the word a run ends with.
type Outcome string

// The outcomes.
const (
	Pass         Outcome = "pass"
	Fail         Outcome = "fail"
	Inconclusive Outcome = "inconclusive"
	Aborted      Outcome = "aborted"
)

// ExitCode of the process that reports the outcome: 0, 3, 4 or 6.
func (o Outcome) ExitCode() int {
	switch o {
	case Pass:
		return 0
	case Fail:
		return 3
	case Aborted:
		return 6
	default:
		return 4
	}
}

// Verdict is the judgement of one run.
type Verdict struct {
	Verdict      Outcome
	Qualifier    string   // "without faults and purges", when consent was missing
	Reasons      []Reason // the worst first; on a pass only Info and Warn
	Expectations []Result // in the plan's order
}

// Line is the verdict in one line: "pass, without faults and purges".
func (v Verdict) Line() string {
	if v.Qualifier == "" {
		return string(v.Verdict)
	}
	return string(v.Verdict) + ", " + v.Qualifier
}

// Reason is one thing that made the verdict, or that a reader of it must know.
type Reason struct {
	Code     string          // stable: a Code* constant, or the code of a finding
	Severity record.Severity // Fail and Inconclusive decide
	Text     string
	From, To time.Duration // where it has a place in time
	Evidence []string
}

// Result is one expectation and what became of it.
type Result struct {
	Name    string
	Expr    string
	Outcome Outcome // Pass, Fail or Inconclusive
	Looked  int     // spans that were looked at
	Broken  int     // of these: did not hold
	Text    string  // the worst span and its value, or why nothing could be said
	Worst   attribute.Span
}
