package faults

import (
	"fmt"
	"strings"

	"nightshift/soak/config"
)

// Info says what a kind of fault is and makes it.
type Info struct {
	Kind   string  `json:"kind"`
	Class  string  `json:"class"` // the resource it takes: one fault of a class at a time
	Doc    string  `json:"doc"`   // one line
	Params []Param `json:"params,omitempty"`

	Available func() error                                  `json:"-"` // nil, or ErrUnavailable with the reason why it can't run on this host
	Decode    func(n config.Node) (Params, config.Problems) `json:"-"` // reads `with:` of the plan
	New       func(h Host) Fault                            `json:"-"`
}

// Param describes one key of `with:`.
type Param struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// ClassProcess is the class of faults on the process of a server.
const ClassProcess = "process"

// Kinds lists every kind of fault that is wired, in the order in which they are listed to the user.
func Kinds() []Info {
	return []Info{
		{
			Kind: "kill", Class: ClassProcess,
			Doc:       "SIGKILL to the server; after the hold its owner starts it again",
			Available: pidfdWorks, Decode: noParams,
			New: func(h Host) Fault { return Kill{host: h} },
		},
		{
			Kind: "pause", Class: ClassProcess,
			Doc:       "SIGSTOP to the server; after the hold SIGCONT",
			Available: pidfdWorks, Decode: noParams,
			New: func(h Host) Fault { return Pause{host: h} },
		},
	}
}

// find is the Info of a kind among kinds; the error lists what there is.
func find(kinds []Info, kind string) (Info, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		if k.Kind == kind {
			return k, nil
		}
		names[i] = k.Kind
	}
	return Info{}, fmt.Errorf("no fault is called %q; there are %s", kind, strings.Join(names, ", "))
}

// Find is the Info of a kind; the error lists the kinds there are.
func Find(kind string) (Info, error) { return find(Kinds(), kind) }

// noParams is the Decode of a kind that has no parameters.
func noParams(n config.Node) (Params, config.Problems) {
	if n.IsZero() {
		return nil, nil
	}
	var none struct{}
	return nil, n.Decode(&none)
}
