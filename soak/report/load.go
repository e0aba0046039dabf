package report

import (
	"context"
	"errors"
	"fmt"

	"nightshift/soak/attribute"
	"nightshift/soak/record"
	"nightshift/soak/verdict"
)

// Report is everything that is said about one run.
type Report struct {
	Dir      string
	Analysis attribute.Analysis
	Verdict  verdict.Verdict
}

// Load analyses and judges the record in the run directory dir.
func Load(ctx context.Context, dir string) (rep Report, err error) {
	r, err := record.Open(dir)
	if err != nil {
		return Report{}, fmt.Errorf("open run: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	a, err := attribute.Analyse(ctx, r)
	if err != nil {
		return Report{}, fmt.Errorf("analyse run: %w", err)
	}
	v, err := verdict.Judge(ctx, r, a)
	if err != nil {
		return Report{}, fmt.Errorf("judge run: %w", err)
	}
	return Report{Dir: dir, Analysis: a, Verdict: v}, nil
}
