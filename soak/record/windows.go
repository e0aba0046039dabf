package record

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// Steps of windows.
const (
	Second  = time.Second
	Minute  = time.Minute
	Quarter = 15 * time.Minute
)

// WindowQuery selects windows; empty strings match all.
type WindowQuery struct {
	Span
	Workload, Op string
	Size         int           // 0 is all
	Step         time.Duration // Second (also when 0), Minute or Quarter; spans not yet rolled up come from the finer step
}

// Windows calls yield for each window in order of time, until it returns an error. Windows of equal time are
// in order of first appearance of their operation. A rolled-up window begins at a whole step and has the step's
// length, also when the run began or ended inside it. The histograms belong to the caller.
func (r *Reader) Windows(q WindowQuery, yield func(Window) error) error {
	if err := r.windows(q, yield); err != nil {
		return fmt.Errorf("read windows of %s: %w", r.path, err)
	}
	return nil
}

func (r *Reader) windows(q WindowQuery, yield func(Window) error) error {
	if q.Step == 0 {
		q.Step = Second
	}
	if q.Step != Second && q.Step != Minute && q.Step != Quarter {
		return fmt.Errorf("step %s is not one of %s, %s, %s", q.Step, Second, Minute, Quarter)
	}
	tx, done, err := r.snapshot()
	if err != nil {
		return err
	}
	defer done()
	names, err := r.opNames(tx)
	if err != nil {
		return err
	}
	closed := map[string]int64{}
	err = r.rows(tx, func(rows *sql.Rows) error {
		var name string
		var value int64
		err := rows.Scan(&name, &value)
		closed[name] = value
		return err
	}, "SELECT name, value FROM meta")
	if err != nil {
		return err
	}
	g := gather{step: q.Step, open: map[int64]*gathered{}, yield: yield, holds: q.holds}
	from, to := q.limits()
	from = int64(floor(time.Duration(from), q.Step))
	if q.To != 0 {
		to = int64(-floor(-time.Duration(to), q.Step)) // up to the end of the last step that begins in the span
	}
	for _, part := range parts(q.Step, closed[metaQuarter], closed[metaMinute]) {
		err := r.rows(tx, func(rows *sql.Rows) error {
			win, op, blobs, err := scanWindow(rows)
			if err != nil {
				return err
			}
			k := names[op]
			if q.Workload != "" && q.Workload != k.workload || q.Op != "" && q.Op != k.op || q.Size != 0 && q.Size != k.size {
				return nil
			}
			win.Workload, win.Op, win.Size = k.workload, k.op, k.size
			return g.add(op, win, blobs)
		}, "SELECT at, op, len, ok, failed, in_doubt, shed, late, bytes, service, delay, response FROM "+part.table+
			" WHERE at >= ? AND at < ? ORDER BY at, op, id",
			max(part.from, from), min(part.to, to))
		if err != nil {
			return err
		}
	}
	return g.give()
}

// part is the piece of the time line that is read from one table.
type part struct {
	table    string
	from, to int64
}

// parts covers the time line once: rollups as far as they go, then finer.
func parts(step time.Duration, quarters, minutes int64) []part {
	const begin, end = -1 << 63, 1<<63 - 1
	switch step {
	case Quarter:
		return []part{{"windows_15m", begin, quarters}, {"windows_1m", quarters, minutes}, {"windows", max(quarters, minutes), end}}
	case Minute:
		return []part{{"windows_1m", begin, minutes}, {"windows", minutes, end}}
	}
	return []part{{"windows", begin, end}}
}

func scanWindow(rows *sql.Rows) (win Window, op int64, blobs [3][]byte, err error) {
	var ok, failed, inDoubt, shed, late, bytes int64
	err = rows.Scan(&win.At, &op, &win.Len, &ok, &failed, &inDoubt, &shed, &late, &bytes, &blobs[0], &blobs[1], &blobs[2])
	win.OK, win.Failed, win.InDoubt = uint64(ok), uint64(failed), uint64(inDoubt)
	win.Shed, win.Late, win.Bytes = uint64(shed), uint64(late), uint64(bytes)
	return win, op, blobs, err
}

// gather adds up the rows of one (step, operation) and yields them when the step is over.
type gather struct {
	step  time.Duration
	at    time.Duration
	open  map[int64]*gathered
	yield func(Window) error
	holds func(time.Duration) bool
}

type gathered struct {
	Window
	rows int
}

func (g *gather) add(op int64, win Window, blobs [3][]byte) error {
	for i, h := range []**Hist{&win.Service, &win.Delay, &win.Response} {
		*h = &Hist{}
		if i == 2 && blobs[i] == nil {
			**h = *win.Service.Clone()
			continue
		}
		if err := (*h).UnmarshalBinary(blobs[i]); err != nil {
			return err
		}
	}
	at := floor(win.At, g.step)
	if at != g.at {
		if err := g.give(); err != nil {
			return err
		}
		g.at = at
	}
	if g.step != Second {
		win.At, win.Len = at, g.step
	}
	if !g.holds(win.At) {
		return nil
	}
	acc := g.open[op]
	if acc == nil {
		g.open[op] = &gathered{win, 1}
		return nil
	}
	acc.rows++
	acc.merge(&win)
	return nil
}

// give yields what is open; the windows of one step and operation are one now.
func (g *gather) give() error {
	ids := make([]int64, 0, len(g.open))
	for id := range g.open {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(a, b) })
	for _, id := range ids {
		acc := g.open[id]
		if acc.rows > 1 {
			acc.Service, acc.Delay, acc.Response = acc.Service.Clone(), acc.Delay.Clone(), acc.Response.Clone()
		}
		if err := g.yield(acc.Window); err != nil {
			return err
		}
	}
	clear(g.open)
	return nil
}
