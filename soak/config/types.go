package config

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Problem is one thing wrong in a plan file.
type Problem struct {
	Line, Column int    // 1-based; 0 when it has no place in the file
	Path         string // "workloads[0].rate"
	Text         string
}

func (p Problem) String() string {
	s := p.Text
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Line > 0 {
		s = fmt.Sprintf("%d:%d: %s", p.Line, p.Column, s)
	}
	return s
}

// Problems is everything wrong, in order of place.
type Problems []Problem

// Error lists one problem a line.
func (ps Problems) Error() string {
	sort.SliceStable(ps, func(i, j int) bool {
		return ps[i].Line < ps[j].Line || ps[i].Line == ps[j].Line && ps[i].Column < ps[j].Column
	})
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err is nil when there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Bytes is a size: a plain number, or with a unit as in 64KiB, 20MB, 1.5GiB.
type Bytes int64

var byteUnits = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// ParseBytes reads a size.
func ParseBytes(s string) (Bytes, error) {
	num, factor := strings.TrimSpace(s), 1.0
	for _, u := range byteUnits {
		if strings.HasSuffix(num, u.suffix) {
			num, factor = strings.TrimSpace(strings.TrimSuffix(num, u.suffix)), u.factor
			break
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || v < 0 || v*factor > 1<<62 {
		return 0, fmt.Errorf("%q is not a size; write it as 4096, 64KiB or 20GB", s)
	}
	return Bytes(v * factor), nil
}

// UnmarshalText reads a size.
func (b *Bytes) UnmarshalText(t []byte) (err error) { *b, err = ParseBytes(string(t)); return err }

func (b Bytes) String() string {
	v, unit := float64(b), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	return strconv.FormatFloat(v, 'f', min(1, len(unit)-1), 64) + " " + unit
}

// Rate is operations per time, as in 500/s or 30/m; "max" (Freq 0) is a closed loop.
type Rate struct {
	Freq float64
	Per  time.Duration
}

// Closed says that there is no schedule: the next operation follows the last.
func (r Rate) Closed() bool { return r.Freq == 0 }

// PerSecond is the rate in operations a second.
func (r Rate) PerSecond() float64 {
	if r.Per == 0 {
		return 0
	}
	return r.Freq / r.Per.Seconds()
}

// UnmarshalText reads a rate.
func (r *Rate) UnmarshalText(t []byte) error {
	s := strings.TrimSpace(string(t))
	if s == "max" {
		*r = Rate{}
		return nil
	}
	bad := fmt.Errorf("%q is not a rate; write it as 500/s, 30/m, 10/h, or max for a closed loop", s)
	num, unit, ok := strings.Cut(s, "/")
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	v, err := strconv.ParseFloat(num, 64)
	if !ok || per == 0 || err != nil || v <= 0 || v > 1e9 {
		return bad
	}
	*r = Rate{Freq: v, Per: per}
	return nil
}

// MarshalText writes the rate as it is read.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r Rate) String() string {
	if r.Closed() {
		return "max"
	}
	unit := map[time.Duration]string{time.Second: "s", time.Minute: "m", time.Hour: "h"}[r.Per]
	return strconv.FormatFloat(r.Freq, 'g', -1, 64) + "/" + unit
}

// Percent is a share, 0..1 inside, written as 20%.
type Percent float64

// UnmarshalText reads a percentage.
func (p *Percent) UnmarshalText(t []byte) error {
	s := strings.TrimSpace(string(t))
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err == nil && !strings.HasSuffix(s, "%") {
		err = errors.New("no %")
	}
	if err != nil || v < 0 || v > 100 {
		return fmt.Errorf("%q is not a percentage; write it as 20%%", s)
	}
	*p = Percent(v / 100)
	return nil
}

func (p Percent) String() string { return strconv.FormatFloat(float64(p)*100, 'g', 4, 64) + "%" }
