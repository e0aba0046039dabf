// Package zookeeper tames the go-zookeeper client: own deadlines, small buffers, bounded dials, plain types.
//
// What the library does by itself and a load generator can't live with, and where it is tamed:
//
//   - 3 MiB of buffers a connection: Options.Buffer (client.go).
//   - A server that accepts and does not answer holds the handshake for several session timeouts: link.go.
//   - Calls know no context and no deadline: call.go. What is given up on is counted and capped.
//   - Every client dials as often as it likes: gate.go.
//   - Session events are dropped when nobody reads them: events.go counts every one and never blocks.
//   - Watches that are re-armed after a reconnect get lost when they don't fit into the send buffer: watch.go.
//   - Close can leave the connection open and pinging: close.go.
//   - A line on the standard logger per failed dial: log.go.
//
// No type of the library appears in an exported signature.
//
// To add an operation: a code and a case in call.go, a method in client.go, a row in the tests of deadlines.
package zookeeper
