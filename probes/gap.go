package probes

import (
	"errors"
	"fmt"
)

// ErrUnavailable says that a probe can't look here, and that trying again will not help: the host or the
// server lacks something. The wrapped text is the reason.
var ErrUnavailable = errors.New("not available")

// Gap is an error about one node: it gave nothing in this sample, while others may have.
type Gap struct {
	Node string // empty: the whole probe
	Err  error
}

func (g Gap) Error() string {
	if g.Node == "" {
		return g.Err.Error()
	}
	return g.Node + ": " + g.Err.Error()
}

// Unwrap makes errors.Is see the cause.
func (g Gap) Unwrap() error { return g.Err }

// gaps takes an error of Sample apart. An error that names no node is about the whole probe.
func gaps(err error) []Gap {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var gs []Gap
		for _, e := range many.Unwrap() {
			gs = append(gs, gaps(e)...)
		}
		return gs
	}
	var g Gap
	if errors.As(err, &g) {
		return []Gap{g}
	}
	return []Gap{{Err: err}}
}

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnavailable, fmt.Sprintf(format, args...))
}
