// Package verdict judges a run from its record and analysis alone: built-in rules (rules.go) that hold
// without any expectation written, and the plan's own expectations (expect.go).
//
// # Order
//
// aborted beats fail beats inconclusive beats pass. An aborted run keeps its failures among the reasons:
// it was not judged to the end, but what it lost is lost. No evidence is never a pass.
//
// # Expectations
//
//	expect:
//	  - {expr: 'zookeeper.ephemeral.p99 < duration("250ms")', except: [faults], over: 10s, after: warmup}
//
// expr is an expression of the expr language that gives true or false. over cuts the load phase into
// spans, one after the other, and every one must hold; without it there is one span, the whole load
// phase. except leaves out the seconds of faults (until recovered), purges or spikes; a span that keeps
// less than half of its seconds is not looked at. after is warmup (the default) or how long after the
// begin of the load. When nothing is left to look at, or more spans say nothing than hold, the expectation is
// inconclusive.
//
// Metrics of a workload, or of one operation of it (zookeeper.ephemeral.p99, zookeeper.ephemeral.create.p99);
// the name is the workload's with dots, other signs than letters and digits written as _:
//
//	p50 p95 p99 p999 max mean   response times; no operation in a span means that the span says nothing
//	tps                         acknowledged operations a second
//	ok failed in_doubt shed late counts; where nothing was wanted, only ok says something
//	error_rate                  (failed + in_doubt) / all, 0..1
//
// Metrics of the whole run:
//
//	faults.count faults.bit faults.healed faults.skipped faults.recovered_max (duration)
//	purges.count purges.removed purges.freed
//	spikes.count spikes.unknown spikes.longest (duration)
//	disk.<node>.<kind>.bytes .allocated .files .peak (bytes) .per_hour (allocated bytes)
//	self.cpu self.rss
//
// To add a metric: metrics.go, and this list. To add a built-in rule: rules.go, and a case in its table test.
package verdict
