package config

import (
	"strings"
	"testing"
	"time"
)

type item struct {
	Kind  string        `yaml:"kind"`
	Rate  Rate          `yaml:"rate"`
	Size  Bytes         `yaml:"size"`
	Hold  time.Duration `yaml:"hold"`
	Count int           `yaml:"count"`
	Raw   Node          `yaml:"raw"`
}

type doc struct {
	Name  string            `yaml:"name"`
	Share Percent           `yaml:"share"`
	On    bool              `yaml:"on"`
	Items []item            `yaml:"items"`
	Tags  map[string]string `yaml:"tags"`
	Sub   *item             `yaml:"sub"`
}

const good = `name: night
share: 20%
on: true
items:
  - {kind: a, rate: 500/s, size: 64KiB, hold: 3s, count: 7, raw: {x: [1, 2]}}
  - kind: b
    rate: max
tags: {version: 1.10, snapCount: 1000}
sub: {kind: c}
`

func parse(t *testing.T, src string) Node {
	t.Helper()
	n, ps := Parse([]byte(src))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDecode(t *testing.T) {
	d := doc{Items: nil}
	if err := parse(t, good).Decode(&d).Err(); err != nil {
		t.Fatal(err)
	}
	a := d.Items[0]
	if d.Name != "night" || d.Share != 0.2 || !d.On || a.Rate.PerSecond() != 500 || a.Size != 65536 ||
		a.Hold != 3*time.Second || a.Count != 7 || !d.Items[1].Rate.Closed() || d.Sub.Kind != "c" {
		t.Fatalf("decoded %+v", d)
	}
	if d.Tags["version"] != "1.10" {
		t.Fatalf("a version lost its digits: %q", d.Tags["version"])
	}
	var raw struct {
		X []int `yaml:"x"`
	}
	if err := a.Raw.Decode(&raw).Err(); err != nil || len(raw.X) != 2 {
		t.Fatalf("raw part: %v %v", raw, err)
	}
}

func TestAllProblemsAtOnceWithTheirPlace(t *testing.T) {
	src := `name: [1]
shar: 20%
items:
  - {kind: a, rate: fast, size: -3, hold: 5, count: x}
tags: 3
`
	var d doc
	ps := parse(t, src).Decode(&d)
	got := ps.Error()
	for _, want := range []string{
		"1:7: name: expected one value, found a list",
		`2:1: shar: unknown key "shar"; did you mean "share"?`,
		`4:21: items[0].rate: "fast" is not a rate`,
		`4:33: items[0].size: "-3" is not a size`,
		`items[0].count: "x" is not a whole number`,
		"5:7: tags: expected keys and values, found a single value",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
}

func TestBadDocuments(t *testing.T) {
	for src, want := range map[string]string{
		"a: 1\na: 2\n":          `"a"`,
		"a: [1\n":               "",
		"a: 1\n---\nb: 2\n":     "second YAML document",
		"\tname: x\n":           "",
		"items: [{a: 1, a: 2}]": "",
	} {
		_, ps := Parse([]byte(src))
		if len(ps) == 0 || !strings.Contains(ps.Error(), want) || ps[0].Line == 0 {
			t.Errorf("%q: problems %v", src, ps)
		}
	}
}

func TestDuration(t *testing.T) {
	var d item
	ps := parse(t, "hold: soon\n").Decode(&d)
	if len(ps) != 1 || !strings.Contains(ps[0].Text, "write it as") {
		t.Fatalf("problems %v", ps)
	}
	if ps := parse(t, "hold: 5\n").Decode(&d); len(ps) != 1 {
		t.Fatalf("a duration without a unit was taken: %v", d.Hold)
	}
}

func TestSet(t *testing.T) {
	n := parse(t, good)
	for path, value := range map[string]string{
		"name": "day", "items[1].rate": "30/m", "items[1].count": "9", "sub.hold": "4s", "tags.new": "x",
	} {
		if err := n.Set(path, value); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	var d doc
	if err := n.Decode(&d).Err(); err != nil {
		t.Fatal(err)
	}
	if d.Name != "day" || d.Items[1].Rate.Freq != 30 || d.Items[1].Count != 9 || d.Sub.Hold != 4*time.Second || d.Tags["new"] != "x" {
		t.Fatalf("after set %+v", d)
	}
	again := parse(t, n.String())
	var e doc
	if err := again.Decode(&e).Err(); err != nil || e.Items[1].Count != 9 {
		t.Fatalf("written and read again: %+v %v\n%s", e, err, n.String())
	}
	for _, path := range []string{"itms[0].rate", "items[7].rate", "name.x", "sub.kind.y"} {
		if err := n.Set(path, "1"); err == nil {
			t.Errorf("set %s did not fail", path)
		}
	}
	if err := n.Set("unknown", "1"); err != nil {
		t.Fatal(err)
	}
	if ps := n.Decode(&d); len(ps) != 1 || ps[0].Line != 0 {
		t.Fatalf("an unknown key that was set: %v", ps)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("a: &x [1]\nb: *x\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		n, ps := Parse(src)
		if len(ps) > 0 {
			return
		}
		var d doc
		_ = n.Decode(&d).Error()
		_ = n.String()
	})
}
