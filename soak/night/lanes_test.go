package night

import "testing"

// TestProbesOfAPlanWithoutAny: on servers of our own a probe that sees nothing is a hole in the evidence; an existing
// ensemble may not give more than its client address.
func TestProbesOfAPlanWithoutAny(t *testing.T) {
	for _, c := range []struct {
		target   []string
		required bool
	}{{nil, true}, {[]string{"zookeeper=localhost:2181"}, false}} {
		a, err := assemble(Options{Plan: "quickstart", Target: c.target})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range a.probeSpecs() {
			if p.Kind == "zookeeper/files" {
				found = true
				if p.Optional == c.required {
					t.Errorf("--target %v: %+v", c.target, p)
				}
			}
		}
		if !found {
			t.Errorf("--target %v: no probe of files", c.target)
		}
	}
}
