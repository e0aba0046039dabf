package night

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"nightshift/soak/config"
)

//go:embed plans/*.yaml
var builtin embed.FS

// PlanInfo is one line of the list of built-in plans.
type PlanInfo struct {
	Name    string   `json:"name"`
	Purpose string   `json:"purpose"`
	For     string   `json:"for"`
	Targets []string `json:"targets"`
}

// Plans lists the built-in plans.
func Plans() ([]PlanInfo, error) {
	files, err := fs.Glob(builtin, "plans/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	var infos []PlanInfo
	for _, f := range files {
		src, err := builtin.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("list plans: %w", err)
		}
		root, ps := config.Parse(src)
		var head struct {
			Purpose string        `yaml:"purpose"`
			For     time.Duration `yaml:"for"`
		}
		ps = append(ps, root.Field("purpose").Decode(&head.Purpose)...)
		ps = append(ps, root.Field("for").Decode(&head.For)...)
		if err := ps.Err(); err != nil {
			return nil, fmt.Errorf("read plan %s: %w", f, err)
		}
		infos = append(infos, PlanInfo{Name: planName(f), Purpose: head.Purpose, For: head.For.String(), Targets: systems(root)})
	}
	sort.Slice(infos, func(i, j int) bool { return infos[i].Name < infos[j].Name })
	return infos, nil
}

func systems(root config.Node) []string {
	var out []string
	targets := root.Field("targets")
	for _, name := range targets.Keys() {
		out = append(out, strings.TrimSpace(targets.Field(name).Field("system").String()))
	}
	return out
}

// PlanSource finds a plan by the name of a built-in one, or as a file.
func PlanSource(ref string) (name string, src []byte, err error) {
	if !strings.ContainsAny(ref, "/.") {
		src, err := builtin.ReadFile("plans/" + ref + ".yaml")
		if err == nil {
			return ref, src, nil
		}
	}
	src, err = readPlan(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, usagef("there is no plan %q, neither built in (%s) nor as a file", ref, strings.Join(planNames(), ", "))
	}
	if err != nil {
		return "", nil, usagef("read plan: %w", err)
	}
	return planName(filepath.ToSlash(ref)), src, nil
}

// readPlan reads no more than what config refuses as too long: the file may be a disk, or have no end.
func readPlan(ref string) (src []byte, err error) {
	f, err := os.Open(ref)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, config.MostBytes+1))
}

func planNames() []string {
	files, _ := fs.Glob(builtin, "plans/*.yaml") // the pattern is well formed
	for i, f := range files {
		files[i] = planName(f)
	}
	return files
}

func planName(file string) string { return strings.TrimSuffix(path.Base(file), ".yaml") }
