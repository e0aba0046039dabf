package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"nightshift/soak/config"
)

// millis prints a latency in ms with the digits that matter.
func millis(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// took prints a duration with its unit, to three digits or so.
func took(d time.Duration) string {
	switch {
	case d < 9950*time.Microsecond:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.0fms", float64(d)/1e6)
	case d < 9995*time.Millisecond:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	s := int(d.Round(time.Second).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// whole prints a length of time to the second, or to the minute when it is hours.
func whole(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return took(d)
}

func tookPtr(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	return took(*d)
}

// clock prints an offset as m:ss or h:mm:ss.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

func percent(v float64) string { return fmt.Sprintf("%.0f%%", v*100) }

func tps(v float64) string { return fmt.Sprintf("%.1f", v) }

func number[T int | uint64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// signed prints a growth in bytes.
func signed(v float64) string {
	sign := "+"
	if v < 0 {
		sign = "-"
	}
	return sign + config.Bytes(math.Abs(v)).String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

// plural prints a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// list joins what there is.
func list(sep string, parts ...string) string {
	var some []string
	for _, s := range parts {
		if s != "" {
			some = append(some, s)
		}
	}
	return strings.Join(some, sep)
}
