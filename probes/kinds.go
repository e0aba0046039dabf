package probes

import (
	"fmt"
	"time"

	"nightshift/soak/config"
)

// Info describes a kind of probe for help, check and docs.
type Info struct {
	Kind    string        `json:"kind"`
	Purpose string        `json:"purpose"`
	Cost    string        `json:"cost"`             // what one sample takes from the host and the servers
	System  string        `json:"system,omitempty"` // the system it fits; empty: any
	Every   time.Duration `json:"every"`            // default interval
	Params  []Param       `json:"params,omitempty"` // its own parameters
}

// Param is one parameter of a kind.
type Param struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Purpose string `json:"purpose"`
}

// kind is a row of the table: how a spec is read and how its probe is made.
type kind struct {
	Info
	perNode bool // takes a target although it fits any system
	decode  func(config.Node) (shared, any, config.Problems)
	build   func(Spec, Env) (Probe, error)
}

// none is for kinds without parameters of their own.
type none struct{}

func row[P any](i Info, perNode bool, defaults P, build func(Spec, Env, P) (Probe, error)) kind {
	return kind{
		Info:    i,
		perNode: perNode,
		decode: func(n config.Node) (shared, any, config.Problems) {
			item := struct {
				Common shared `yaml:",inline"`
				Own    P      `yaml:",inline"`
			}{Common: shared{Every: i.Every}, Own: defaults}
			ps := n.Decode(&item)
			return item.Common, item.Own, ps
		},
		build: func(s Spec, env Env) (Probe, error) {
			own := defaults
			if err := params(s, &own); err != nil {
				return nil, err
			}
			return build(s, env, own)
		},
	}
}

// table lists every kind, in the order in which help prints them.
func table() []kind {
	return []kind{
		row(filesInfo(), true, none{}, newFiles),
		row(filesystemInfo(), true, none{}, newFilesystem),
		row(hostInfo(), false, hostDefaults(), newHost),
		row(processInfo(), true, none{}, newProcess),
		row(mntrInfo(), true, none{}, newMntr),
		row(serverLogInfo(), true, none{}, newServerLog),
		row(gcInfo(), true, gcDefaults(), newGC),
		row(testerInfo(), false, testerDefaults(), newTester),
	}
}

// Kinds are the probes there are.
func Kinds() []Info {
	var is []Info
	for _, k := range table() {
		is = append(is, k.Info)
	}
	return is
}

func find(word string) (kind, bool) {
	for _, k := range table() {
		if k.Kind == word {
			return k, true
		}
	}
	return kind{}, false
}

// Default is what runs when a plan has no probes section: every kind, on all targets. What needs more than
// the client address of a server is optional, because a foreign ensemble may not give it.
func Default() []Spec {
	var specs []Spec
	for _, k := range table() {
		specs = append(specs, Spec{Kind: k.Kind, Every: k.Every, Optional: k.perNode})
	}
	return specs
}

// New makes the probe of a spec. It fails on a spec that Decode would refuse; what is missing on this host
// shows in the samples.
func New(s Spec, env Env) (Probe, error) {
	k, ok := find(s.Kind)
	if !ok {
		return nil, fmt.Errorf("make probe %q: there is no such kind", s.Kind)
	}
	p, err := k.build(s, env)
	if err != nil {
		return nil, fmt.Errorf("make probe %s: %w", s.Kind, err)
	}
	return p, nil
}
