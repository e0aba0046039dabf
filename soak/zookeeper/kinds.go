package zookeeper

import (
	"context"
	"fmt"
	"net"
	"reflect"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

const system = "zookeeper"

// The kinds of workloads.
const (
	KindEphemeral = "zookeeper/ephemeral"
	KindSetData   = "zookeeper/setdata"
	KindPubSub    = "zookeeper/pubsub"
)

// Env is what a workload works on.
type Env struct {
	Cluster target.Cluster
	Clock   record.Clock
	Seed    soak.Seed
	RunID   string
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP
	Dials   *zkclient.DialGate                                                // shared by all workloads; nil: unbounded
	Emit    record.Emit                                                       // for notes; nil drops them
	Log     func(string)                                                      // lines of the client library; nil drops them
}

// Info describes a kind of workload.
type Info struct {
	Kind    string   `json:"kind"`
	Purpose string   `json:"purpose"`
	Ops     []string `json:"ops"` // operations it records
	Params  []Param  `json:"params"`
}

type kind struct {
	Info
	build func(config.Node, Env) (soak.Workload, config.Problems)
}

func kinds() []kind {
	return []kind{
		{Info{KindEphemeral, "each connection creates and deletes ephemeral nodes under paths of its own",
			[]string{"create", "delete"}, list(reflect.ValueOf(ephemeralDefaults()))}, newEphemeral},
		{Info{KindSetData, "each connection sets the data of paths of its own, and all acknowledged data is read back",
			[]string{"set"}, list(reflect.ValueOf(setDataDefaults()))}, newSetData},
		{Info{KindPubSub, "each path is watched by three sessions and created by one; the time to the event and to the data is taken",
			[]string{"subscribe", "create", "event", "data", "delete"}, list(reflect.ValueOf(pubSubDefaults()))}, newPubSub},
	}
}

// Kinds lists the kinds of workloads with their parameters and defaults.
func Kinds() []Info {
	var all []Info
	for _, k := range kinds() {
		all = append(all, k.Info)
	}
	return all
}

// New makes a workload from its part of the plan. It reaches no server.
func New(kind string, params config.Node, env Env) (soak.Workload, config.Problems) {
	for _, k := range kinds() {
		if k.Kind == kind {
			return k.build(params, env)
		}
	}
	var names []string
	for _, k := range kinds() {
		names = append(names, k.Kind)
	}
	return nil, config.Problems{place(params, "kind").Problemf("unknown workload %q; there are %v", kind, names)}
}

// Requirements is what a workload needs of the host and the servers, for preflight.
type Requirements struct {
	Connections int   // sessions from this host, each a socket: maxClientCnxns, file descriptors
	Nodes       int   // znodes at most at a time
	Rate        int64 // bytes a second that each server writes to its transaction log, about
	Closed      bool  // closed loop: Rate is not known
}

// Sized is implemented by every workload of this package.
type Sized interface{ Requirements() Requirements }

// Require is what w needs; the zero value when w does not say.
func Require(w soak.Workload) Requirements {
	if s, ok := w.(Sized); ok {
		return s.Requirements()
	}
	return Requirements{}
}

// entry is about what a transaction takes in the log beside path and data: checksum, length, header, session,
// and the padding of the file's next block is not counted.
const entry = 80

// requirements of the modifying side; writes is the share of updates that carry the payload.
func (p spec) requirements(dir string, sessions int, writes float64) Requirements {
	perOp := writes*float64(p.size) + float64(len(dir)+len("/w00000/p00000")+entry)
	return Requirements{
		Connections: sessions,
		Nodes:       p.workers * (p.paths + 1),
		Rate:        int64(p.rate.PerSecond() * perOp),
		Closed:      p.rate.Closed(),
	}
}

func (i Info) String() string { return fmt.Sprintf("%s: %s", i.Kind, i.Purpose) }
