package soak

import (
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"

	"nightshift/soak/config"
)

// PlanVersion is the version of the plan format that this build reads.
const PlanVersion = 1

// Plan is a plan file. What belongs to a room stays a part of the YAML that the room decodes itself.
type Plan struct {
	Version   int           `yaml:"nightshift"`
	Name      string        `yaml:"name"`
	Purpose   string        `yaml:"purpose"`
	Seed      Seed          `yaml:"seed"`
	For       time.Duration `yaml:"for"`    // warm-up and load together
	Warmup    time.Duration `yaml:"warmup"` // load that is not judged, default a tenth of For, at most 30s
	Drain     time.Duration `yaml:"drain"`  // how long outstanding operations may take to end, default 30s
	Params    config.Node   `yaml:"params"`
	Targets   config.Node   `yaml:"targets"`
	Workloads config.Node   `yaml:"workloads"`
	Faults    config.Node   `yaml:"faults"`
	Probes    config.Node   `yaml:"probes"`
	Janitor   config.Node   `yaml:"janitor"`
	Expect    config.Node   `yaml:"expect"`

	Root config.Node `yaml:"-"` // the whole plan as it runs: overrides, length and seed fixed
}

// Overrides come from the command line.
type Overrides struct {
	For  time.Duration // 0: as the plan says
	Seed *Seed
	Set  []string                     // "knob=value" or "path=value"
	Edit func(root config.Node) error // further changes, made last; nil: none
}

// ErrOverride is an override that fits nothing in the plan: wrong usage, not a wrong plan.
type ErrOverride struct{ Text string }

func (e ErrOverride) Error() string { return e.Text }

var knob = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// LoadPlan reads a plan file. The error is config.Problems with everything that is wrong, or ErrOverride. Beside
// config.Problems the plan is there as far as it could be read, or nil: the rooms may find more in their parts.
func LoadPlan(name string, src []byte, o Overrides) (*Plan, error) {
	root, sets, err := substitute(src, o.Set)
	if err != nil {
		return nil, err
	}
	if len(root.Keys()) == 0 {
		return nil, config.Problems{root.Problemf("expected keys and values, as in `nightshift: %d`", PlanVersion)}
	}
	for _, s := range sets {
		path, value, _ := strings.Cut(s, "=")
		if err := root.Set(path, value); err != nil {
			return nil, ErrOverride{Text: err.Error()}
		}
	}
	if o.For > 0 {
		if err := root.Set("for", o.For.String()); err != nil {
			return nil, ErrOverride{Text: err.Error()}
		}
	}
	if o.Edit != nil {
		if err := o.Edit(root); err != nil {
			return nil, err
		}
	}
	if err := fixSeed(root, o.Seed); err != nil {
		return nil, err
	}
	p := &Plan{Name: name, Drain: 30 * time.Second, Root: root}
	ps := root.Decode(p)
	ps = append(ps, p.validate(root)...)
	if root.Field("warmup").IsZero() {
		p.Warmup = min(p.For/10, 30*time.Second)
	}
	return p, ps.Err()
}

// fixSeed writes the seed into the plan, so that the run can be repeated.
func fixSeed(root config.Node, seed *Seed) error {
	if seed == nil {
		if !root.Field("seed").IsZero() {
			return nil
		}
		var b [4]byte
		if _, err := crand.Read(b[:]); err != nil {
			return fmt.Errorf("draw a seed: %w", err)
		}
		s := Seed(binary.BigEndian.Uint32(b[:]))
		seed = &s
	}
	if err := root.Set("seed", fmt.Sprint(uint64(*seed))); err != nil {
		return ErrOverride{Text: err.Error()}
	}
	return nil
}

func (p *Plan) validate(root config.Node) config.Problems {
	var ps config.Problems
	at := func(key string) config.Node {
		if f := root.Field(key); !f.IsZero() {
			return f
		}
		return root
	}
	if p.Version != PlanVersion {
		ps = append(ps, at("nightshift").Problemf("the plan must say `nightshift: %d`, the format this build reads", PlanVersion))
	}
	if p.For <= 0 {
		ps = append(ps, at("for").Problemf("the plan must say how long it runs, as in `for: 2m`"))
	}
	if p.Warmup < 0 || p.For > 0 && p.Warmup >= p.For {
		ps = append(ps, at("warmup").Problemf("warmup must be shorter than for"))
	}
	if p.Drain <= 0 {
		ps = append(ps, at("drain").Problemf("drain must be longer than 0"))
	}
	if len(p.Targets.Keys()) == 0 {
		ps = append(ps, at("targets").Problemf("the plan names no target"))
	}
	return ps
}

// Load is the length of the load phase.
func (p *Plan) Load() time.Duration { return p.For - p.Warmup }

// substitute puts the values of the plan's knobs in place of ${knob}, and returns the overrides that are paths.
func substitute(src []byte, sets []string) (config.Node, []string, error) {
	raw, ps := config.Parse(src)
	if err := ps.Err(); err != nil {
		return config.Node{}, nil, err
	}
	if raw.IsZero() {
		return config.Node{}, nil, config.Problems{{Text: "the plan is empty"}}
	}
	values := map[string]string{}
	ps = raw.Field("params").Decode(&values)
	if err := ps.Err(); err != nil {
		return config.Node{}, nil, err
	}
	var paths []string
	for _, s := range sets {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return config.Node{}, nil, ErrOverride{Text: fmt.Sprintf("--set %s: write it as path=value", s)}
		}
		if _, known := values[key]; !known {
			paths = append(paths, s)
			continue
		}
		if strings.ContainsAny(value, "\r\n") {
			return config.Node{}, nil, ErrOverride{Text: fmt.Sprintf("--set %s: a knob's value is one line", key)}
		}
		values[key] = value
		paths = append(paths, "params."+key+"="+value)
	}
	text, err := replace(string(src), values)
	if err != nil {
		return config.Node{}, nil, err
	}
	root, ps := config.Parse([]byte(text))
	return root, paths, ps.Err()
}

func replace(src string, values map[string]string) (string, error) {
	var ps config.Problems
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		for _, m := range knob.FindAllStringSubmatchIndex(line, -1) {
			name := line[m[2]:m[3]]
			if _, ok := values[name]; !ok {
				ps = append(ps, config.Problem{Line: i + 1, Column: m[0] + 1,
					Text: fmt.Sprintf("${%s} is not one of the plan's params (%s)", name, strings.Join(names, ", "))})
			}
		}
		lines[i] = knob.ReplaceAllStringFunc(line, func(s string) string { return values[s[2:len(s)-1]] })
	}
	return strings.Join(lines, "\n"), ps.Err()
}
