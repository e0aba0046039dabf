package night

import (
	"fmt"
	"io"

	"nightshift/faults"
	"nightshift/faults/guardian"
)

// Guardian is the body of the hidden command that undoes faults when the tool has died.
func Guardian(journal string) error { return guardian.Serve(journal) }

// FaultInfo is one line of `fault list`.
type FaultInfo struct {
	Kind      string         `json:"kind"`
	Class     string         `json:"class"`
	Available bool           `json:"available"`
	Reason    string         `json:"reason"`
	Purpose   string         `json:"purpose"`
	Params    []faults.Param `json:"params"`
}

// Faults lists every kind with whether it can run here.
func Faults() []FaultInfo {
	out := []FaultInfo{}
	for _, k := range faults.Kinds() {
		i := FaultInfo{Kind: k.Kind, Class: k.Class, Purpose: k.Doc, Available: true, Params: k.Params}
		if err := k.Available(); err != nil {
			i.Available, i.Reason = false, err.Error()
		}
		out = append(out, i)
	}
	return out
}

func sayTo(w io.Writer) func(string) {
	return func(s string) { _, _ = fmt.Fprintln(w, s) } // a closed terminal must not stop the healing
}
