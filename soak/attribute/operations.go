package attribute

import (
	"slices"
	"time"

	"nightshift/soak/record"
)

// recentSpan is what "recent" columns look back on.
const recentSpan = 10 * time.Second

// sums collects the windows of one operation.
type sums struct {
	Operation
	service, delay, response, recent *record.Hist
	recentOK                         uint64
}

func newSums(k opKey) *sums {
	return &sums{Operation: Operation{Workload: k.workload, Op: k.op, Size: k.size},
		service: record.NewHist(), delay: record.NewHist(), response: record.NewHist(), recent: record.NewHist()}
}

func (s *sums) add(w record.Window) {
	s.OK, s.Failed, s.InDoubt = s.OK+w.OK, s.Failed+w.Failed, s.InDoubt+w.InDoubt
	s.Shed, s.Late, s.Bytes = s.Shed+w.Shed, s.Late+w.Late, s.Bytes+w.Bytes
	s.service.Merge(w.Service)
	s.delay.Merge(w.Delay)
	s.response.Merge(w.Response)
}

func (s *sums) merge(o *sums) {
	s.add(record.Window{OK: o.OK, Failed: o.Failed, InDoubt: o.InDoubt, Shed: o.Shed, Late: o.Late, Bytes: o.Bytes,
		Service: o.service, Delay: o.delay, Response: o.response})
	s.recent.Merge(o.recent)
	s.recentOK += o.recentOK
}

// finish computes the figures. recent is how much of the load the recent columns saw.
func (s *sums) finish(load, recent time.Duration) Operation {
	s.Count, s.Over = s.OK+s.Failed+s.InDoubt, s.response.Over()
	s.Mean, s.Max = s.response.Mean(), s.response.Max()
	s.P50, s.P95, s.P99, s.P999 = s.response.Quantile(.5), s.response.Quantile(.95), s.response.Quantile(.99), s.response.Quantile(.999)
	s.ServiceMean, s.ServiceP50, s.ServiceP99 = s.service.Mean(), s.service.Quantile(.5), s.service.Quantile(.99)
	s.DelayP99 = s.delay.Quantile(.99)
	s.RecentMean = s.recent.Mean()
	if load > 0 {
		s.TPS = float64(s.OK) / load.Seconds()
	}
	if recent > 0 {
		s.RecentTPS = float64(s.recentOK) / recent.Seconds()
	}
	return s.Operation
}

// operations sums windows from the begin of the load to drained. A long middle comes from rollups.
func operations(r *record.Reader, load Span, drained time.Duration) (ops, workloads []Operation, err error) {
	if load.Len() == 0 {
		return nil, nil, nil
	}
	all := map[opKey]*sums{}
	of := func(w record.Window) *sums {
		k := opKey{w.Workload, w.Op, w.Size}
		if all[k] == nil {
			all[k] = newSums(k)
		}
		return all[k]
	}
	for _, q := range segments(load.From, drained) {
		if err := r.Windows(q, func(w record.Window) error { of(w).add(w); return nil }); err != nil {
			return nil, nil, err
		}
	}
	recent := Span{From: max(load.From, load.To-recentSpan), To: load.To}
	q := record.WindowQuery{Span: record.Span(recent), Step: record.Second}
	err = r.Windows(q, func(w record.Window) error {
		s := of(w)
		s.recent.Merge(w.Response)
		s.recentOK += w.OK
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	ops, workloads = rows(all, load.Len(), recent.Len())
	return ops, workloads, nil
}

// rows finishes every operation, and sums them per workload and size.
func rows(all map[opKey]*sums, load, recent time.Duration) (ops, workloads []Operation) {
	keys := make([]opKey, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	total := map[opKey]*sums{}
	var order []opKey
	for _, k := range keys {
		w := opKey{workload: k.workload, size: k.size}
		if total[w] == nil {
			total[w] = newSums(w)
			order = append(order, w)
		}
		total[w].merge(all[k])
		ops = append(ops, all[k].finish(load, recent))
	}
	slices.SortFunc(order, compareKeys)
	for _, w := range order {
		workloads = append(workloads, total[w].finish(load, recent))
	}
	return ops, workloads
}

// segments covers [from, to) with queries: whole quarters of an hour where the span has any, minutes and
// seconds at the edges. Up to an hour is read by seconds.
func segments(from, to time.Duration) []record.WindowQuery {
	if to-from <= time.Hour {
		return []record.WindowQuery{{Span: record.Span{From: from, To: to}, Step: record.Second}}
	}
	cuts := []struct{ at, step time.Duration }{
		{from, record.Second}, {ceil(from, record.Minute), record.Minute}, {ceil(from, record.Quarter), record.Quarter},
		{to / record.Quarter * record.Quarter, record.Minute}, {to / record.Minute * record.Minute, record.Second},
	}
	var qs []record.WindowQuery
	for i, c := range cuts {
		end := to
		if i+1 < len(cuts) {
			end = cuts[i+1].at
		}
		if end > c.at {
			qs = append(qs, record.WindowQuery{Span: record.Span{From: c.at, To: end}, Step: c.step})
		}
	}
	return qs
}

func ceil(d, step time.Duration) time.Duration { return (d + step - 1) / step * step }
