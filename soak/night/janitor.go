package night

import (
	"time"

	"nightshift/soak/config"
)

// purgeSpec is one item of a plan's janitor list.
type purgeSpec struct {
	Target   string        `yaml:"target"`
	Keep     int           `yaml:"keep"`     // whole snapshots to keep
	Every    time.Duration `yaml:"every"`    // from the begin of one purge to the next
	First    time.Duration `yaml:"first"`    // into the load phase, default Every
	Optional bool          `yaml:"optional"` // nothing purged does not make the run inconclusive
}

func decodeJanitor(n config.Node, targets map[string]*targetSpec) ([]purgeSpec, config.Problems) {
	var specs []purgeSpec
	var ps config.Problems
	if !n.IsZero() && n.Items() == nil {
		return nil, config.Problems{n.Problemf("janitor: expected a list, as in [{target: zk, keep: 3, every: 20s}]")}
	}
	for _, it := range n.Items() {
		s := purgeSpec{}
		ps = append(ps, it.Decode(&s)...)
		if s.First == 0 {
			s.First = s.Every
		}
		switch {
		case targets[s.Target] == nil:
			ps = append(ps, it.Problemf("target %q is none of the plan's targets", s.Target))
		case s.Keep < 1:
			ps = append(ps, it.Problemf("keep must be at least 1: the janitor never deletes the last restart point"))
		case s.Every < time.Second:
			ps = append(ps, it.Problemf("every must be at least 1s"))
		}
		specs = append(specs, s)
	}
	return specs, ps
}
