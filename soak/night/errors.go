package night

import (
	"errors"
	"fmt"

	"nightshift/janitor"
	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/lab"
)

// What went wrong, as far as it decides the exit code. Everything else is an internal error.
var (
	ErrUsage       = errors.New("wrong usage or invalid plan")
	ErrUnavailable = errors.New("not available")
)

// kindError is an error of one of the kinds above that keeps its own text.
type kindError struct {
	kind, err error
}

func (e kindError) Error() string   { return e.err.Error() }
func (e kindError) Unwrap() []error { return []error{e.kind, e.err} }

// Refusedf is an error of preflight: the run must not start like this.
func refusedf(format string, args ...any) error {
	return kindError{ErrUnavailable, fmt.Errorf(format, args...)}
}

func usagef(format string, args ...any) error {
	return kindError{ErrUsage, fmt.Errorf(format, args...)}
}

// sorted gives an error of another room its kind.
func sorted(err error) error {
	var ps config.Problems
	var o soak.ErrOverride
	switch {
	case err == nil, errors.Is(err, ErrUsage), errors.Is(err, ErrUnavailable):
		return err
	case errors.As(err, &ps), errors.As(err, &o), errors.Is(err, janitor.ErrWrongUse):
		return kindError{ErrUsage, err}
	case errors.Is(err, lab.ErrUnavailable):
		return kindError{ErrUnavailable, err}
	}
	return err
}
