package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"pgregory.net/rapid"

	"nightshift/janitor"
	"nightshift/soak/night"
)

// parsed is what a command got: its name, the options that were set, and its arguments.
type parsed struct {
	command string
	options map[string]string
	args    []string
}

func (p parsed) String() string { return fmt.Sprintf("%s %v %q", p.command, p.options, p.args) }

// parse runs a command line up to the command, which says what it got.
func parse(words ...string) (got parsed, err error) {
	d := &door{out: io.Discard, err: io.Discard}
	app := d.app(context.Background())
	var spy func(cs []*cli.Command)
	spy = func(cs []*cli.Command) {
		for _, c := range cs {
			if len(c.Subcommands) > 0 {
				spy(c.Subcommands)
				continue
			}
			c.Action = func(c *cli.Context) error {
				got = parsed{name(c), map[string]string{}, c.Args().Slice()}
				for _, f := range c.Command.Flags {
					if n := f.Names()[0]; c.IsSet(n) {
						got.options[n] = fmt.Sprint(c.Value(n))
						if all := c.StringSlice(n); all != nil {
							got.options[n] = strings.Join(all, "|")
						}
					}
				}
				return nil
			}
		}
	}
	spy(app.Commands)
	args, err := reorder(app, append([]string{"nightshift"}, words...))
	if err == nil {
		err = app.RunContext(context.Background(), args)
	}
	return got, err
}

// lines are the command lines of the manual: a command, its options and its arguments.
var lines = []struct {
	command string
	options [][]string
	args    []string
	want    map[string]string
}{
	{"run", [][]string{{"--for", "8h"}, {"--seed", "7"}, {"--out", "d"}, {"--target", "zookeeper=a:1,b:2"}, {"--allow", "faults,purge"},
		{"--set", "a=1,2"}, {"--set", "b[0]={x: y=z, w: v}"}, {"--quiet"}}, []string{"quickstart"},
		map[string]string{"for": "8h0m0s", "seed": "7", "out": "d", "target": "zookeeper=a:1,b:2", "allow": "faults,purge", "set": "a=1,2|b[0]={x: y=z, w: v}", "quiet": "true"}},
	{"run", [][]string{{"--for=8h"}, {"-seed=7"}, {"--target=zookeeper=a:1,b:2"}, {"--quiet=false"}}, []string{"plans/mine.yaml"},
		map[string]string{"for": "8h0m0s", "seed": "7", "target": "zookeeper=a:1,b:2", "quiet": "false"}},
	{"plans", nil, nil, nil},
	{"plans", [][]string{{"--json"}}, []string{"quickstart"}, map[string]string{"json": "true"}},
	{"check", [][]string{{"--json"}, {"--yaml"}, {"--seed", "0"}, {"--for", "-5s"}}, []string{"quickstart"}, map[string]string{"json": "true", "yaml": "true", "seed": "0", "for": "-5s"}},
	{"lab up", [][]string{{"--detach"}, {"--nodes", "1"}, {"--version", "3.9.4"}, {"--split"}, {"--name", "x"}, {"--dir", "d"}, {"--set", "a=1"}, {"--json"}}, nil,
		map[string]string{"detach": "true", "nodes": "1", "version": "3.9.4", "split": "true", "name": "x", "dir": "d", "set": "a=1", "json": "true"}},
	{"lab down", [][]string{{"--name", "x"}}, nil, map[string]string{"name": "x"}},
	{"lab status", [][]string{{"--json"}}, nil, map[string]string{"json": "true"}},
	{"fault list", [][]string{{"--json"}}, nil, map[string]string{"json": "true"}},
	{"fault inject", [][]string{{"--target", "zookeeper=a:1"}, {"--node", "leader"}, {"--hold", "3s"}, {"--within", "9s"}, {"--json"}}, []string{"pause"},
		map[string]string{"target": "zookeeper=a:1", "node": "leader", "hold": "3s", "within": "9s", "json": "true"}},
	{"fault heal", nil, []string{"runs/x"}, nil},
	{"heal", nil, []string{"runs/x"}, nil},
	{"heal", nil, nil, nil},
	{"watch", [][]string{{"--every", "5s"}, {"--count", "-1"}, {"--json"}}, []string{"a", "b", "c"}, map[string]string{"every": "5s", "count": "-1", "json": "true"}},
	{"janitor plan", [][]string{{"--keep", "3"}, {"--log-dir", "l"}, {"--json"}}, []string{"d"}, map[string]string{"keep": "3", "log-dir": "l", "json": "true"}},
	{"janitor apply", [][]string{{"--keep", "3"}}, []string{"d"}, map[string]string{"keep": "3"}},
	{"janitor verify", [][]string{{"--log-dir", "l"}}, []string{"d"}, map[string]string{"log-dir": "l"}},
	{"report", [][]string{{"--json"}, {"--exit-code"}}, []string{"runs/x"}, map[string]string{"json": "true", "exit-code": "true"}},
	{"doctor", [][]string{{"--json"}}, nil, map[string]string{"json": "true"}},
}

// TestEveryCommandLineInEveryOrder: options count before, between and after arguments.
func TestEveryCommandLineInEveryOrder(t *testing.T) {
	for _, l := range lines {
		t.Run(l.command, func(t *testing.T) {
			want := parsed{l.command, map[string]string{}, append([]string{}, l.args...)}
			for k, v := range l.want {
				want.options[k] = v
			}
			rapid.Check(t, func(t *rapid.T) {
				// Options among themselves and arguments among themselves keep their order.
				words := strings.Fields(l.command)
				options, args := l.options, l.args
				for len(options)+len(args) > 0 {
					if len(args) == 0 || len(options) > 0 && rapid.Bool().Draw(t, "option next") {
						words, options = append(words, options[0]...), options[1:]
						continue
					}
					words, args = append(words, args[0]), args[1:]
				}
				got, err := parse(words...)
				if err != nil || got.String() != want.String() {
					t.Fatalf("%q: got %s, %v; want %s", words, got, err, want)
				}
			})
		})
	}
}

// TestEveryCommandIsInTheManual: a command without a line above is not tested in both orders.
func TestEveryCommandIsInTheManual(t *testing.T) {
	known := map[string]bool{"guardian": true, "lab supervise": true}
	for _, l := range lines {
		known[l.command] = true
	}
	d := &door{}
	for _, c := range d.app(t.Context()).Commands {
		names := []string{c.Name}
		if len(c.Subcommands) > 0 {
			names = nil
		}
		for _, s := range c.Subcommands {
			names = append(names, c.Name+" "+s.Name)
		}
		for _, n := range names {
			if !known[n] {
				t.Errorf("%s has no line in this test", n)
			}
		}
	}
}

func TestDoubleDash(t *testing.T) {
	got, err := parse("watch", "a", "--json", "--", "--json", "--", "-x")
	if err != nil || !slices.Equal(got.args, []string{"a", "--json", "--", "-x"}) || got.options["json"] != "true" {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestReorderKeepsEveryWord: it never loses or invents one, but the "--" that it puts before the arguments.
func TestReorderKeepsEveryWord(t *testing.T) {
	app := (&door{}).app(t.Context())
	word := rapid.SampledFrom([]string{"run", "lab", "up", "janitor", "plan", "quickstart", "--seed", "-seed", "--seed=1", "--json", "--out", "--target", "--bogus", "-", "", "--", "a b", "7", "-5s", "--=", "---"})
	rapid.Check(t, func(t *rapid.T) {
		in := append([]string{"nightshift"}, rapid.SliceOfN(word, 0, 8).Draw(t, "args")...)
		before := slices.Clone(in)
		out, err := reorder(app, in)
		if !slices.Equal(in, before) {
			t.Fatalf("it changed its input: %q", in)
		}
		if err != nil {
			if exitCode(err) != exitUsage {
				t.Fatalf("error %v", err)
			}
			return
		}
		if !slices.Equal(counted(in), counted(out)) {
			t.Fatalf("%q became %q", in, out)
		}
		again, err := reorder(app, out)
		if err != nil || !slices.Equal(again, out) {
			t.Fatalf("%q became %q, %v", out, again, err)
		}
	})
}

// counted are the words in order of name, without the first "--", which only parts options from arguments.
func counted(words []string) []string {
	out := slices.Clone(words)
	if i := slices.Index(out, "--"); i >= 0 {
		out = slices.Delete(out, i, i+1)
	}
	slices.Sort(out)
	return out
}

func TestHelpWinsOverAllElse(t *testing.T) {
	app := (&door{}).app(t.Context())
	for _, c := range [][]string{{"run", "quickstart", "--help"}, {"run", "-h", "x", "--bogus"}, {"run", "--seed", "1", "-help"}} {
		out, err := reorder(app, append([]string{"nightshift"}, c...))
		if err != nil || !slices.Equal(out, []string{"nightshift", "run", "--help"}) {
			t.Errorf("%q became %q, %v", c, out, err)
		}
	}
	if out, _ := reorder(app, []string{"nightshift", "watch", "--", "--help"}); !slices.Contains(out, "--") {
		t.Errorf("an argument was taken for an option: %q", out)
	}
}

func TestReplay(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"x/nightshift", "run", "quickstart"}, "nightshift run quickstart"},
		{[]string{"n", "run", "--seed", "7", "quickstart", "--out", "d", "--for", "8h"}, "nightshift run quickstart --for 8h"},
		{[]string{"n", "run", "-seed=7", "--out=d", "quickstart"}, "nightshift run quickstart"},
		{[]string{"n", "run", "q", "--set", "workloads[0].rate=9/s", "--set", "a='b c'"}, `nightshift run q --set 'workloads[0].rate=9/s' --set 'a='\''b c'\'''`},
		{[]string{"n", "run", "", "`a`", "$b", "c!", "~", "#"}, "nightshift run '' '`a`' '$b' 'c!' '~' '#'"},
		{[]string{"n", "run", "--quiet", "--", "plan", "--seed"}, "nightshift run --quiet plan ./--seed"},
		{[]string{"n", "run", "seed", "out"}, "nightshift run seed out"},
		{[]string{"n", "run", "q", "--seed"}, "nightshift run q"},
	} {
		if got := replay(c.args); got != c.want {
			t.Errorf("%q: %s, want %s", c.args, got, c.want)
		}
	}
}

// TestReplayReadsBack: a shell makes the words of it again, and the seed can follow.
func TestReplayReadsBack(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}
	args := []string{"n", "run", "a b", "c'd", `e"f`, "g\\h", "i\nj", "$(k)", "l*", "--set", "x={y: [z]}", "é"}
	out, err := exec.Command(sh, "-c", `printf '%s\0' `+replay(args)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got[1:], args[1:]) {
		t.Errorf("the shell reads %q, want %q", got, args)
	}
}

func TestExitCodes(t *testing.T) {
	wrap := func(err error) error { return errors.Join(nil, fmt.Errorf("close: %w", err)) }
	for _, c := range []struct {
		err  error
		want int
		told bool
	}{
		{nil, exitPass, true},
		{errors.New("x"), exitInternal, false},
		{usagef("x"), exitUsage, false},
		{wrap(usagef("x")), exitUsage, false},
		{night.ErrUsage, exitUsage, false},
		{wrap(night.ErrUnavailable), exitUnavailable, false},
		{wrap(janitor.ErrWrongUse), exitUsage, false},
		{wrap(janitor.ErrChanged), exitFail, false},
		{wrap(janitor.ErrLocked), exitUnavailable, false},
		{failure{errors.New("x")}, exitFail, false},
		{wrap(context.Canceled), exitInterrupted, false},
		{codeError(exitInconclusive), exitInconclusive, true},
		{errors.Join(codeError(exitFail), nil), exitFail, true},
		{errors.Join(codeError(exitFail), errors.New("close failed")), exitFail, false},
		{&exec.ExitError{}, exitInternal, false}, // a program that failed is no wrong use, though its type has an exit code
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
		if got := told(c.err); got != c.told {
			t.Errorf("%v: told is %v", c.err, got)
		}
	}
}
