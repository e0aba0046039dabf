package report

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

// Report is everything that is said about one run.
type Report struct {
	Dir      string
	Size     int64 // of the record on disk
	Analysis attribute.Analysis
	Verdict  verdict.Verdict
}

// ErrNoRun says that a directory holds no record that can be opened.
var ErrNoRun = errors.New("no run")

// noRun is an error of opening that keeps its own text.
type noRun struct{ error }

func (e noRun) Unwrap() []error { return []error{ErrNoRun, e.error} }

// Load analyses and judges the record in the run directory dir. live says whether the process of a run without
// an end is still there; nil: it is not. An error that is ErrNoRun says that there is no record to read.
func Load(ctx context.Context, dir string, live func(record.Run) bool) (rep Report, err error) {
	r, err := record.Open(dir)
	if err != nil {
		return Report{}, noRun{err}
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	a, err := attribute.Analyse(ctx, r)
	if err != nil {
		return Report{}, err
	}
	a.Live = a.Ended == "" && live != nil && live(a.Run)
	v, err := verdict.Judge(ctx, r, a)
	if err != nil {
		return Report{}, err
	}
	rep = Report{Dir: dir, Analysis: a, Verdict: v}
	for _, suffix := range []string{"", "-wal"} {
		if fi, serr := os.Stat(filepath.Join(dir, record.FileName+suffix)); serr == nil {
			rep.Size += fi.Size()
		}
	}
	return rep, nil
}
