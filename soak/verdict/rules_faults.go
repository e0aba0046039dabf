package verdict

import (
	"fmt"
	"strings"
	"time"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
)

// faults: what bit must heal and the service must be back in time; what did not bite proved nothing.
func (j *judge) faults() {
	byItem, byKind := map[int]bool{}, map[string]bool{}
	for _, f := range j.a.Faults {
		byItem[f.Item], byKind[f.Fault.Fault] = true, true
		j.fault(f) // a skip is told here
	}
	mix := j.plan.Field("faults").Field("mix").Items()
	if len(mix) == 0 || j.missing("faults") {
		return
	}
	var idle []string
	needed := 0
	for i, n := range mix {
		var kind, nodes string
		if n.Field("kind").Decode(&kind) != nil || optional(n) {
			continue
		}
		_ = n.Field("nodes").Decode(&nodes) // only for the text
		// Faults of an older record do not say which item they are of.
		if needed++; !byItem[i+1] && !(byItem[0] && byKind[kind]) {
			idle = append(idle, strings.TrimSpace(kind+" "+nodes))
		}
	}
	switch {
	case needed > 0 && len(j.a.Faults) == 0:
		j.addf(CodeNoFaults, record.Inconclusive, "the plan has faults and none ran")
	case len(idle) > 0:
		j.addf(CodeFaultIdle, record.Inconclusive, "of the plan's faults these never ran: %s", strings.Join(idle, ", "))
	}
}

func (j *judge) fault(f attribute.Recovery) {
	what := fmt.Sprintf("%s of %s", f.Fault.Fault, f.Node)
	add := func(code string, s record.Severity, format string, args ...any) {
		j.add(Reason{Code: code, Severity: s, Text: what + fmt.Sprintf(format, args...), From: max(f.Injected, 0), To: f.To, Evidence: f.Proof})
	}
	weak := record.Inconclusive
	if f.Optional {
		weak = record.Info
	}
	if f.Injected <= 0 && (f.Skipped != "" || f.Healed || f.Step == record.StepPrepared) {
		add(CodeFaultSkipped, weak, " did not run: %s", either(f.Skipped, f.Error, "the run ended before"))
		return
	}
	if !f.Bit {
		add(CodeNoBite, weak, " was not seen to bite%s", suffix(f.Error))
	}
	// What was injected, or tried, must be seen healed even where it did not bite.
	if !f.Healed && j.a.Ended == "" {
		add(CodeNotHealed, record.Inconclusive, " was in effect where the record ends; `nightshift heal RUN` undoes what is left")
		return
	}
	if !f.Healed {
		add(CodeNotHealed, record.Fail, " was not seen healed%s", suffix(f.Error))
		return
	}
	if !f.Bit {
		return
	}
	switch {
	case f.Overdue:
		add(CodeNotRecovered, record.Fail, ": the service was not back within %s after it was healed", limit(f.Fault))
	case f.Offered == 0:
		add(CodeFaultUnloaded, weak, ": no operation was wanted while it was in effect")
	case f.Unjudged != "":
		add(CodeUnjudged, weak, ": recovery could not be judged: %s", f.Unjudged)
	}
}

func limit(f record.Fault) time.Duration {
	if f.Limit > 0 {
		return f.Limit
	}
	return attribute.DefaultLimit
}
