package zookeeper

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"nightshift/soak/config"
)

// maxSize is the largest payload: a server refuses requests over jute.maxbuffer, 1 MiB less one byte by default.
const maxSize = 1<<20 - 4<<10

// params are the keys that all kinds have.
type params struct {
	Kind    string        `yaml:"kind"`
	Target  string        `yaml:"target" help:"name of the target"`
	Name    string        `yaml:"name" help:"name in reports and of the directory on the target"`
	Paths   int           `yaml:"paths" help:"paths of each modifying connection"`
	Size    config.Bytes  `yaml:"size" help:"payload of a node"`
	Rate    config.Rate   `yaml:"rate" help:"updates of the whole workload; max is a closed loop"`
	Count   uint64        `yaml:"count" help:"end after so many updates, 0 when the run ends"`
	Timeout time.Duration `yaml:"timeout" help:"deadline of one operation"`
	Session time.Duration `yaml:"session" help:"session timeout"`
	MaxLate time.Duration `yaml:"max_late" help:"an update that can't start within this of its time is shed; 0 is twice the timeout"`
}

// loadParams are the keys of ephemeral and setdata.
type loadParams struct {
	params      `yaml:",inline"`
	Connections int `yaml:"connections" help:"sessions, each with paths of its own"`
}

// pubsubParams are the keys of pubsub.
type pubsubParams struct {
	params         `yaml:",inline"`
	Publishers     int           `yaml:"publishers" help:"modifying sessions; each has 3 subscribing ones"`
	GetAfterNotify bool          `yaml:"get_after_notify" help:"subscribers read the data after each event"`
	EventTimeout   time.Duration `yaml:"event_timeout" help:"an event later than this after the create is looked into; 0 is session + timeout"`
	Rounds         uint64        `yaml:"rounds" help:"end after so many rounds of subscribe, create, delete; 0 when the run ends"`
}

func defaults(kind string) params {
	return params{
		Kind: kind, Paths: 5, Size: 1024, Rate: config.Rate{Freq: 100, Per: time.Second},
		Timeout: 5 * time.Second, Session: 10 * time.Second,
	}
}

// spec is what the workloads run by, checked.
type spec struct {
	kind, name string
	workers    int // modifying sessions
	paths      int
	size       int
	rate       config.Rate
	count      uint64
	timeout    time.Duration
	session    time.Duration
	maxLate    time.Duration
}

func (p params) spec(workers int) spec {
	s := spec{
		kind: p.Kind, name: p.Name, workers: workers, paths: p.Paths, size: int(p.Size), rate: p.Rate,
		count: p.Count, timeout: p.Timeout, session: p.Session, maxLate: p.MaxLate,
	}
	if s.name == "" {
		s.name = strings.ReplaceAll(p.Kind, "/", ".")
	}
	if s.maxLate == 0 {
		s.maxLate = 2 * p.Timeout
	}
	return s
}

// part is what may stand as one component of a path on the target.
var part = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

func (p params) check(n config.Node) config.Problems {
	var ps config.Problems
	bad := func(wrong bool, key, format string, args ...any) {
		if wrong {
			ps = append(ps, place(n, key).Problemf(format, args...))
		}
	}
	bad(p.Name != "" && !part.MatchString(p.Name), "name", "%q can't be a directory on the target; use letters, digits, dots, dashes", p.Name)
	bad(p.Paths < 1 || p.Paths > 1_000_000, "paths", "must be from 1 to 1000000, not %d", p.Paths)
	bad(p.Size < HeaderSize, "size", "must be at least %d bytes: each payload carries a header of that size, which the checks need", HeaderSize)
	bad(p.Size > maxSize, "size", "must be at most %d bytes: a server refuses requests of more than 1 MiB (jute.maxbuffer)", maxSize)
	bad(p.Timeout < time.Millisecond, "timeout", "must be at least 1ms, not %s", p.Timeout)
	bad(p.Session < time.Second, "session", "must be at least 1s, not %s: a server gives no shorter one than 2 ticks", p.Session)
	bad(p.MaxLate < 0, "max_late", "must not be negative")
	return ps
}

// place is the value of key, or all of n where it is absent.
func place(n config.Node, key string) config.Node {
	if f := n.Field(key); !f.IsZero() {
		return f
	}
	return n
}

func count(n config.Node, key string, v int) config.Problems {
	if v >= 1 && v <= 100_000 {
		return nil
	}
	return config.Problems{place(n, key).Problemf("must be from 1 to 100000, not %d", v)}
}

// Param is one key of a kind of workload.
type Param struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Help    string `json:"help"`
}

// list reads the keys of a kind and their defaults off its struct.
func list(v reflect.Value) []Param {
	var all []Param
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			all = append(all, list(v.Field(i))...)
			continue
		}
		if help := f.Tag.Get("help"); help != "" {
			all = append(all, Param{Name: f.Tag.Get("yaml"), Default: fmt.Sprint(v.Field(i).Interface()), Help: help})
		}
	}
	return all
}
