package report

import (
	"fmt"
	"slices"
	"time"

	"nightshift/soak/attribute"
)

const faultTitle = "FAULTS (from the injection: first trouble that a client saw, first success after it, back to normal)"

// faults prints one row each, or when there are many a row per kind and then those with something to look at.
func faults(p *page) {
	all := p.r.Analysis.Faults
	if len(all) <= maxRows {
		p.faultRows(faultTitle, all)
		return
	}
	p.faultKinds(all)
	odd := slices.DeleteFunc(slices.Clone(all), func(f attribute.Recovery) bool {
		return remark(f) == "" && f.Bit && f.Healed || f.Unnoticed && f.Error == ""
	})
	shown := odd[:min(len(odd), maxRows)]
	p.faultRows("FAULTS to look at", shown)
	p.more(len(odd)-len(shown), "fault")
}

func (p *page) faultRows(title string, fs []attribute.Recovery) {
	var rows [][]string
	for _, f := range fs {
		if f.Skipped != "" {
			rows = append(rows, []string{clock(f.At), f.Fault.Fault, f.Node, f.Role, "-", "-", "-", "-", "-", "-", cut(remark(f), 70)})
			continue
		}
		at := f.Injected
		if at == 0 {
			at = f.At
		}
		rows = append(rows, []string{clock(at), f.Fault.Fault, f.Node, f.Role, yes(f.Bit), yes(f.Healed),
			held(f), tookPtr(f.Detect), tookPtr(f.FirstSuccess), tookPtr(f.Recovered), cut(remark(f), 70)})
	}
	p.table(title, []string{"at>", "fault", "node", "role?", "bit", "healed", "in effect>", "trouble>", "success>", "recovered>", ""}, rows)
}

// held is how long the fault was in effect: seen to bite to seen healed.
func held(f attribute.Recovery) string {
	if !f.Bit || !f.Healed {
		return "-"
	}
	return took(f.To - f.From)
}

func remark(f attribute.Recovery) string {
	switch {
	case f.Skipped != "":
		return "skipped: " + f.Skipped
	case f.Error != "":
		return f.Error
	case f.Overdue:
		return "not recovered within " + f.Limit.String()
	case f.Unjudged != "":
		return "recovery not judged: " + f.Unjudged
	case f.Unnoticed:
		return "no client noticed"
	}
	return ""
}

// kind sums the faults of one kind.
type kind struct {
	n, bit, healed, skipped, unnoticed int
	detect, success, recovered         []time.Duration
}

func (p *page) faultKinds(all []attribute.Recovery) {
	kinds, order := map[string]*kind{}, []string{}
	for _, f := range all {
		k := kinds[f.Fault.Fault]
		if k == nil {
			k = &kind{}
			kinds[f.Fault.Fault], order = k, append(order, f.Fault.Fault)
		}
		k.add(f)
	}
	var rows [][]string
	for _, name := range order {
		k := kinds[name]
		rows = append(rows, []string{name, fmt.Sprint(k.n), fmt.Sprint(k.bit), fmt.Sprint(k.healed), fmt.Sprint(k.skipped), fmt.Sprint(k.unnoticed),
			median(k.detect), median(k.success), median(k.recovered), longest(k.recovered)})
	}
	p.table("FAULTS by kind (medians, from the injection: first trouble that a client saw, first success after it, back to normal)",
		[]string{"fault", "times>", "bit>", "healed>", "skipped?>", "unnoticed?>", "trouble>", "success>", "recovered>", "slowest>"}, rows)
}

func (k *kind) add(f attribute.Recovery) {
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	count(&k.n, true)
	count(&k.bit, f.Bit)
	count(&k.healed, f.Healed)
	count(&k.skipped, f.Skipped != "")
	count(&k.unnoticed, f.Unnoticed)
	for _, x := range []struct {
		to *[]time.Duration
		d  *time.Duration
	}{{&k.detect, f.Detect}, {&k.success, f.FirstSuccess}, {&k.recovered, f.Recovered}} {
		if x.d != nil {
			*x.to = append(*x.to, *x.d)
		}
	}
}

func median(ds []time.Duration) string {
	if len(ds) == 0 {
		return "-"
	}
	slices.Sort(ds)
	return took(ds[(len(ds)-1)/2])
}

func longest(ds []time.Duration) string {
	if len(ds) == 0 {
		return "-"
	}
	return took(slices.Max(ds))
}
