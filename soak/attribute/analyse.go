package attribute

import (
	"context"

	"nightshift/soak/record"
)

// Analyse reads the whole record. It fails only when the record can't be read.
func Analyse(ctx context.Context, r *record.Reader) (Analysis, error) { panic("contract") }
