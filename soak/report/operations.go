package report

import (
	"fmt"

	"nightshift/soak/record"
)

// operations has the columns of the stress report this tool grew from: response is counted from the
// intended start, the mean stands in RspTim.
func operations(p *page) {
	a := p.r.Analysis
	var rows [][]string
	var odd uint64
	for _, o := range a.Operations {
		rows = append(rows, []string{o.Workload, o.Op, fmt.Sprint(o.Size), number(o.Count), tps(o.RecentTPS), tps(o.TPS),
			millis(o.RecentMean), millis(o.Mean), number(o.Failed), number(o.InDoubt), number(o.Shed), number(o.Late)})
		odd += o.InDoubt + o.Shed + o.Late
	}
	p.table("OPERATIONS since warm-up (recent: the last 10 s; sizes in bytes, RspTim in ms)", []string{"workload", "operation", "dataSize>", "totalReq>",
		"recentTPS>", "avgTPS>", "recentRspTim>", "avgRspTim>", "failTotal>", "inDoubt?>", "shed?>", "late?>"}, rows)
	if len(rows) > 0 && odd == 0 {
		p.printf("  none in doubt, shed or late\n")
	}
	for _, n := range a.Notes {
		if n.Code == record.NoteClosedLoop {
			p.printf("  %s: %s\n", n.Lane, n.Text)
		}
	}
	if a.DiskPerOp > 0 {
		p.printf("  disk: %.0f bytes on all nodes together per acknowledged operation\n", a.DiskPerOp)
	}
}

func latencies(p *page) {
	var rows [][]string
	for _, o := range p.r.Analysis.Operations {
		rows = append(rows, []string{o.Workload, o.Op, fmt.Sprint(o.Size), millis(o.P50), millis(o.P95), millis(o.P99),
			millis(o.P999), millis(o.Max), millis(o.ServiceP50), millis(o.ServiceP99), millis(o.DelayP99)})
	}
	p.table("RESPONSE in ms from the intended start, and its two parts: delay until the start, service from there", []string{"workload", "operation",
		"dataSize>", "p50>", "p95>", "p99>", "p99.9>", "max>", "service p50>", "service p99>", "delay p99>"}, rows)
}
