package attribute

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"nightshift/soak/record"
)

// What a growth rate needs, and at most uses.
const (
	minSlopePoints = 10
	minSlopeSpan   = 30 * time.Second
	maxSlopePoints = 240
)

// disks reads the series "<system>.files.<kind>.<bytes|allocated|count>" of every node.
func (a *Analysis) disks(r *record.Reader) error {
	keys, err := r.SeriesKeys("")
	if err != nil {
		return err
	}
	byID := map[[3]string]*Disk{}
	for _, k := range keys {
		system, kind, what, ok := fileSeries(k.Name)
		if !ok {
			continue
		}
		ps, err := r.Samples(k, record.Span{})
		if err != nil {
			return err
		}
		id := [3]string{system, k.Node, kind}
		if byID[id] == nil {
			byID[id] = &Disk{System: system, Node: k.Node, Kind: kind}
		}
		byID[id].take(what, ps, a.Load)
	}
	for _, d := range byID {
		a.Disks = append(a.Disks, *d)
	}
	slices.SortFunc(a.Disks, func(x, y Disk) int {
		return cmp.Or(cmp.Compare(x.System, y.System), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Kind, y.Kind))
	})
	return nil
}

func fileSeries(name string) (system, kind, what string, ok bool) {
	system, rest, ok := strings.Cut(name, ".files.")
	if !ok {
		return "", "", "", false
	}
	i := strings.LastIndexByte(rest, '.')
	if i <= 0 {
		return "", "", "", false
	}
	return system, rest[:i], rest[i+1:], true
}

// take puts one series into the disk. Values before the load count for the last one only.
func (d *Disk) take(what string, ps []record.Point, load Span) {
	if len(ps) == 0 {
		return
	}
	last := ps[len(ps)-1].Value
	inside := slices.DeleteFunc(slices.Clone(ps), func(p record.Point) bool { return p.At < load.From || p.At >= load.To })
	first, peak := last, last
	for i, p := range inside {
		if i == 0 {
			first = p.Value
		}
		peak = max(peak, p.Value)
	}
	switch what {
	case "count":
		d.Files = int(last)
	case "bytes":
		d.Bytes, d.PeakBytes, d.FirstBytes = int64(last), int64(peak), int64(first)
	case "allocated":
		d.Allocated, d.PeakAlloc, d.FirstAlloc = int64(last), int64(peak), int64(first)
		if n := len(inside); n >= minSlopePoints && inside[n-1].At-inside[0].At >= minSlopeSpan {
			d.GrowthFrom, d.GrowthTo, d.Judged = inside[0].At, inside[n-1].At, true
			d.PerHour = theilSen(thin(inside, maxSlopePoints)) * time.Hour.Seconds()
		}
	}
}

// thin cuts points to at most n by taking the median of each run of neighbours.
func thin(ps []record.Point, n int) []record.Point {
	if len(ps) <= n {
		return ps
	}
	out := make([]record.Point, 0, n)
	for i := range n {
		part := ps[i*len(ps)/n : (i+1)*len(ps)/n]
		values := make([]float64, len(part))
		for j, p := range part {
			values[j] = p.Value
		}
		out = append(out, record.Point{At: part[len(part)/2].At, Value: median(values)})
	}
	return out
}

// theilSen is the median slope over all pairs, in value per second: a few wild points don't move it.
func theilSen(ps []record.Point) float64 {
	var slopes []float64
	for i, p := range ps {
		for _, q := range ps[i+1:] {
			if dt := (q.At - p.At).Seconds(); dt > 0 {
				slopes = append(slopes, (q.Value-p.Value)/dt)
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	return median(slopes)
}

// median of values; it sorts them.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// diskPerOp is what all nodes wrote to keep, purged or not, per acknowledged operation.
func (a *Analysis) diskPerOp() float64 {
	var grown, ops float64
	for _, d := range a.Disks {
		grown += float64(d.Allocated - d.FirstAlloc)
	}
	for _, p := range a.Purges {
		grown += float64(p.Freed)
	}
	for _, o := range a.Workloads {
		ops += float64(o.OK)
	}
	if len(a.Disks) == 0 || ops == 0 || grown < 0 {
		return 0
	}
	return grown / ops
}

// fileChanges sums what appeared and vanished.
func fileChanges(files []record.File) []FileChange {
	byID := map[[2]string]*FileChange{}
	for _, f := range files {
		id := [2]string{f.Node, f.Type}
		c := byID[id]
		if c == nil {
			c = &FileChange{Node: f.Node, Type: f.Type}
			byID[id] = c
		}
		switch f.Change {
		case "created":
			c.Created, c.CreatedBytes = c.Created+1, c.CreatedBytes+f.Bytes
		case "removed":
			c.Removed, c.RemovedBytes = c.Removed+1, c.RemovedBytes+f.Bytes
		}
	}
	out := make([]FileChange, 0, len(byID))
	for _, c := range byID {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(x, y FileChange) int { return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.Type, y.Type)) })
	return out
}

// self reads what the tool itself cost.
func (a *Analysis) self(r *record.Reader) error {
	keys, err := r.SeriesKeys("self.")
	if err != nil {
		return err
	}
	for _, k := range keys {
		ps, err := r.Samples(k, record.Span{})
		if err != nil {
			return err
		}
		if len(ps) == 0 {
			continue
		}
		var sum, top float64
		for _, p := range ps {
			sum, top = sum+p.Value, max(top, p.Value)
		}
		last := ps[len(ps)-1].Value
		switch k.Name {
		case "self.cpu":
			a.Self.CPU, a.Self.CPUMax, a.Self.CPUUnit = sum/float64(len(ps)), top, k.Unit
		case "self.rss":
			a.Self.RSS, a.Self.RSSMax = int64(last), int64(top)
		case "self.written":
			a.Self.Written = int64(last)
		}
	}
	return nil
}
