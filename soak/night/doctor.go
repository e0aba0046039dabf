package night

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"nightshift/faults"
	"nightshift/soak/lab"
)

// Ability is one thing that a host can do or not.
type Ability struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Text   string `json:"text"`
	Needed string `json:"needed"` // for what
}

// Doctor looks at what this host can do. It changes nothing.
func Doctor(ctx context.Context) []Ability {
	out := []Ability{
		program(ctx, "java", "labs of real servers", "apt-get install openjdk-17-jre-headless", "-version"),
		program(ctx, "mvn", "labs: fetches the servers once, later they are cached", "apt-get install maven", "-v"),
		cgroupAbility(), pressureAbility(),
	}
	for _, k := range faults.Kinds() {
		a := Ability{Name: "fault " + k.Kind, OK: true, Text: "available", Needed: k.Doc}
		if err := k.Available(); err != nil {
			a.OK, a.Text = false, err.Error()
		}
		out = append(out, a)
	}
	return out
}

func program(ctx context.Context, name, needed, install string, arg string) Ability {
	a := Ability{Name: name, Needed: needed}
	path, err := exec.LookPath(name)
	if err != nil {
		a.Text = "not found; install it with: " + install
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, arg).CombinedOutput()
	if err != nil {
		a.Text = fmt.Sprintf("%s %s: %v", path, arg, err)
		return a
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	a.OK, a.Text = true, strings.TrimSpace(stripColours(string(line)))
	return a
}

// stripColours removes the escape sequences that Maven prints even into a pipe.
func stripColours(s string) string {
	var b strings.Builder
	in := false
	for _, r := range s {
		switch {
		case r == 0x1b:
			in = true
		case in && r == 'm':
			in = false
		case !in:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func cgroupAbility() Ability {
	a := Ability{Name: "cgroup v2", Needed: "a cgroup for each lab server, so that its traffic can be told apart"}
	dir, err := lab.CgroupParent()
	if err != nil {
		a.Text = err.Error()
		return a
	}
	a.OK, a.Text = true, "below "+dir
	return a
}

func pressureAbility() Ability {
	a := Ability{Name: "/proc/pressure", Needed: "evidence that the host itself was short of processor, memory or disk"}
	_, err := os.ReadFile("/proc/pressure/io")
	switch {
	case errors.Is(err, os.ErrNotExist):
		a.Text = "this kernel was started without psi=1"
	case err != nil:
		a.Text = err.Error()
	default:
		a.OK, a.Text = true, "readable"
	}
	return a
}
