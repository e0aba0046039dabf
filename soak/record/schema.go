package record

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// applicationID marks the file as ours (SQLite's own field for that): "nshf".
const applicationID = 0x6e736866

// schema of Format 1. All times are offsets in ns. A table is only ever appended to, but for tail, where the
// samples of the open minute wait for their fold, and for the newest window of an operation.
//
// Of the stamp of a window or a sample only At is kept: both are of nightshift's own clock.
//
// Several rows of one (at, op) are parts of the same window: a reader adds them up. That is how a
// window that comes late, when its minute has been rolled up, still gets there.
var schema = `
CREATE TABLE meta     (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE events   (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, key TEXT NOT NULL, json TEXT NOT NULL);
CREATE INDEX events_kind ON events (kind, at);
CREATE TABLE ops      (id INTEGER PRIMARY KEY, workload TEXT NOT NULL, op TEXT NOT NULL, size INTEGER NOT NULL, UNIQUE (workload, op, size));
CREATE TABLE keys     (id INTEGER PRIMARY KEY, name TEXT NOT NULL, node TEXT NOT NULL, unit TEXT NOT NULL, UNIQUE (name, node, unit));
CREATE TABLE series   (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, points BLOB NOT NULL);
CREATE INDEX series_key ON series (key, at);
CREATE TABLE tail     (id INTEGER PRIMARY KEY, samples BLOB NOT NULL);
CREATE TABLE slow_ops (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, until INTEGER NOT NULL, ops BLOB NOT NULL);
CREATE INDEX slow_at ON slow_ops (at);
` + windowTables

var windowTables = windowTable("windows") + windowTable("windows_1m") + windowTable("windows_15m")

func windowTable(name string) string {
	return fmt.Sprintf(`
CREATE TABLE %[1]s (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, op INTEGER NOT NULL, len INTEGER NOT NULL,
	ok INTEGER NOT NULL, failed INTEGER NOT NULL, in_doubt INTEGER NOT NULL, shed INTEGER NOT NULL, late INTEGER NOT NULL, bytes INTEGER NOT NULL,
	service BLOB, delay BLOB, response BLOB);
CREATE INDEX %[1]s_at ON %[1]s (at, op);
`, name)
}

// Names in meta: up to where windows are rolled up. Every window that begins before is in that rollup,
// none that begins at it or later is.
const (
	metaMinute  = "windows_1m"
	metaQuarter = "windows_15m"
)

// dsn is the address of the record at path for the driver, with SQLite's own parameters and pragmas for each connection.
func dsn(path, params string, pragmas ...string) string {
	q := url.Values{}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	if params != "" {
		params += "&"
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + params + q.Encode()
}

// pragmas of the writer: a commit survives the death of the process, not a power cut; the file is
// synced when the log is copied back, each 16 MB, so that the record does not load the disks it watches.
var writerPragmas = []string{
	"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)",
	"wal_autocheckpoint(4000)", "journal_size_limit(67108864)", "cache_size(-8000)",
}

func createSchema(ctx context.Context, conn *sql.Conn) error {
	for _, q := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", Format),
		"BEGIN IMMEDIATE", schema,
		"INSERT INTO meta VALUES ('" + metaMinute + "', 0), ('" + metaQuarter + "', 0)",
	} {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("create tables: %w", err)
		}
	}
	return nil
}
