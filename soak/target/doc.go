// Package target describes systems under test as plain data: clusters, nodes, processes, and the socket of their owner.
package target
