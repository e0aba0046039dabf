package zookeeper

import (
	"fmt"
	"sync"
	"time"

	"nightshift/soak/record"
)

// Codes of the findings of the ZooKeeper workloads; doc.go says what each means.
const (
	CodeWriteLost      = "write-lost"
	CodeDataWrong      = "data-wrong"
	CodeWatchMissed    = "watch-missed"
	CodeWatchDuplicate = "watch-duplicate"
	CodeLeftOver       = "left-over"
	CodeWatchLate      = "watch-late"
	CodeWatchUnproven  = "watch-unproven"
	CodeRecovered      = "recovered"
)

// meanings gives each code its severity and the text of its finding; %d is the count.
var meanings = []struct {
	code     string
	severity record.Severity
	text     string
}{
	{CodeWriteLost, record.Fail, "%d acknowledged writes are lost"},
	{CodeDataWrong, record.Fail, "%d times data was read that was never written there"},
	{CodeWatchMissed, record.Fail, "%d notifications were missed"},
	{CodeWatchDuplicate, record.Fail, "%d notifications came without a cause or twice"},
	{CodeLeftOver, record.Fail, "%d nodes were left over"},
	{CodeWatchLate, record.Info, "%d notifications came after their time limit"},
	{CodeWatchUnproven, record.Info, "%d notifications could neither be seen nor proven missing"},
	{CodeRecovered, record.Info, "writes in doubt that had taken effect: %d"},
}

// maxEvidence bounds the lines of evidence of one finding, and the notes about it.
const maxEvidence = 10

// ledger counts what the checks of one workload found: one finding per code. Safe for concurrent use.
type ledger struct {
	subject string // name of the workload
	clock   record.Clock
	emit    record.Emit // may be nil

	mu sync.Mutex
	by map[string]*record.Finding
}

func newLedger(subject string, clock record.Clock, emit record.Emit) *ledger {
	return &ledger{subject: subject, clock: clock, emit: emit, by: map[string]*record.Finding{}}
}

// add counts one occurrence that lasted from..now. The first of each code that fails the run
// also go out as notes at once, so that a killed run shows them.
func (l *ledger) add(code string, from time.Duration, format string, args ...any) {
	now := l.clock.Now()
	l.mu.Lock()
	f := l.by[code]
	if f == nil {
		f = &record.Finding{Code: code, System: system, Subject: l.subject, From: from}
		l.by[code] = f
	}
	f.Count++
	f.From, f.To = min(f.From, from), now
	fresh := len(f.Evidence) < maxEvidence
	var line string
	if fresh {
		line = fmt.Sprintf(format, args...)
		f.Evidence = append(f.Evidence, line)
	}
	l.mu.Unlock()
	if fresh && l.emit != nil && severity(code) == record.Fail {
		l.emit(record.Note{Stamp: record.Stamp{At: now}, Lane: l.subject, Level: "error", Code: code, Text: line})
	}
}

func severity(code string) record.Severity {
	for _, m := range meanings {
		if m.code == code {
			return m.severity
		}
	}
	return record.Fail
}

// findings is a copy of what was found so far, in the order of the table.
func (l *ledger) findings() []record.Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	var fs []record.Finding
	for _, m := range meanings {
		if f := l.by[m.code]; f != nil {
			c := *f
			c.Severity, c.Text = m.severity, fmt.Sprintf(m.text, f.Count)
			c.Evidence = append([]string(nil), f.Evidence...)
			fs = append(fs, c)
		}
	}
	return fs
}

// fork is a copy that further occurrences are added to without changing l: Check can be called again.
func (l *ledger) fork() *ledger {
	c := newLedger(l.subject, l.clock, nil)
	for _, f := range l.findings() {
		c.by[f.Code] = &f
	}
	return c
}
