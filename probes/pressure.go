package probes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nightshift/soak/record"
)

// pressure reads /proc/pressure, the kernel's account of how long tasks waited for a resource. It uses the
// totals (microseconds) and not the averages: avg10 says nothing of a single second.
type pressure struct {
	env    Env
	share  float64 // of a sample, above which it is evidence
	before map[string]uint64
	at     time.Duration
	off    bool // this kernel has none; said once
}

func newPressure(env Env, share float64) *pressure { return &pressure{env: env, share: share} }

// sample gives shares of the span since the last one. A kernel without PSI is no error: the host probe has
// the rest.
func (p *pressure) sample(at time.Duration) ([]Reading, error) {
	if p.off {
		return nil, nil
	}
	now := map[string]uint64{}
	for _, res := range []string{"cpu", "io", "memory"} {
		b, err := os.ReadFile(p.env.proc("pressure", res))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EOPNOTSUPP) {
			p.off = true
			return []Reading{record.Note{
				Stamp: record.Stamp{At: at}, Lane: "host", Level: "info",
				Text: "pressure is not available on this kernel (no /proc/pressure, or booted with psi=0)",
			}}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read pressure: %w", err)
		}
		for _, kind := range []string{"some", "full"} {
			total, err := pressureTotal(b, kind)
			if err != nil {
				return nil, fmt.Errorf("read pressure of %s: %w", res, err)
			}
			now[res+"."+kind] = total
		}
	}
	rs := p.compare(now, at)
	p.before, p.at = now, at
	return rs, nil
}

func (p *pressure) compare(now map[string]uint64, at time.Duration) []Reading {
	span := at - p.at
	if p.before == nil || span <= 0 {
		return nil
	}
	var rs []Reading
	for _, res := range []string{"cpu", "io", "memory"} {
		for _, kind := range []string{"some", "full"} {
			key := res + "." + kind
			waited := time.Duration(delta(now[key], p.before[key])) * time.Microsecond
			share := min(1, waited.Seconds()/span.Seconds())
			rs = append(rs, record.Series{
				Stamp: record.Stamp{At: at}, Name: "host.pressure." + key, Unit: "%", Value: 100 * share,
			})
			if kind == "some" && share > p.share {
				rs = append(rs, record.Evidence{
					Stamp: record.Stamp{At: p.at}, To: at, Class: record.ClassPressure,
					Magnitude: waited.Seconds(), Unit: "s",
					Text: fmt.Sprintf("the host was short of %s: tasks waited for it for %s of %s", res, round(waited), round(span)),
				})
			}
		}
	}
	return rs
}

// pressureTotal is the total of the line "some ..." or "full ..." in microseconds. Kernels before 5.13 have
// no "full" line for cpu: that is zero.
func pressureTotal(b []byte, kind string) (uint64, error) {
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) == 0 || f[0] != kind {
			continue
		}
		for _, kv := range f[1:] {
			if v, ok := strings.CutPrefix(kv, "total="); ok {
				return strconv.ParseUint(v, 10, 64)
			}
		}
		return 0, fmt.Errorf("line %q has no total", strings.TrimSpace(string(line)))
	}
	if kind == "full" {
		return 0, nil
	}
	return 0, fmt.Errorf("no %q line", kind)
}
