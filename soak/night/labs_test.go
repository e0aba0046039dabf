package night

import (
	"errors"
	"strings"
	"testing"
)

func TestLabsThatCanNotBe(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, o := range map[string]LabOptions{
		"a name that leads out":  {Name: "../../x", Nodes: 1},
		"no name":                {Name: "", Nodes: 1},
		"two nodes":              {Name: "lab", Nodes: 2},
		"a number that is none":  {Name: "lab", Nodes: 1, Set: []string{"snapCount=abc"}},
		"a setting with a typo":  {Name: "lab", Nodes: 1, Set: []string{"snapCoutn=5"}},
		"a setting without =":    {Name: "lab", Nodes: 1, Set: []string{"snapCount"}},
		"what the lab chooses":   {Name: "lab", Nodes: 1, Set: []string{"clientPort=5"}},
		"a version never tested": {Name: "lab", Nodes: 1, Version: "1.0"},
	} {
		if s, err := o.spec(); !errors.Is(sorted(err), ErrUsage) {
			t.Errorf("%s: %v, %v", name, s.Dir, err)
		}
	}
	for _, set := range []string{"snapCount=1000", "zookeeper.snapCoutn=5", "maxClientCnxns=5", "syncEnabled=false", "fsync.warningthresholdms=5", "some.other=x"} {
		s, err := (LabOptions{Name: "lab-2", Nodes: 1, Set: []string{set}}).spec()
		if key, value, _ := strings.Cut(set, "="); err != nil || s.Settings[key] != value {
			t.Errorf("%s: %v %v", set, s.Settings, err)
		}
	}
	if err := LabDown(t.Context(), "../x", ""); !errors.Is(err, ErrUsage) {
		t.Errorf("down: %v", err)
	}
}
