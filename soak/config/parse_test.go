package config

import (
	"strings"
	"testing"
)

// The parser takes host:port in a list inside of braces for a mapping; a plan's servers stand there.
func TestAddressesInListsInsideOfBraces(t *testing.T) {
	for _, src := range []string{
		"zk: {servers: [zk1:2181, 10.0.0.2:2181]}", "zk: {servers: [\"zk1:2181\", '10.0.0.2:2181']}",
		"zk: {servers: [zk1:2181,10.0.0.2:2181], allow: [load]}", "zk:\n  servers: [zk1:2181, 10.0.0.2:2181]",
		"zk: {more: [{servers: [x:1]}], servers: [\n  zk1:2181,\n  10.0.0.2:2181]}",
	} {
		for range 2 { // the plan as it runs is written and read again
			zk := parse(t, src).Field("zk")
			var got []string
			if err := zk.Field("servers").Decode(&got).Err(); err != nil || len(got) != 2 || got[0] != "zk1:2181" || got[1] != "10.0.0.2:2181" {
				t.Fatalf("%q: %q %v", src, got, err)
			}
			src = parse(t, src).String()
		}
	}
	n := parse(t, "a: {b: [k: v, 'q':w]}").Field("a").Field("b")
	for i, want := range []string{"k: v\n", "q: w\n"} {
		if got := n.Items()[i].String(); got != want {
			t.Errorf("a real mapping became %q, want %q", got, want)
		}
	}
}

func TestAliasesAreRefusedWithTheirPlace(t *testing.T) {
	for src, want := range map[string]string{
		"a: &x {b: 1}\nc: *x\n":        "2:4",
		"a: &x {b: 1}\nc: {<<: *x}\n":  "2:9",
		"a: &x [1]\nc:\n  - *x\n":      "3:5",
		"a: &x [*x]\n":                 "1:8",
		"a: &x 1\nb: *x\nc: [1, *x]\n": "2:4",
	} {
		_, ps := Parse([]byte(src))
		if len(ps) == 0 || !strings.HasPrefix(ps.Error(), want+": ") || !strings.Contains(ps.Error(), "aliases") {
			t.Errorf("%q: %v, want it at %s", src, ps, want)
		}
	}
}

func TestFilesThatAreNoPlans(t *testing.T) {
	for name, src := range map[string]string{
		"large": strings.Repeat("#", MostBytes+1), "deep": "a: " + strings.Repeat("[", 10000), "dashes": strings.Repeat("- ", 10000), "zeros": "a: 1\n\x00\x00",
	} {
		if _, ps := Parse([]byte(src)); len(ps) != 1 {
			t.Errorf("%s: %v", name, ps)
		}
	}
	if n := parse(t, "\ufeffa: 1\n"); len(n.Keys()) != 1 || n.Keys()[0] != "a" {
		t.Errorf("a byte order mark stays in the first key: %q", n.Keys())
	}
}
