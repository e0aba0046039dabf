package probes

import (
	"testing"
	"time"
)

func TestLogTime(t *testing.T) {
	t.Parallel()
	nine := time.Date(2026, 11, 30, 21, 0, 0, 123e6, time.UTC)
	for _, c := range []struct {
		line string
		want time.Time
		rest string
	}{
		{"2026-11-30 21:00:00,123 [myid:1] - INFO", nine, " [myid:1] - INFO"},
		{"2026-11-30T21:00:00.123Z INFO", nine, " INFO"},
		{"2026-11-30T22:00:00.123+0100", nine, ""},
		{"2026-11-30T22:30:00.123+01:30 x", nine, " x"},
		{"2026-11-30T16:00:00.123-0500][info]", nine, "][info]"},
	} {
		got, rest, ok := logTime(c.line)
		if !ok || !got.Equal(c.want) || rest != c.rest {
			t.Errorf("%q: %v %q %v", c.line, got, rest, ok)
		}
	}
	for _, line := range []string{
		"", "java.io.IOException: x", "2026-11-30 21:00:00", "2026-13-30 21:00:00,123 x", "2026-11-30 25:00:00,123 x",
		"2026-11-30 21:00:00,12x y", "2026-11-30T21:00:00.123456 x", "2026-11-30T21:00:00.123+1 x",
	} {
		if got, _, ok := logTime(line); ok {
			t.Errorf("%q: %v", line, got)
		}
	}
}
