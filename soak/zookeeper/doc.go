// Package zookeeper holds the workloads that load a ZooKeeper ensemble, and their checks.
//
//	kind                  operations                                 what must hold
//	zookeeper/ephemeral   create, delete                             an acknowledged create or delete is seen by the next operation of its session
//	zookeeper/setdata     set                                        each path holds the last acknowledged value, or a later one that was sent
//	zookeeper/pubsub      subscribe, create, event, data, delete     a watch that was acknowledged fires once when its node is created
//
// Everything lives under <prefix>/<run id>/<workload>/w<worker>/p<path>; Clean and Sweep remove that and nothing else.
//
// Rates count updates, the creates, deletes and sets of all modifying sessions together. An open loop has a fixed
// schedule: latency counts from the time an operation was due, what is behind goes out at once, what is more than
// max_late behind is shed and counted. One session has one operation at a time. "event" runs from the create to the
// notification, "data" from the create to the end of the read that follows it; each is counted once per subscriber.
//
// Findings, one of each code per workload, with the number of cases and the first of them as evidence:
//
//	code             severity  meaning
//	write-lost       fail      an acknowledged create, delete or set had no effect, or was undone
//	data-wrong       fail      data was read that was damaged, or never written to that path
//	watch-missed     fail      a node was created and a subscriber that could read it got no event
//	watch-duplicate  fail      an event came before its create was sent
//	left-over        fail      a node stayed after its session was closed, or could not be removed
//	watch-late       info      an event came after event_timeout
//	watch-unproven   info      an event did not come, and no server answered the question why
//	recovered        info      a write in doubt had taken effect
//
// What rests on which promise of ZooKeeper: a session's requests take effect in the order sent, also across servers
// (an old server's are refused as "session moved"), hence the next answer settles what is in doubt. An ephemeral
// node lives as long as its session, hence a missing one is lost only if the session id is still the same. A client
// gets an event before any answer that shows what caused it, hence an event is missed only if its subscriber has
// read the node on one connection. A watch is not promised to fire for a node that came and went
// while its session was cut off.
//
// To add a workload: one file with its parameters (defaults in a struct with `yaml` and `help` tags), a constructor
// that only decodes and checks, and a type that embeds *crew and implements soak.Workload, soak.Cleaner (crew has it)
// and Sized; a line in kinds; a test against lab/zkstub in which each damage it claims to find is planted.
package zookeeper
