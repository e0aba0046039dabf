// Package zookeeper tames the go-zookeeper client: own deadlines, small buffers, bounded dials, plain types.
package zookeeper
