package record

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"
)

// settle is how long after its end a minute stays open for windows that come late. Those that come
// later still cost a row of their own in the rollup.
const settle = 5 * time.Second

// rollups holds the windows of open minutes and quarters. Windows that begin before closed[i] are in table i.
type rollups struct {
	steps  [2]rollup
	unused []*Window // with their histograms' memory
}

type rollup struct {
	table  string
	step   time.Duration
	closed time.Duration
	open   map[rollKey]*Window
	late   map[rollKey]*Window // of closed spans, came with this batch
}

type rollKey struct {
	at time.Duration
	op int64
}

func newRollups() rollups {
	r := rollups{}
	r.steps[0] = rollup{table: metaMinute, step: Minute}
	r.steps[1] = rollup{table: metaQuarter, step: Quarter}
	for i := range r.steps {
		r.steps[i].open, r.steps[i].late = map[rollKey]*Window{}, map[rollKey]*Window{}
	}
	return r
}

// floor is the begin of the step that holds at.
func floor(at, step time.Duration) time.Duration {
	down := at - at%step
	if down > at {
		down -= step
	}
	return down
}

// add books win in the minute and in the quarter it begins in.
func (r *rollups) add(op int64, win *Window) {
	for i := range r.steps {
		s := &r.steps[i]
		into := s.open
		if win.At < s.closed {
			into = s.late
		}
		key := rollKey{floor(win.At, s.step), op}
		acc := into[key]
		if acc == nil {
			acc = r.take()
			acc.At, acc.Len = key.at, s.step
			into[key] = acc
		}
		acc.merge(win)
	}
}

func (r *rollups) take() *Window {
	if n := len(r.unused); n > 0 {
		acc := r.unused[n-1]
		r.unused = r.unused[:n-1]
		return acc
	}
	return &Window{Service: NewHist(), Delay: NewHist(), Response: NewHist()}
}

func (r *rollups) giveBack(acc *Window) {
	acc.Service.Reset()
	acc.Delay.Reset()
	acc.Response.Reset()
	*acc = Window{Service: acc.Service, Delay: acc.Delay, Response: acc.Response}
	r.unused = append(r.unused, acc)
}

// merge adds what o counted; w's histograms must not be nil.
func (w *Window) merge(o *Window) {
	w.OK += o.OK
	w.Failed += o.Failed
	w.InDoubt += o.InDoubt
	w.Shed += o.Shed
	w.Late += o.Late
	w.Bytes += o.Bytes
	w.Service.Merge(o.Service)
	w.Delay.Merge(o.Delay)
	w.Response.Merge(o.Response)
}

// putWindow writes one window of a second. When the newest row of its operation is of the same second, the two become one.
func (w *writer) putWindow(win Window) error {
	op, err := w.op(opKey{win.Workload, win.Op, win.Size})
	if err != nil {
		return err
	}
	w.end = max(w.end, win.At)
	w.rolls.add(op.id, &win)
	if op.row != 0 && op.last.At == win.At && op.last.Len == win.Len {
		acc := w.rolls.take()
		acc.merge(&op.last)
		acc.merge(&win)
		err := w.exec(updateWindow, append(windowArgs(acc), op.row)...)
		op.last = *acc
		op.last.Stamp, op.last.Len = win.Stamp, win.Len
		op.last.Service, op.last.Delay, op.last.Response = acc.Service.Clone(), acc.Delay.Clone(), acc.Response.Clone()
		w.rolls.giveBack(acc)
		return err
	}
	op.last = win
	op.row, err = w.execID(insertWindow("windows"), append([]any{int64(win.At), op.id, int64(win.Len)}, windowArgs(&win)...)...)
	return err
}

const updateWindow = "UPDATE windows SET ok = ?, failed = ?, in_doubt = ?, shed = ?, late = ?, bytes = ?, service = ?, delay = ?, response = ? WHERE id = ?"

func insertWindow(table string) string {
	return "INSERT INTO " + table + " (at, op, len, ok, failed, in_doubt, shed, late, bytes, service, delay, response) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
}

// windowArgs are the columns from ok on. An empty histogram is no bytes, and a response that is the same as the
// service time (a closed loop has no delay) is NULL.
func windowArgs(w *Window) []any {
	service, delay, response := w.Service.appendTo(nil), w.Delay.appendTo(nil), w.Response.appendTo(nil)
	if service == nil {
		service = []byte{}
	}
	if delay == nil {
		delay = []byte{}
	}
	var last any = response
	if bytes.Equal(service, response) {
		last = nil
	} else if response == nil {
		last = []byte{}
	}
	return []any{int64(w.OK), int64(w.Failed), int64(w.InDoubt), int64(w.Shed), int64(w.Late), int64(w.Bytes), service, delay, last}
}

// roll writes what came late, and the minutes and quarters that are over; at the end all of them.
func (w *writer) roll(last bool) error {
	for i := range w.rolls.steps {
		s := &w.rolls.steps[i]
		if err := w.putRolled(s, s.late, func(rollKey) bool { return true }); err != nil {
			return err
		}
		over := floor(w.end-settle, s.step)
		if last {
			over = floor(w.end, s.step) + s.step
		}
		if over <= s.closed {
			continue
		}
		if err := w.putRolled(s, s.open, func(k rollKey) bool { return k.at < over }); err != nil {
			return err
		}
		s.closed = over
		if err := w.exec("UPDATE meta SET value = ? WHERE name = ?", int64(over), s.table); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putRolled(s *rollup, from map[rollKey]*Window, ready func(rollKey) bool) error {
	keys := slices.SortedFunc(maps.Keys(from), func(a, b rollKey) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.op, b.op))
	})
	for _, k := range keys {
		if !ready(k) {
			continue
		}
		acc := from[k]
		delete(from, k)
		if err := w.exec(insertWindow(s.table), append([]any{int64(k.at), k.op, int64(s.step)}, windowArgs(acc)...)...); err != nil {
			return err
		}
		w.rolls.giveBack(acc)
	}
	return nil
}
