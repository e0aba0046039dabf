package record

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reader reads the record of a live, finished or killed run, without changing it. It is safe for concurrent
// use, and a callback may ask it again.
type Reader struct {
	db   *sql.DB
	path string
	temp string // directory of a copy, removed by Close
}

// Span limits a query to events that begin in [From, To); To 0 is no limit.
type Span struct{ From, To time.Duration }

// limits are From and To for SQL.
func (s Span) limits() (from, to int64) {
	if s.To == 0 {
		return int64(s.From), 1<<63 - 1
	}
	return int64(s.From), int64(s.To)
}

// holds says whether at is in the span.
func (s Span) holds(at time.Duration) bool { return at >= s.From && (s.To == 0 || at < s.To) }

// Run is the record's first event.
func (r *Reader) Run() (Run, error) {
	runs, err := Events[Run](r, Span{})
	if err != nil {
		return Run{}, err
	}
	if len(runs) == 0 {
		return Run{}, fmt.Errorf("read run: %s does not say which run it is of", r.path)
	}
	return runs[0], nil
}

// Events reads all events of one rare type in order of their time: Phase, Node, Fault (every state),
// Evidence, Purge, File, Finding, Note. A Finding stands at its From. Of equal times, what was emitted first comes first.
func Events[T Event](r *Reader, s Span) ([]T, error) {
	var zero T
	switch any(zero).(type) {
	case Window, SlowOp, Series:
		return nil, fmt.Errorf("read %s: ask Windows, SlowOps or Samples for these", zero.Kind())
	}
	from, to := s.limits()
	return readEvents[T](r, "SELECT json FROM events WHERE kind = ? AND at >= ? AND at < ? ORDER BY at, id", string(zero.Kind()), from, to)
}

func readEvents[T Event](r *Reader, query string, args ...any) ([]T, error) {
	var all []T
	err := r.rows(r.db, func(rows *sql.Rows) error {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var e T
		if err := json.Unmarshal(text, &e); err != nil {
			return err
		}
		all = append(all, e)
		return nil
	}, query, args...)
	if err != nil {
		var zero T
		return nil, fmt.Errorf("read %s of %s: %w", zero.Kind(), r.path, err)
	}
	return all, nil
}

// querier is a pool of connections, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rows calls row for each row of a query, until it returns an error.
func (r *Reader) rows(q querier, row func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(context.Background(), query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := row(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// LastFaults is the last state of every fault, in order of injection; a fault that was not injected stands at
// the time of its last state.
func (r *Reader) LastFaults() ([]Fault, error) {
	faults, err := readEvents[Fault](r, "SELECT json FROM events WHERE id IN (SELECT MAX(id) FROM events WHERE kind = 'fault' GROUP BY key) ORDER BY id")
	if err != nil {
		return nil, err
	}
	began := func(f Fault) time.Duration {
		if f.Injected != 0 {
			return f.Injected
		}
		return f.At
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(began(a), began(b)) })
	return faults, nil
}

// SlowOps calls yield for each kept operation in order of its intended start, until it returns an error.
// An operation that was kept for two reasons comes twice.
func (r *Reader) SlowOps(s Span, yield func(SlowOp) error) error {
	if err := r.slowOps(s, yield); err != nil {
		return fmt.Errorf("read slow operations of %s: %w", r.path, err)
	}
	return nil
}

func (r *Reader) slowOps(s Span, yield func(SlowOp) error) error {
	tx, done, err := r.snapshot()
	if err != nil {
		return err
	}
	defer done()
	names, err := r.opNames(tx)
	if err != nil {
		return err
	}
	from, to := s.limits()
	var waiting []SlowOp // sorted; what begins after the next batch does
	give := func(before int64) error {
		n := 0
		for ; n < len(waiting) && int64(waiting[n].At) < before; n++ {
			if err := yield(waiting[n]); err != nil {
				return err
			}
		}
		waiting = append(waiting[:0], waiting[n:]...)
		return nil
	}
	err = r.rows(tx, func(rows *sql.Rows) error {
		var at int64
		var packed []byte
		if err := rows.Scan(&at, &packed); err != nil {
			return err
		}
		ops, err := unpackSlow(packed, func(id uint64) (opKey, bool) { k, ok := names[int64(id)]; return k, ok })
		if err != nil {
			return err
		}
		if err := give(at); err != nil {
			return err
		}
		for _, op := range ops {
			if s.holds(op.At) {
				waiting = append(waiting, op)
			}
		}
		slices.SortStableFunc(waiting, func(a, b SlowOp) int { return cmp.Compare(a.At, b.At) })
		return nil
	}, "SELECT at, ops FROM slow_ops WHERE until >= ? AND at < ? ORDER BY at, id", from, to)
	if err != nil {
		return err
	}
	return give(1<<63 - 1)
}

// opNames are the operations by id.
func (r *Reader) opNames(q querier) (map[int64]opKey, error) {
	names := map[int64]opKey{}
	err := r.rows(q, func(rows *sql.Rows) error {
		var id int64
		var k opKey
		if err := rows.Scan(&id, &k.workload, &k.op, &k.size); err != nil {
			return err
		}
		names[id] = k
		return nil
	}, "SELECT id, workload, op, size FROM ops")
	return names, err
}

// SeriesKeys lists the series whose name begins with prefix, in order of name, node and unit.
func (r *Reader) SeriesKeys(prefix string) ([]SeriesKey, error) {
	var keys []SeriesKey
	err := r.rows(r.db, func(rows *sql.Rows) error {
		var k SeriesKey
		if err := rows.Scan(&k.Name, &k.Node, &k.Unit); err != nil {
			return err
		}
		if strings.HasPrefix(k.Name, prefix) {
			keys = append(keys, k)
		}
		return nil
	}, "SELECT name, node, unit FROM keys ORDER BY name, node, unit")
	if err != nil {
		return nil, fmt.Errorf("read series of %s: %w", r.path, err)
	}
	return keys, nil
}

// Samples reads one series in order of time. A series that is not there has no samples.
func (r *Reader) Samples(k SeriesKey, s Span) ([]Point, error) {
	points, err := r.samples(k, s)
	if err != nil {
		return nil, fmt.Errorf("read samples %s of %s: %w", k.Name, r.path, err)
	}
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.At, b.At) })
	return points, nil
}

func (r *Reader) samples(k SeriesKey, s Span) (points []Point, err error) {
	tx, done, err := r.snapshot()
	if err != nil {
		return nil, err
	}
	defer done()
	id := int64(0)
	err = tx.QueryRow("SELECT id FROM keys WHERE name = ? AND node = ? AND unit = ?", k.Name, k.Node, k.Unit).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var packed []byte
	take := func(p Point) {
		if s.holds(p.At) {
			points = append(points, p)
		}
	}
	from, to := s.limits()
	err = r.rows(tx, func(rows *sql.Rows) error {
		if err := rows.Scan(&packed); err != nil {
			return err
		}
		minute, err := unpackPoints(packed)
		for _, p := range minute {
			take(p)
		}
		return err
	}, "SELECT points FROM series WHERE key = ? AND at < ? AND until >= ? ORDER BY at, id", id, to, from)
	if err != nil {
		return nil, err
	}
	return points, r.rows(tx, func(rows *sql.Rows) error {
		if err := rows.Scan(&packed); err != nil {
			return err
		}
		second, err := unpackTail(packed)
		for _, t := range second {
			if t.key == id {
				take(t.Point)
			}
		}
		return err
	}, "SELECT samples FROM tail ORDER BY id")
}

// snapshot begins a transaction, so that what the writer folds meanwhile is seen once.
func (r *Reader) snapshot() (*sql.Tx, func(), error) {
	tx, err := r.db.BeginTx(context.Background(), nil)
	if err != nil {
		return nil, nil, err
	}
	return tx, func() { _ = tx.Rollback() }, nil // nothing was written
}

// End is the offset of the last thing in the record.
func (r *Reader) End() (time.Duration, error) {
	end := int64(0)
	err := r.rows(r.db, func(rows *sql.Rows) error {
		var packed []byte
		if err := rows.Scan(&packed); err != nil {
			return err
		}
		second, err := unpackTail(packed)
		for _, t := range second {
			end = max(end, int64(t.At))
		}
		return err
	}, "SELECT samples FROM tail")
	for _, q := range []string{
		"SELECT MAX(until) FROM events",
		"SELECT MAX(at + len) FROM windows WHERE at = (SELECT MAX(at) FROM windows)",
		"SELECT MAX(until) FROM slow_ops",
		"SELECT MAX(until) FROM series",
	} {
		var last sql.NullInt64
		if err == nil {
			err = r.db.QueryRow(q).Scan(&last)
		}
		end = max(end, last.Int64)
	}
	if err != nil {
		return 0, fmt.Errorf("read end of %s: %w", r.path, err)
	}
	return time.Duration(end), nil
}
