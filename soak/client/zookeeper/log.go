package zookeeper

import (
	"fmt"
	"sync"
	"time"
)

// lineEvery is how often one kind of line is handed on. The library writes a line per failed dial.
const lineEvery = 30 * time.Second

// lines is the library's logger: it counts every line and hands on one of a kind per lineEvery,
// with the number of those kept back. A kind is a format string.
type lines struct {
	out func(string)

	mu    sync.Mutex
	total int64
	kept  int64
	kinds map[string]*kind
}

type kind struct {
	last time.Time
	held int64
}

func newLines(out func(string)) *lines { return &lines{out: out, kinds: map[string]*kind{}} }

// Printf implements the library's Logger.
func (l *lines) Printf(format string, args ...any) {
	if line, ok := l.admit(format, time.Now()); ok {
		text := fmt.Sprintf(format, args...)
		if line > 0 {
			text += fmt.Sprintf(" (and %d like it)", line)
		}
		l.out(text)
	}
}

// admit says whether a line is due and how many of its kind were kept back since the last one.
func (l *lines) admit(format string, now time.Time) (held int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total++
	if l.out == nil {
		return 0, false
	}
	k := l.kinds[format]
	switch {
	case k == nil:
		l.kinds[format] = &kind{last: now}
	case now.Sub(k.last) < lineEvery:
		k.held++
		return 0, false
	default:
		held = k.held
		*k = kind{last: now}
	}
	l.kept++
	return held, true
}

func (l *lines) counts() (total, kept int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.kept
}
