package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// writer turns batches of events into transactions. It belongs to one goroutine.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	stmt map[string]*sql.Stmt
	open bool // inside a transaction

	ops     map[opKey]*opState
	rolls   rollups
	samples samples
	slow    slowBatch
	end     time.Duration // begin of the newest window or sample: it closes minutes
}

type opKey struct {
	workload, op string
	size         int
}

// opState is what the writer holds of one operation: its newest window, as the next one may be of the same second.
type opState struct {
	id   int64
	row  int64
	last Window
}

func newWriter(path string, run Run) (*writer, error) {
	db, conn, err := openConn(dsn(path, "", writerPragmas...))
	if err != nil {
		return nil, err
	}
	w := &writer{
		db: db, conn: conn, stmt: map[string]*sql.Stmt{},
		ops: map[opKey]*opState{}, rolls: newRollups(), samples: newSamples(),
	}
	err = createSchema(context.Background(), conn)
	w.open = true
	if err == nil {
		err = w.putEvent(run)
	}
	if err == nil {
		err = w.exec("COMMIT")
	}
	if err != nil {
		w.abandon()
		return nil, err
	}
	w.open = false
	return w, nil
}

// exec runs a statement that is prepared once.
func (w *writer) exec(query string, args ...any) error {
	_, err := w.execID(query, args...)
	return err
}

func (w *writer) execID(query string, args ...any) (int64, error) {
	ctx := context.Background()
	stmt := w.stmt[query]
	if stmt == nil {
		var err error
		if stmt, err = w.conn.PrepareContext(ctx, query); err != nil {
			return 0, err
		}
		w.stmt[query] = stmt
	}
	res, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// commit writes one batch in one transaction; the last one also folds what is open.
func (w *writer) commit(batch []Event, last bool) error {
	if len(batch) == 0 && !last {
		return nil
	}
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.open = true
	for _, e := range batch {
		if err := w.put(e); err != nil {
			return err
		}
	}
	if err := errors.Join(w.putSlow(), w.roll(last), w.putSamples(last)); err != nil {
		return err
	}
	w.open = false
	return w.exec("COMMIT")
}

func (w *writer) put(e Event) error {
	switch e := e.(type) {
	case Window:
		return w.putWindow(e)
	case SlowOp:
		op, err := w.op(opKey{e.Workload, e.Op, e.Size})
		if err != nil {
			return err
		}
		w.slow.add(op.id, e)
		return nil
	case Series:
		return w.putSample(e)
	default:
		return w.putEvent(e)
	}
}

// putEvent writes an event of a rare type. What can't be written down becomes a note, as no event may vanish silently.
func (w *writer) putEvent(e Event) error {
	at, until, key, known := place(e)
	text, err := json.Marshal(e)
	if err == nil && !known {
		err = errors.New("type unknown to the record")
	}
	if err != nil {
		return w.putEvent(Note{Stamp: Stamp{At: w.end}, Lane: "record", Level: "error", Text: fmt.Sprintf("drop event %T: %v", e, err)})
	}
	return w.exec("INSERT INTO events (kind, at, until, key, json) VALUES (?, ?, ?, ?, ?)",
		string(e.Kind()), int64(at), int64(max(at, until)), key, string(text))
}

// place is where an event of a rare type stands on the time line, and what it is about.
func place(e Event) (at, until time.Duration, key string, known bool) {
	switch e := e.(type) {
	case Run:
		return 0, 0, e.ID, true
	case Phase:
		return e.At, 0, e.Name, true
	case Node:
		return e.At, 0, e.ID, true
	case Fault:
		return e.At, 0, e.ID, true
	case Evidence:
		return e.At, e.To, e.Class, true
	case Purge:
		return e.At, e.To, e.Node, true
	case File:
		return e.At, 0, e.Node, true
	case Finding:
		return e.From, e.To, e.Code, true
	case Note:
		return e.At, 0, e.Code, true
	}
	return 0, 0, "", false
}

// op is the state of an operation, which is written down when it is met first.
func (w *writer) op(k opKey) (*opState, error) {
	if s := w.ops[k]; s != nil {
		return s, nil
	}
	id, err := w.execID("INSERT INTO ops (workload, op, size) VALUES (?, ?, ?)", k.workload, k.op, k.size)
	if err != nil {
		return nil, err
	}
	s := &opState{id: id}
	w.ops[k] = s
	return s, nil
}

// close copies the log back, so that one file is the whole record, also while a reader is at work: then an
// empty log stays beside it. Only a reader in the middle of a query keeps the log full.
func (w *writer) close() error {
	w.closeStmts()
	ctx := context.Background()
	_, err := w.conn.ExecContext(ctx, "PRAGMA busy_timeout = 0")
	if err == nil {
		_, err = w.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err == nil {
		// A finished record is one file, which readers leave alone. While somebody reads it, it stays as it is.
		_, _ = w.conn.ExecContext(ctx, "PRAGMA journal_mode = DELETE")
	}
	return errors.Join(err, w.conn.Close(), w.db.Close())
}

// abandon ends a writer that failed; its errors would hide the one that counts.
func (w *writer) abandon() {
	w.closeStmts()
	if w.open {
		_, _ = w.conn.ExecContext(context.Background(), "ROLLBACK")
	}
	_, _ = w.conn.Close(), w.db.Close()
}

func (w *writer) closeStmts() {
	for _, s := range w.stmt {
		_ = s.Close() // a failed statement says again what it failed with
	}
}
