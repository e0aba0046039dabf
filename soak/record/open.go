package record

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// Open opens the record in the run directory dir. The error is fs.ErrNotExist where there is none.
//
// A record is read where it lies, also beside its writer. Where that directory can't be written to,
// a finished record is read as it is; of a killed run, whose newest part is still in the log, a copy in the
// directory for temporary files is read.
func Open(dir string) (*Reader, error) {
	path := filepath.Join(dir, FileName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open record: no %s in %s, is it a run directory?: %w", FileName, dir, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	if info.Size() == 0 && logSize(path) == 0 {
		return nil, fmt.Errorf("open record: %s is empty, its run ended before it began", path)
	}
	r, err := openAt(path, "mode=ro")
	if err == nil || !lacksIndex(err) {
		return r, err
	}
	if logSize(path) == 0 {
		return openAt(path, "mode=ro&immutable=1")
	}
	return openCopy(path)
}

func logSize(path string) int64 {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// openAt opens the file with parameters of SQLite and checks that it is a record this program understands.
func openAt(path, params string) (*Reader, error) {
	db, err := sql.Open("sqlite", dsn(path, params, "busy_timeout(10000)", "query_only(1)"))
	if err != nil {
		return nil, fmt.Errorf("open record %s: %w", path, err)
	}
	db.SetMaxIdleConns(1)
	var id, format int64
	if err = db.QueryRow("PRAGMA application_id").Scan(&id); err == nil {
		err = db.QueryRow("PRAGMA user_version").Scan(&format)
	}
	switch {
	case code(err) == sqlitelib.SQLITE_NOTADB || err == nil && id != applicationID:
		err = fmt.Errorf("open record: %s was not written by nightshift", path)
	case err != nil:
		err = fmt.Errorf("open record %s: %w", path, err)
	case format > Format:
		err = fmt.Errorf("open record: %s has format %d and this nightshift reads up to %d, use the one that wrote it or a newer one", path, format, Format)
	default:
		return &Reader{db: db, path: path}, nil
	}
	return nil, errors.Join(err, db.Close())
}

// openCopy reads a copy of a killed run's record, as its log can't be read without a place to write
// an index of it.
func openCopy(path string) (*Reader, error) {
	fail := func(err error) error {
		return fmt.Errorf("open record: %s has a log that can't be read where it lies (read-only or full), copy %s and %s-wal to another directory: %w", path, FileName, FileName, err)
	}
	temp, err := os.MkdirTemp("", "nightshift-record-")
	if err != nil {
		return nil, fail(err)
	}
	to := filepath.Join(temp, FileName)
	for _, suffix := range []string{"", "-wal"} {
		if err = copyFile(to+suffix, path+suffix); err != nil {
			return nil, fail(errors.Join(err, os.RemoveAll(temp)))
		}
	}
	r, err := openAt(to, "mode=ro")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	r.path, r.temp = path, temp
	return r, nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close(), out.Close())
}

// Close releases the file.
func (r *Reader) Close() error {
	err := r.db.Close()
	if r.temp != "" {
		err = errors.Join(err, os.RemoveAll(r.temp))
	}
	if err != nil {
		return fmt.Errorf("close record %s: %w", r.path, err)
	}
	return nil
}

// code is SQLite's primary result code, 0 for other errors.
func code(err error) int {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// lacksIndex says that SQLite could not make the index of the log beside the file: a place that is read-only or full.
func lacksIndex(err error) bool {
	switch code(err) {
	case sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_IOERR:
		return true
	}
	return false
}
