package probes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/disk"
	"github.com/shirou/gopsutil/v3/load"
	"github.com/shirou/gopsutil/v3/mem"
	"github.com/shirou/gopsutil/v3/net"

	"nightshift/soak/config"
	"nightshift/soak/record"
)

func hostInfo() Info {
	return Info{
		Kind:    "host",
		Purpose: "processor, memory, load, disks, network of this host, and how long tasks waited for them (/proc/pressure)",
		Cost:    "reads a dozen small files of /proc and /sys: about 1 ms of processor time",
		Every:   time.Second,
		Params: []Param{{
			Name: "pressure", Default: "20%",
			Purpose: "a sample in which some task waited for a resource longer than this share is evidence",
		}},
	}
}

type hostParams struct {
	Pressure share `yaml:"pressure" json:"pressure"`
}

// share is written in JSON as it is in YAML.
type share struct{ config.Percent }

// MarshalText writes 20%.
func (s share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func hostDefaults() hostParams { return hostParams{Pressure: share{0.2}} }

// host looks at the machine that nightshift runs on; in a lab that is the servers' too. Rates are of the
// span since the last sample, so the first one gives none.
type host struct {
	env      Env
	pressure *pressure
	before   *counters
}

func newHost(_ Spec, env Env, own hostParams) (Probe, error) {
	return &host{env: env, pressure: newPressure(env, float64(own.Pressure.Percent))}, nil
}

// Name implements Probe.
func (p *host) Name() string { return "host" }

// counters are what rates are made of.
type counters struct {
	at    time.Duration
	cpu   cpu.TimesStat
	disks map[string]disk.IOCountersStat
	nets  map[string]net.IOCountersStat
}

// Sample implements Probe.
func (p *host) Sample(ctx context.Context) ([]Reading, error) {
	ctx = context.WithValue(ctx, common.EnvKey, common.EnvMap{common.HostProcEnvKey: p.env.proc()})
	at := p.env.Clock.Now()
	now, err := readCounters(ctx, at)
	errs := []error{err}
	rs, err := p.levels(ctx, at)
	errs = append(errs, err)
	if now != nil && p.before != nil && at > p.before.at {
		rs = append(rs, rates(p.before, now)...)
	}
	if now != nil {
		p.before = now
	}
	more, err := p.pressure.sample(at)
	return append(rs, more...), errors.Join(append(errs, err)...)
}

func readCounters(ctx context.Context, at time.Duration) (*counters, error) {
	times, err := cpu.TimesWithContext(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("read processor times: %w", err)
	}
	if len(times) == 0 {
		return nil, errors.New("read processor times: /proc/stat has none")
	}
	disks, err := disk.IOCountersWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("read disk counters: %w", err)
	}
	nics, err := net.IOCountersWithContext(ctx, true)
	if err != nil {
		return nil, fmt.Errorf("read network counters: %w", err)
	}
	c := &counters{at: at, cpu: times[0], disks: disks, nets: map[string]net.IOCountersStat{}}
	for _, n := range nics {
		c.nets[n.Name] = n
	}
	return c, nil
}

// levels are what needs no earlier sample.
func (p *host) levels(ctx context.Context, at time.Duration) ([]Reading, error) {
	var rs []Reading
	one := func(name, unit string, v float64) {
		rs = append(rs, record.Series{Stamp: record.Stamp{At: at}, Name: "host." + name, Unit: unit, Value: v})
	}
	var errs []error
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		one("memory.total", "By", float64(m.Total))
		one("memory.available", "By", float64(m.Available))
		one("memory.dirty", "By", float64(m.Dirty))
		one("memory.writeback", "By", float64(m.WriteBack))
	} else {
		errs = append(errs, fmt.Errorf("read memory: %w", err))
	}
	if l, err := load.AvgWithContext(ctx); err == nil {
		one("load1", "1", l.Load1)
	} else {
		errs = append(errs, fmt.Errorf("read load: %w", err))
	}
	return rs, errors.Join(errs...)
}

func rates(a, b *counters) []Reading {
	var rs []Reading
	at := record.Stamp{At: b.at}
	secs := (b.at - a.at).Seconds()
	one := func(name, unit string, v float64) {
		rs = append(rs, record.Series{Stamp: at, Name: "host." + name, Unit: unit, Value: v})
	}
	if total := sum(b.cpu) - sum(a.cpu); total > 0 {
		idle := (b.cpu.Idle + b.cpu.Iowait) - (a.cpu.Idle + a.cpu.Iowait)
		one("cpu", "%", 100*min(1, max(0, 1-idle/total)))
		one("cpu.iowait", "%", 100*max(0, b.cpu.Iowait-a.cpu.Iowait)/total)
		one("cpu.steal", "%", 100*max(0, b.cpu.Steal-a.cpu.Steal)/total)
	}
	for _, name := range slices.Sorted(maps.Keys(b.disks)) {
		was, ok := a.disks[name]
		is := b.disks[name]
		if !ok || is.WriteCount+is.ReadCount == 0 || strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") {
			continue
		}
		one("disk."+name+".read", "By/s", delta(is.ReadBytes, was.ReadBytes)/secs)
		one("disk."+name+".written", "By/s", delta(is.WriteBytes, was.WriteBytes)/secs)
		one("disk."+name+".busy", "%", min(100, delta(is.IoTime, was.IoTime)/10/secs)) // IoTime is in ms
	}
	var in, out, loop float64
	for name, is := range b.nets {
		was, ok := a.nets[name]
		switch {
		case !ok:
		case name == "lo":
			loop += delta(is.BytesRecv, was.BytesRecv)
		default:
			in += delta(is.BytesRecv, was.BytesRecv)
			out += delta(is.BytesSent, was.BytesSent)
		}
	}
	one("net.received", "By/s", in/secs)
	one("net.sent", "By/s", out/secs)
	one("net.loopback", "By/s", loop/secs)
	return rs
}

// sum is all processor time. Guest times are in User and Nice already.
func sum(t cpu.TimesStat) float64 {
	return t.User + t.System + t.Idle + t.Nice + t.Iowait + t.Irq + t.Softirq + t.Steal
}

// delta of a counter; one that goes back (a device came back) counts from zero.
func delta(now, before uint64) float64 {
	if now < before {
		return float64(now)
	}
	return float64(now - before)
}
